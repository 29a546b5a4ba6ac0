// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.INT;

import io.panalock.internal.Layouts;
import java.lang.foreign.MemorySegment;

/** A WORD or BYTE lock in a segment, taken and released in Java; throws once the segment's arena is closed. */
final class SegmentWord extends QSpinLock {
    SegmentWord(Plan p) {
        super(p);
    }

    private boolean take() {
        MemorySegment w = word;
        return (int) INT.compareAndExchangeAcquire(w, 0L, 0, Layouts.Q_LOCKED) == 0 || takeBeside(w); // L1J
    }

    private static boolean takeBeside(MemorySegment w) {
        int seen = (int) INT.getOpaque(w, 0L);
        return (seen & (Layouts.Q_LOCKED | Layouts.Q_PENDING | Layouts.Q_DEAD)) == 0
                && (int) INT.compareAndExchangeAcquire(w, 0L, seen, seen | Layouts.Q_LOCKED) == seen; // L1J
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
     * 32 bits in BYTE too: memory segments have no atomic byte operations, and this one changes only the byte. See
     * {@link SegmentWide#unlock} for the exceptions.
     */
    @Override
    public void unlock() {
        MemorySegment w = word;
        if (!w.scope().isAlive()) {
            throw arenaClosed();
        }
        try {
            int left = (int) INT.getAndAddRelease(w, 0L, -Layouts.Q_LOCKED); // U1J: pairs with L1, L2, L1J, L2J
            if (left != Layouts.Q_LOCKED) {
                released(left);
            }
        } catch (IllegalStateException e) {
            // As in SegmentWide.
        }
    }
}
