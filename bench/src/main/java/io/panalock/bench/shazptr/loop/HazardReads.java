// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr.loop;

import io.panalock.Backend;
import io.panalock.HazardDomain;
import io.panalock.HazardGuard;
import io.panalock.LockDomain;
import io.panalock.LockThread;
import io.panalock.bench.shazptr.ReadLoop;

/** Guards of a {@link HazardDomain}: with an explicit handle, or looked up; fenced or not. */
public final class HazardReads implements ReadLoop {
    private static final long OBJECT = 4096;

    private final HazardDomain hazards;
    private final boolean handle;

    /** @param arguments backend; {@code handle} or {@code lookup}; {@code fenced} or {@code asymmetric} */
    public HazardReads(String... arguments) {
        HazardDomain h = HazardDomain.of(LockDomain.ofDefault(), Backend.valueOf(arguments[0]));
        handle = arguments[1].equals("handle");
        hazards = arguments[2].equals("fenced") ? h.withFences() : h;
    }

    @Override
    public void sections(int sections) {
        if (handle) {
            withHandle(sections);
        } else {
            lookedUp(sections);
        }
    }

    private void withHandle(int sections) {
        final HazardDomain h = hazards;
        final LockThread self = LockThread.current(h.domain());
        for (int i = 0; i < sections; i++) {
            HazardGuard guard = h.protect(self, OBJECT);
            guard.close();
        }
    }

    private void lookedUp(int sections) {
        final HazardDomain h = hazards;
        for (int i = 0; i < sections; i++) {
            HazardGuard guard = h.protect(OBJECT);
            guard.close();
        }
    }
}
