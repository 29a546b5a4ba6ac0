// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.pure.Checks;
import io.panalock.pure.PureDomain;
import io.panalock.pure.RqSpin;

/** Who holds what and who waits for what, as text. */
final class Dump {
    private Dump() {}

    static String of(LockDomain domain) {
        PureDomain d = domain.pure();
        StringBuilder text = new StringBuilder(domain + "\n");
        boolean any = false;
        for (int slot = 1; slot < RqSpin.slotsUsed(d); slot++) {
            if (!RqSpin.isUsed(d, slot)) {
                continue;
            }
            long[] held = RqSpin.held(d, slot);
            long awaited = RqSpin.awaited(d, slot);
            if (held.length == 0 && awaited == 0) {
                continue;
            }
            any = true;
            text.append("  ").append(Checks.name(d, slot));
            for (int i = 0; i < held.length; i++) {
                text.append(i == 0 ? " holds " : ", ").append('"').append(domain.lockNames().of(held[i])).append('"');
            }
            if (awaited != 0) {
                text.append(held.length == 0 ? "" : ",").append(" waits for \"").append(domain.lockNames().of(awaited)).append('"');
            }
            text.append('\n');
        }
        return any ? text.toString() : text + "  nobody holds a recorded lock or waits for one\n";
    }
}
