// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Critical;
import java.lang.foreign.MemorySegment;

/** Backend FFM_CRITICAL, layout WORD. */
final class CriticalWord extends QSpinLock {
    CriticalWord(Plan p) {
        super(p);
    }

    @Override
    public void lock() {
        if (Critical.wordTry(MemorySegment.NULL, word) != 0) {
            contended();
        }
    }

    @Override
    public boolean tryLock() {
        return Critical.wordTry(MemorySegment.NULL, word) == 0 || refused();
    }

    @Override
    public void unlock() {
        int result = Critical.wordRelease(word);
        if (result != 0) {
            afterRelease(result);
        }
    }
}
