// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Critical;
import java.lang.foreign.MemorySegment;

/** Backend FFM_CRITICAL, layout BYTE. */
final class CriticalByte extends QSpinLock {
    CriticalByte(Plan p) {
        super(p);
    }

    @Override
    public void lock() {
        if (Critical.byteTry(MemorySegment.NULL, word) != 0) {
            contended();
        }
    }

    @Override
    public boolean tryLock() {
        return Critical.byteTry(MemorySegment.NULL, word) == 0 || refused();
    }

    @Override
    public void unlock() {
        int result = Critical.byteRelease(word);
        if (result != 0) {
            afterRelease(result);
        }
    }
}
