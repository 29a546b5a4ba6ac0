// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.INT;

import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/** A mutex in a segment, taken and released in Java; throws once the segment's arena is closed. */
final class SegmentMutex extends OsqMutex {
    SegmentMutex(QSpinLock.Plan p, boolean spinning) {
        super(p, spinning);
    }

    @Override
    boolean take(LockThread self, int slot) {
        MemorySegment w = word;
        int mine = slot << Layouts.M_OWNER_SHIFT | Layouts.M_NAMED | Layouts.Q_LOCKED;
        return ((int) INT.getOpaque(w, (long) Integer.BYTES) & (Layouts.Q_PENDING | Layouts.Q_POISON)) == 0
                && (int) INT.compareAndExchangeAcquire(w, 0L, 0, mine) == 0; // Y1J
    }

    /** See {@link SegmentWide#unlock}. */
    @Override
    int release(LockThread self, int slot) {
        MemorySegment w = word;
        if (!w.scope().isAlive()) {
            throw new IllegalStateException("\"" + name() + "\" cannot be unlocked: its arena is closed.");
        }
        int mine = slot << Layouts.M_OWNER_SHIFT | Layouts.M_NAMED | Layouts.Q_LOCKED;
        if ((int) INT.getOpaque(w, 0L) != mine) {
            return releaseUnusual(slot);
        }
        try {
            INT.setRelease(w, 0L, 0); // Y2J: release, pairs with Y1, Y1J
            if (Words.RELEASE_NEEDS_FENCE) {
                VarHandle.fullFence();
            }
            return Words.mustKick((int) INT.getOpaque(w, (long) Integer.BYTES)) ? 1 : 0; // Y3J: pairs with Y7, Y8
        } catch (IllegalStateException e) {
            return 0; // released, then used and closed by the next owner: nobody waits
        }
    }
}
