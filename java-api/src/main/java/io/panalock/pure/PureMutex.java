// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * The mutex in Java: the twin of native/src/mutex.c, which says who may change what. A mutex is a {@link LockWord} of layout
 * {@code LAYOUT_MUTEX}: a WIDE lock whose owner word names a slot and whose tail is an OSQ's. So what is done awake, asleep
 * and at a wake-up is what {@link Compete}, {@link Park} and {@link Kick} do for any lock, and here stands the rest.
 *
 * <p>Results are 0 or a negative errno value.
 */
public final class PureMutex {
    private static final int CPUS = Runtime.getRuntime().availableProcessors();

    private PureMutex() {}

    /** The mutex at an address. */
    public static LockWord at(Memory memory, long address) {
        return LockWord.at(memory, address, Layouts.LAYOUT_MUTEX);
    }

    /** Acquires if free and not handed off to another. Acquire; never waits. */
    public static boolean tryLock(LockWord lock, int slot) {
        Memory m = lock.memory();
        return (m.get(lock.queue()) & (Layouts.Q_PENDING | Layouts.Q_POISON)) == 0
                && m.casAcquire(lock.owner(), 0, lock.ownedBy(slot)); // Y1J: acquire, pairs with Y2, Y2J
    }

    /** Acquires, waiting if need be: {@link #tryLock}, then {@link #lockWait}. */
    public static int lock(PureDomain d, LockWord lock, int flags, long timeoutNanos, int slot) {
        return tryLock(lock, slot) ? 0 : lockWait(d, lock, flags, timeoutNanos, slot);
    }

    /**
     * Acquires a mutex that was not free. Acquire. Blocks, as {@link QSpin#lockWait}.
     *
     * @param flags {@code WAIT_INTERRUPTIBLE}, {@code WAIT_RESUME}, {@code WAIT_BLOCK}, {@code WAIT_POLL}
     * @return as {@link QSpin#lockWait}; {@code -EDEADLK} (this slot owns it); {@code -ENOSPC} (nested too deeply)
     */
    public static int lockWait(PureDomain d, LockWord lock, int flags, long timeoutNanos, int slot) {
        return owns(lock, slot) ? -Layouts.EDEADLK : QSpin.lockWait(d, lock, flags, timeoutNanos, slot);
    }

    /** Whether the slot's thread owns it; poison does not change that. */
    public static boolean owns(LockWord lock, int slot) {
        return slot != 0 && (lock.memory().get(lock.owner()) & ~Layouts.Q_POISON) == lock.ownedBy(slot);
    }

    /** Number of the slot that owns it, 0 if nobody does. */
    public static int owner(LockWord lock) {
        return lock.memory().get(lock.owner()) >>> Layouts.M_OWNER_SHIFT;
    }

    /** Releases and wakes the next one; never throws once it has. Release. 0, or {@code -EPERM}: not this slot's. */
    public static int unlock(PureDomain d, LockWord lock, int slot) {
        if (!owns(lock, slot)) {
            return -Layouts.EPERM;
        }
        QSpin.unlock(d, lock, slot); // as a WIDE lock: what is Y2 and Y3 in C
        return 0;
    }

    /** A wait of {@link QSpin#lockWait}, whose node has been entered. */
    static int await(Wait w) {
        long now = w.domain.pacer.now();
        Compete.warm(w, now);
        if ((w.flags & Layouts.WAIT_RESUME) == 0) {
            w.memory.setLong(w.node + Shape.NODE_ARRIVAL, now);
        }
        int result = Compete.SLEEP;
        if (!w.blocking()) {
            result = Compete.brief(w) ? Compete.TAKEN : spin(w);
        }
        return go(w, result);
    }

    /** Goes on until the mutex is had, or not: from having competed, or slept. */
    static int go(Wait w, int so) {
        int result = so;
        for (; ; ) {
            if (result == Compete.TAKEN) {
                return 0;
            }
            if (result < 0) {
                Park.giveUp(w);
                return result;
            }
            result = Park.park(w);
            if (result == 0) {
                result = Compete.compete(w);
            }
        }
    }

    /** Optimistic spinning, see spin() in mutex.c. A virtual thread never stands behind another: it would keep its carrier. */
    private static int spin(Wait w) {
        LockWord v = w.lock;
        int seen = v.bits();
        boolean second = (seen & Layouts.Q_STANDBY) != 0 || v.tailOf(seen) != 0;
        if ((seen & Layouts.Q_PARKED) != 0 || second && (CPUS <= 2 || w.virtual) || w.ownerSleeps()) {
            return Compete.SLEEP;
        }
        Spinners s = w.spinners();
        w.queued = true;
        int result = s.await(w.flags | Layouts.OSQ_RUNNING, w);
        if (result != 0) {
            w.queued = false;
            return result == -Layouts.EAGAIN ? Compete.SLEEP : result;
        }
        if (!w.standby) {
            w.standby = (v.setBits(Layouts.Q_STANDBY) & Layouts.Q_STANDBY) == 0;
        }
        result = w.standby ? Compete.compete(w) : Compete.SLEEP; // a woken sleeper competes already: it was first
        s.unlock();
        w.queued = false;
        return result;
    }
}
