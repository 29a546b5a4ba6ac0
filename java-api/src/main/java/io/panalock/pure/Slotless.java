// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One wait of a thread for which the domain has no slot: the twin of wait_slotless() in qspinlock.c. It has no node to stand
 * in a line with, so nobody wakes it: the caller looks, naps, and may look for a slot in between.
 */
public final class Slotless {
    /** Of {@link #look}: not yet. */
    public static final int AGAIN = Compete.SLEEP;

    private static final long FIRST_NAP_NS = 50_000; // doubles up to
    private static final long LAST_NAP_NS = 1_000_000;
    private static final AtomicInteger WAITERS = new AtomicInteger();

    private final Wait wait;
    private long reserveAt;
    private long nap = FIRST_NAP_NS;

    /**
     * The wait begins; {@link #end} must follow.
     *
     * @param flags {@code WAIT_*}
     * @param timeoutNanos from now; negative: no limit
     */
    public Slotless(PureDomain domain, LockWord lock, int flags, long timeoutNanos) {
        wait = new Wait(domain, 0, 0);
        wait.begin(lock, flags, timeoutNanos);
        wait.role = domain.pacer.now();
        reserveAt = wait.role + Shape.SLICE_NS;
        WAITERS.getAndIncrement();
    }

    /**
     * One look, after a slice's time with a short reservation.
     *
     * @return 0; {@link #AGAIN}; {@code -ETIMEDOUT}; {@code -EINTR}; {@code -ESHUTDOWN}
     */
    public int look() {
        long now = wait.domain.pacer.now();
        LockWord v = wait.lock;
        int seen = v.bits();
        int err = wait.mustLeave(seen, now);
        if (err != 0) {
            return err;
        }
        if (wait.mayTake(seen, now) && v.take(seen, 0)) {
            return Compete.TAKEN;
        }
        if (now - reserveAt < 0 || !v.reserve()) {
            return AGAIN;
        }
        reserveAt = now + (now - wait.role); // rarer and rarer, for a lock that is held for long
        wait.reserved = true;
        int result = Compete.compete(wait);
        if (result != Compete.TAKEN) {
            Park.giveUp(wait);
        }
        wait.reserved = false;
        return result;
    }

    /** Nanoseconds until the limit, negative: there is none. */
    public long left() {
        return wait.until == 0 ? -1 : Math.max(0, wait.until - wait.domain.pacer.now());
    }

    /** A while without looking: the longer, the longer the wait has taken, and the more threads wait so. Under SPIN it gives way. */
    public void nap() {
        if (wait.spinning()) {
            wait.domain.pacer.delay(Compete.SPIN_GAP_NS);
            wait.domain.pacer.giveWay();
            return;
        }
        long length = Math.max(nap, WAITERS.get() * FIRST_NAP_NS);
        wait.nap(wait.until == 0 ? length : Math.min(length, left()));
        nap = Math.min(nap * 2, LAST_NAP_NS);
    }

    /** The wait is over, or goes on with a slot. */
    public void end() {
        WAITERS.getAndDecrement();
        wait.end();
    }
}
