// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.INT;

import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/** A WIDE lock in a segment, taken and released in Java; throws once the segment's arena is closed. */
final class SegmentWide extends QSpinLock {
    SegmentWide(Plan p) {
        super(p);
    }

    private boolean take() {
        MemorySegment w = word;
        return ((int) INT.getOpaque(w, (long) Integer.BYTES) & (Layouts.Q_PENDING | Layouts.Q_DEAD)) == 0
                && (int) INT.compareAndExchangeAcquire(w, 0L, 0, Layouts.Q_LOCKED) == 0; // L1J
    }

    @Override
    public void lock() {
        if (!take()) {
            contended();
        }
    }

    @Override
    public boolean tryLock() {
        return take() || refused();
    }

    /**
     * See {@link WholeWide#unlock} for why there is no fence.
     *
     * <p>Closing an arena interrupts accesses that are under way: one may have happened and throw all the same. So whether
     * anything was released is decided before.
     */
    @Override
    public void unlock() {
        MemorySegment w = word;
        if (!w.scope().isAlive()) {
            throw arenaClosed();
        }
        try {
            INT.setRelease(w, 0L, 0); // U3J: release, pairs with L1, L2, L1J, L2J
            if (Words.RELEASE_NEEDS_FENCE) {
                VarHandle.fullFence();
            }
            if (Words.mustKick((int) INT.getOpaque(w, (long) Integer.BYTES))) { // U4J: pairs with P1, P1J
                kick();
            }
        } catch (IllegalStateException e) {
            // Released, then used and closed by the next owner: nobody waits, and an unlock that has released never throws.
        }
    }
}
