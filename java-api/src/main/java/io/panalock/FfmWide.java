// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.ffm.panalock_h.pl_qspin_wide_release;
import static io.panalock.internal.ffm.panalock_h.pl_qspin_wide_trylock;

import java.lang.foreign.MemorySegment;

/** Backend FFM, layout WIDE. */
final class FfmWide extends QSpinLock {
    FfmWide(Plan p) {
        super(p);
    }

    @Override
    public void lock() {
        if (pl_qspin_wide_trylock(MemorySegment.NULL, word) != 0) {
            contended();
        }
    }

    @Override
    public boolean tryLock() {
        return pl_qspin_wide_trylock(MemorySegment.NULL, word) == 0 || refused();
    }

    @Override
    public void unlock() {
        int result = pl_qspin_wide_release(word);
        if (result != 0) {
            afterRelease(result);
        }
    }
}
