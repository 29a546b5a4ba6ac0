// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.invoke.VarHandle;

/**
 * qspinlock in Java: the same protocol on the same words as native/src/qspinlock.c, which describes it and says who may
 * change which bit. Java and native threads mix on one lock, in all roles, if the domain's {@link Waker} is a native one.
 * Labels are those of the C code with a J behind.
 *
 * <p>Assumes: a slot is used by one thread at a time; the lock's memory outlives its waiters. Guarantees: mutual
 * exclusion; no waiter sleeps while the lock is free (a waiter that was chosen and does not run delays the others by at
 * most two watch periods, 10 ms); no waiting thread pins a carrier. Blocking, not lock-free.
 *
 * <p>Results are 0 or a negative errno value.
 */
public final class QSpin {
    private QSpin() {}

    private static final int ALL_FLAGS = Layouts.WAIT_SPIN | Layouts.WAIT_INTERRUPTIBLE | Layouts.WAIT_RESUME;
    private static final int MUTEX_FLAGS =
            Layouts.WAIT_INTERRUPTIBLE | Layouts.WAIT_RESUME | Layouts.WAIT_BLOCK | Layouts.WAIT_POLL;

    /** Acquires if free and not reserved. Acquire; never waits. */
    public static boolean tryLock(LockWord lock) {
        Memory m = lock.memory();
        if (lock.wide()) {
            return (m.get(lock.queue()) & (Layouts.Q_PENDING | Layouts.Q_DEAD)) == 0
                    && m.casAcquire(lock.owner(), 0, Layouts.Q_LOCKED); // L1J: acquire, pairs with U3, U3J
        }
        if (m.casAcquire(lock.owner(), 0, Layouts.Q_LOCKED)) { // L1J: acquire, pairs with U1, U2, U1J
            return true;
        }
        int seen = m.get(lock.owner());
        return (seen & (Layouts.Q_LOCKED | Layouts.Q_PENDING | Layouts.Q_DEAD)) == 0
                && m.casAcquire(lock.owner(), seen, seen | Layouts.Q_LOCKED); // L1J
    }

    /** Why a tryLock failed: {@code -ESHUTDOWN}, {@code -EBADFD} or {@code -EBUSY}. */
    public static int whyBusy(LockWord lock) {
        int dead = LockWord.dead(lock.bits());
        return dead != 0 ? dead : -Layouts.EBUSY;
    }

    /**
     * A try that failed, looked at again: for a reservation that nobody uses any more, see {@code PL_RESERVATION_NS}.
     *
     * @param since when such tries first found the lock free but reserved; 0: the last one did not
     * @return the same for the next one; {@link #TAKEN}: this call voided the reservation and acquired the lock
     */
    public static long retry(LockWord lock, long since) {
        if ((lock.bits() & (Layouts.Q_LOCKED | Layouts.Q_PENDING | Layouts.Q_DEAD)) != Layouts.Q_PENDING) {
            return 0;
        }
        long now = System.nanoTime() | 1; // not 0
        if (since == 0 || now - since < Shape.RESERVATION_NS) {
            return since == 0 ? now : since;
        }
        lock.clearBits(Layouts.Q_PENDING);
        return tryLock(lock) ? TAKEN : 0;
    }

    /** See {@link #retry}; no time, since those are odd. */
    public static final long TAKEN = 2;

    /** Acquires, waiting if need be: {@link #tryLock}, then {@link #lockWait}. */
    public static int lock(PureDomain domain, LockWord lock, int flags, long timeoutNanos, int slot) {
        return tryLock(lock) ? 0 : lockWait(domain, lock, flags, timeoutNanos, slot);
    }

    /**
     * Acquires a lock that was not free. Acquire. Blocks: a platform thread spins, then parks, or under {@code WAIT_SPIN}
     * spins on; a virtual thread gives way to others on its carrier, then parks, whatever the policy. An interruptible wait
     * ends at once on Thread.interrupt (whose flag it clears) or pl_thread_interrupt; another passes an interrupt on at its
     * end.
     *
     * @param flags {@code WAIT_*}
     * @param timeoutNanos from now; negative: no limit
     * @param slot the calling thread's slot
     * @return 0; {@code -ETIMEDOUT}; {@code -EINTR}; {@code -ESHUTDOWN} (poisoned); {@code -EBADFD} (no lock's
     *     word); {@code -EINVAL} (no such slot or flag)
     * @throws IllegalStateException the arena of the lock was closed
     */
    public static int lockWait(PureDomain domain, LockWord lock, int flags, long timeoutNanos, int slot) {
        return lockWait(domain, lock, flags, timeoutNanos, slot, null);
    }

    /** The same with a search for deadlocks: also {@code -EDEADLK}. */
    static int lockWait(
            PureDomain domain, LockWord lock, int flags, long timeoutNanos, int slot, Search search) {
        if (!domain.isWaiter(slot) || (flags & ~(lock.mutex() ? MUTEX_FLAGS : ALL_FLAGS)) != 0) {
            return -Layouts.EINVAL;
        }
        Memory m = domain.memory;
        long depth = domain.slotAt(slot) + Shape.THREAD_DEPTH;
        int level = m.get(depth);
        boolean node = level < Layouts.NESTING;
        if (lock.mutex() && !node) {
            return -Layouts.ENOSPC;
        }
        Wait w = node ? domain.waitOf(slot, level) : new Wait(domain, slot, 0);
        w.begin(lock, flags, timeoutNanos);
        int result;
        try {
            if (!node || waitsBelow(w, level)) {
                w.steal = node;
                w.flags |= Layouts.WAIT_SPIN;
                result = waitBeside(w);
            } else {
                m.set(depth, level + 1);
                m.setLong(w.node + Shape.NODE_KEY, w.key);
                if (search != null) {
                    w.search = search;
                    search.begin(w, domain.pacer.now());
                }
                result = lock.mutex()
                        ? PureMutex.await(w)
                        : !w.spinning()
                        ? waitParking(w)
                        : w.until != 0 || search != null || w.interruptible() ? waitBeside(w) : SpinQueue.await(w);
            }
        } finally {
            if (w.listed) {
                Park.abandon(w);
            }
            if (w.queued) {
                SpinQueue.abandon(w);
            }
            if (w.search != null) {
                w.search.end();
            }
            if (node) {
                m.setLong(w.node + Shape.NODE_KEY, 0);
                m.set(depth, level);
            }
            w.end();
        }
        if (result == 0) {
            m.setLong(w.slotAddress + Shape.THREAD_ACQUIRED, domain.pacer.now());
        }
        return result;
    }

    /** True if a context that this one interrupted waits for the same lock. */
    private static boolean waitsBelow(Wait w, int level) {
        for (int i = 0; i < level; i++) {
            long below = w.domain.nodeAt(PureDomain.nodeNumber(w.slot, i));
            if (w.memory.getLong(below + Shape.NODE_KEY) == w.key) {
                return true;
            }
        }
        return false;
    }

    private static int waitParking(Wait w) {
        LockWord v = w.lock;
        long now = w.domain.pacer.now();
        Compete.warm(w, now);
        if ((w.flags & Layouts.WAIT_RESUME) == 0) {
            w.memory.setLong(w.node + Shape.NODE_ARRIVAL, now);
        }
        if (Compete.brief(w)) {
            return 0;
        }
        for (; ; ) {
            // Nobody stands by and nobody sleeps before us: we stand by.
            if (!w.standby && (v.bits() & (Layouts.Q_STANDBY | v.parked())) == 0) {
                w.standby = (v.setBits(Layouts.Q_STANDBY) & Layouts.Q_STANDBY) == 0;
            }
            int result = w.standby ? Compete.compete(w) : Compete.SLEEP;
            if (result == Compete.SLEEP) {
                result = Park.park(w);
            } else if (result == Compete.TAKEN) {
                return 0;
            }
            if (result < 0) {
                Park.giveUp(w);
                return result;
            }
        }
    }

    /** Timed, interruptible or deeply nested spinners stand beside the queue: they can leave at any moment. */
    static int waitBeside(Wait w) {
        int result = Compete.compete(w);
        if (result < 0) {
            Park.giveUp(w);
        }
        return result;
    }

    /**
     * Releases the lock; never throws once it has, never waits for it. Release.
     *
     * @param slot any slot of the domain, 0 included
     * @throws IllegalMonitorStateException nobody holds it (WORD and BYTE; unnoticed and harmless in WIDE)
     */
    public static void unlock(PureDomain domain, LockWord lock, int slot) {
        Memory m = lock.memory();
        int left;
        if (lock.wide()) {
            m.setRelease(lock.owner(), 0); // U3J: release, pairs with L1, L2, L1J, L2J
            left = afterRelease(domain, lock);
        } else {
            // U1J: release, pairs with L1, L2, L1J, L2J; one word, so no fence for P1. 32 bits in BYTE too: see Memory.
            left = m.getAndAddRelease(lock.owner(), -Layouts.Q_LOCKED);
            if ((left & Layouts.Q_LOCKED) == 0) {
                lock.takeBack();
                throw new IllegalMonitorStateException(
                        Thread.currentThread().getName() + " unlocks a lock that nobody holds.");
            }
        }
        if (lock.mustKick(left)) {
            Kick.kick(domain, lock);
        }
    }

    /**
     * The look at a WIDE lock's queue word that follows the release. The parking side's heavy fence (P1, P1J) orders the
     * two for the CPU. What keeps the compiler from swapping them is that HotSpot never moves an opaque load over a
     * release store; the Java memory model does not promise it, and without a heavy fence we do not rely on it.
     */
    private static int afterRelease(PureDomain domain, LockWord lock) {
        if (domain.fencedRelease) {
            VarHandle.fullFence();
        }
        try {
            return lock.memory().get(lock.queue()); // U4J: pairs with P1, P1J
        } catch (IllegalStateException e) {
            return 0; // the next owner has released it too and closed its arena: nobody waits
        }
    }

    /**
     * Wakes the waiter that is next, after a release that saw PARKED without STANDBY. The lock's memory is touched only
     * while a waiter for it exists.
     *
     * @param slot any slot of the domain, 0 included
     */
    public static void kick(PureDomain domain, LockWord lock, int slot) {
        Kick.kick(domain, lock);
    }

    /** Whether somebody holds the lock. Full fence before the look. */
    public static boolean isLocked(LockWord lock) {
        VarHandle.fullFence(); // K1J: this thread's own lock before its look at another; pairs with itself and K1
        return (lock.bits() & Layouts.Q_LOCKED) != 0;
    }

    /** Whether somebody waits for the lock (a hint). */
    public static boolean isContended(LockWord lock) {
        return (lock.bits() & ~(Layouts.Q_LOCKED | Layouts.Q_DEAD)) != 0;
    }
}
