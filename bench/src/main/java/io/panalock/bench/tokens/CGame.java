// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import io.panalock.bench.peer.CProgram;

/** A game between C processes or threads, played by panalock-bench-c. */
final class CGame {
    private CGame() {}

    static Outcome play(String via, int players, int passes, String kind) {
        String request = "tokens " + via + " " + players + " " + passes + " " + kind;
        String start = "tokens ";
        return Outcome.parse(
                passes, via.equals("make") ? CProgram.requestUnderMake(request, start) : CProgram.request(request, start));
    }
}
