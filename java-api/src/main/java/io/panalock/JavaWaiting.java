// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.pure.QSpin;
import io.panalock.pure.Slotless;

/**
 * Waiting in Java: virtual threads always, which must leave their carriers; platform threads of backend PURE; and those of
 * every backend for which the domain has no slot.
 */
final class JavaWaiting {
    private static final int EAGER_TRIES = 4; // for a slot, one at each look; later
    private static final int LOOKS_PER_TRY = 16;

    private JavaWaiting() {}

    /**
     * Waits for a lock that was not free.
     *
     * @return 0 or a negative errno; -EINTR leaves the interrupt flag cleared
     */
    static int await(QSpinLock lock, LockThread me, int flags, long nanos) {
        if (!me.isVirtual()) {
            int slot = me.enter();
            if (slot != -Layouts.ENOSPC) {
                return slot < 0 ? slot : inLine(lock, me, slot, flags, nanos);
            }
        }
        return admitted(lock, me, flags, nanos);
    }

    /** Waits for admission and then for the lock, with a slot if there is one. */
    static int admitted(QSpinLock lock, LockThread me, int flags, long nanos) {
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
        Slotless wait = new Slotless(lock.domain.pure(), lock.pureWord, flags, nanos);
        int slot;
        long left;
        try {
            for (int looks = 1; ; looks++) {
                int result = wait.look();
                if (result != Slotless.AGAIN) {
                    return result;
                }
                wait.nap();
                if (looks <= EAGER_TRIES || looks % LOOKS_PER_TRY == 0) {
                    slot = me.enter();
                    if (slot != -Layouts.ENOSPC) {
                        break;
                    }
                }
            }
            left = wait.left();
        } finally {
            wait.end();
        }
        return slot < 0 ? slot : inLine(lock, me, slot, flags, left);
    }
}
