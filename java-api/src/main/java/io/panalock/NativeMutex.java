// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.ffm.panalock_h.pl_mutex_release;
import static io.panalock.internal.ffm.panalock_h.pl_mutex_trylock;

import io.panalock.internal.Critical;
import io.panalock.internal.Jni;

/** Backends FFM, FFM_CRITICAL and JNI: every operation is a call. */
final class NativeMutex extends OsqMutex {
    NativeMutex(QSpinLock.Plan p, boolean spinning) {
        super(p, spinning);
    }

    @Override
    boolean take(LockThread self, int slot) {
        int result =
                switch (backend) {
                    case FFM_CRITICAL -> Critical.mutexTry(self.segment(slot), word);
                    case JNI -> Jni.mutexTry(self.address(slot), open());
                    default -> pl_mutex_trylock(self.segment(slot), word);
                };
        return result == 0;
    }

    @Override
    int release(LockThread self, int slot) {
        return switch (backend) {
            case FFM_CRITICAL -> Critical.mutexRelease(self.segment(slot), word);
            case JNI -> Jni.mutexRelease(self.address(slot), open());
            default -> pl_mutex_release(self.segment(slot), word);
        };
    }
}
