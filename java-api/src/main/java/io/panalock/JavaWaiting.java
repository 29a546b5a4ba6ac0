// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.pure.QSpin;
import java.util.concurrent.locks.LockSupport;

/** Waiting in Java: virtual threads always, which must leave their carriers, and platform threads of backend PURE. */
final class JavaWaiting {
    private static final long SHORTEST_NAP_NANOS = 100_000;
    private static final long LONGEST_NAP_NANOS = 10_000_000;

    private JavaWaiting() {}

    /**
     * Waits for a lock that was not free.
     *
     * @return 0 or a negative errno; -EINTR leaves the interrupt flag cleared
     */
    static int await(QSpinLock lock, LockThread me, int flags, long nanos) {
        if (!me.isVirtual()) {
            int slot = me.enter();
            return slot < 0 ? slot : inLine(lock, me, slot, flags, nanos);
        }
        long start = nanos < 0 ? 0 : System.nanoTime();
        Admission admission = lock.admission();
        int result = admission.enter((flags & Layouts.WAIT_INTERRUPTIBLE) != 0, nanos);
        if (result != 0) {
            return result;
        }
        try {
            long left = nanos < 0 ? nanos : Math.max(0, nanos - (System.nanoTime() - start));
            int slot = me.enter();
            return slot == -Layouts.ENOSPC
                    ? beside(lock, me, flags, left)
                    : slot < 0 ? slot : inLine(lock, me, slot, flags, left);
        } finally {
            admission.exit();
        }
    }

    private static int inLine(QSpinLock lock, LockThread me, int slot, int flags, long nanos) {
        try {
            return QSpin.lockWait(lock.domain.pure(), lock.pureWord, flags, nanos, slot);
        } finally {
            me.exit(slot);
        }
    }

    /**
     * Every slot is taken. Looks for one, and for the lock, now and then: for the lock too, since those that have the slots
     * may wait for what the caller holds.
     */
    private static int beside(QSpinLock lock, LockThread me, int flags, long nanos) {
        long start = System.nanoTime();
        boolean interrupted = false;
        try {
            for (long nap = SHORTEST_NAP_NANOS; ; nap = Math.min(nap * 2, LONGEST_NAP_NANOS)) {
                if (lock.tryLock()) {
                    return 0;
                }
                long left = nanos < 0 ? nap : nanos - (System.nanoTime() - start);
                if (left <= 0) {
                    return -Layouts.ETIMEDOUT;
                }
                LockSupport.parkNanos(lock, Math.min(nap, left));
                if (Thread.interrupted()) {
                    if ((flags & Layouts.WAIT_INTERRUPTIBLE) != 0) {
                        return -Layouts.EINTR;
                    }
                    interrupted = true;
                }
                int slot = me.enter();
                if (slot >= 0) {
                    left = nanos < 0 ? nanos : Math.max(0, nanos - (System.nanoTime() - start));
                    return inLine(lock, me, slot, flags, left);
                }
                if (slot != -Layouts.ENOSPC) {
                    return slot;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
