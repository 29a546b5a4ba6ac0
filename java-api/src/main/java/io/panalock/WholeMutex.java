// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.INT;
import static io.panalock.internal.Words.Whole.ALL;

import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;

/** The fastest: a mutex in memory that stays mapped (a domain's pool), taken and released through one constant segment. */
final class WholeMutex extends OsqMutex {
    WholeMutex(QSpinLock.Plan p, boolean spinning) {
        super(p, spinning);
    }

    @Override
    boolean take(LockThread self, int slot) {
        long at = Words.Whole.pair(address);
        int mine = slot << Layouts.M_OWNER_SHIFT | Layouts.M_NAMED | Layouts.Q_LOCKED;
        boolean taken = ((int) INT.getOpaque(ALL, at + Integer.BYTES) & (Layouts.Q_PENDING | Layouts.Q_POISON)) == 0
                && (int) INT.compareAndExchangeAcquire(ALL, at, 0, mine) == 0; // Y1J
        Reference.reachabilityFence(this); // the domain is mapped as long as this object is reachable
        return taken;
    }

    /** See {@link WholeWide#unlock} for why there is no fence. */
    @Override
    int release(LockThread self, int slot) {
        long at = Words.Whole.pair(address);
        int mine = slot << Layouts.M_OWNER_SHIFT | Layouts.M_NAMED | Layouts.Q_LOCKED;
        if ((int) INT.getOpaque(ALL, at) != mine) {
            return releaseUnusual(slot);
        }
        INT.setRelease(ALL, at, 0); // Y2J: release, pairs with Y1, Y1J
        if (Words.RELEASE_NEEDS_FENCE) {
            VarHandle.fullFence();
        }
        boolean kick = Words.mustKick((int) INT.getOpaque(ALL, at + Integer.BYTES)); // Y3J: pairs with Y7, Y8
        Reference.reachabilityFence(this);
        return kick ? 1 : 0;
    }
}
