// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * rqspinlock in Java: the twin of rqspinlock.c, over {@link QSpin}'s words and waits, with a record of what each thread
 * holds. Native and Java threads mix on one lock and in one deadlock.
 *
 * <p>Assumes, beyond {@link QSpin}: the slot stays the thread's from its first lock to its last unlock. Guarantees: no
 * deadlock of threads that use these calls lasts, and of the threads of one exactly one is told. Blocking.
 *
 * <p>Results are 0 or a negative errno value.
 */
public final class RqSpin {
    private RqSpin() {}

    /** A timeout that stands for the default limits. */
    public static final long LIMITS = Layouts.LIMITS;

    /** The key under which a lock is recorded. */
    public static long key(PureDomain d, LockWord lock) {
        return d.key(lock.owner());
    }

    /**
     * Acquires. Acquire. Blocks.
     *
     * @param timeoutNanos from now; -1: no limit; {@link #LIMITS}
     * @param slot the calling thread's
     * @param report filled in when the result is {@code -EDEADLK}; may be null
     * @return 0; {@code -EDEADLK}; {@code -ETIMEDOUT}; {@code -EINTR}; {@code -ESHUTDOWN}; {@code -EINVAL}
     */
    public static int lock(
            PureDomain d, LockWord lock, int flags, long timeoutNanos, int slot, Circle report) {
        if (!d.isWaiter(slot)) {
            return -Layouts.EINVAL;
        }
        long key = key(d, lock);
        int entry = Held.push(d, slot, key);
        int result = -Layouts.EINVAL;
        try {
            result = QSpin.tryLock(lock) ? 0 : await(d, lock, key, entry, flags, timeoutNanos, slot, report);
        } finally {
            if (result != 0) {
                Held.pop(d, slot, entry);
            }
        }
        return result;
    }

    private static int await(
            PureDomain d, LockWord lock, long key, int entry, int flags, long timeout, int slot, Circle report) {
        int seen = lock.bits();
        if ((seen & Layouts.Q_LOCKED) != 0 && Held.other(d, slot, key, entry)) {
            if (report != null) {
                report.set(new int[] {slot}, new long[] {key});
            }
            return -Layouts.EDEADLK;
        }
        if (d.memory.get(d.slotAt(slot) + Shape.THREAD_DEPTH) >= Layouts.NESTING) {
            return -Layouts.EDEADLK; // no node to wait with: the one try was all
        }
        long limit = timeout == LIMITS ? limit(seen) : timeout;
        Search search = new Search(d, slot, Held.other(d, slot, 0, entry), report);
        return QSpin.lockWait(d, lock, flags, limit, slot, search);
    }

    /** The default limit of a waiter that sees these bits. */
    private static long limit(int seen) {
        return (seen & ~(Layouts.Q_LOCKED | Layouts.Q_POISON)) != 0 ? Layouts.LIMIT_BEHIND_NS : Layouts.LIMIT_FIRST_NS;
    }

    /** The default limit of a call that begins now. */
    public static long limit(LockWord lock) {
        return limit(lock.bits());
    }

    /** Acquires if free. 0; {@code -EBUSY}; {@code -EDEADLK} (the caller holds it); {@code -ESHUTDOWN}; {@code -EBADFD}. Never waits. */
    public static int tryLock(PureDomain d, LockWord lock, int slot) {
        long key = key(d, lock);
        int entry = Held.push(d, slot, key);
        boolean taken = false;
        try {
            taken = QSpin.tryLock(lock);
            if (taken) {
                return 0;
            }
            int why = QSpin.whyBusy(lock);
            boolean own = (lock.bits() & Layouts.Q_LOCKED) != 0 && Held.other(d, slot, key, entry);
            return why == -Layouts.EBUSY && own ? -Layouts.EDEADLK : why;
        } finally {
            if (!taken) {
                Held.pop(d, slot, entry);
            }
        }
    }

    /** Whether the slot's thread may unlock it. */
    public static boolean holds(PureDomain d, LockWord lock, int slot) {
        return Held.find(d, slot, key(d, lock)) != Held.NONE;
    }

    /** Adds the record of a lock that is about to be taken by other means. */
    public static int push(PureDomain d, int slot, long key) {
        return Held.push(d, slot, key);
    }

    /** Takes a record away: what {@link #push} said. */
    public static void pop(PureDomain d, int slot, int entry) {
        Held.pop(d, slot, entry);
    }

    /** Takes away the record of a lock that was released by other means. */
    public static void popKey(PureDomain d, int slot, long key) {
        Held.pop(d, slot, Held.find(d, slot, key));
    }

    /** Whether another entry than the one pushed has this key. */
    public static boolean recordedTwice(PureDomain d, int slot, long key, int entry) {
        return Held.other(d, slot, key, entry);
    }

    /** Releases. Release. 0; {@code -EPERM} (the slot's thread does not hold it; nothing was released). */
    public static int unlock(PureDomain d, LockWord lock, int slot) {
        int entry = Held.find(d, slot, key(d, lock));
        if (entry == Held.NONE || (lock.bits() & Layouts.Q_LOCKED) == 0) {
            return -Layouts.EPERM;
        }
        try {
            QSpin.unlock(d, lock, slot);
        } finally {
            Held.pop(d, slot, entry);
        }
        return 0;
    }

    /** The keys of what a slot's thread holds: what it waits for is not among them. */
    public static long[] held(PureDomain d, int slot) {
        long[] entries = new long[Shape.HELD];
        int n = Held.read(d, slot, entries);
        int kept = 0;
        for (int i = 0; i < n; i++) {
            long node = d.nodeAt(PureDomain.nodeNumber(slot, Held.level(entries[i])));
            if (Held.key(d.memory.getLong(node + Shape.NODE_KEY)) != Held.key(entries[i])) {
                entries[kept++] = Held.key(entries[i]);
            }
        }
        return java.util.Arrays.copyOf(entries, kept);
    }

    /** The key of what a slot's thread waits for, in its topmost context; 0: nothing. */
    public static long awaited(PureDomain d, int slot) {
        for (int level = Layouts.NESTING - 1; level >= 0; level--) {
            long key = Held.key(d.memory.getLong(d.nodeAt(PureDomain.nodeNumber(slot, level)) + Shape.NODE_KEY));
            if (key != 0) {
                return key;
            }
        }
        return 0;
    }

    /** Slots that may be in use lie below this. */
    public static int slotsUsed(PureDomain d) {
        return d.slotsUsed();
    }

    /** Whether the slot is in use. */
    public static boolean isUsed(PureDomain d, int slot) {
        return d.memory.getAcquire(d.slotAt(slot) + Shape.THREAD_STATE) == Shape.SLOT_USED; // T3J
    }
}
