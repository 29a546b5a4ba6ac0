// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * A few locks that stand for any number of objects, one of them for each key.
 *
 * {@snippet :
 * LockTable<QSpinLock> locks = LockTable.of(QSpinLock::allocate);
 * try (LockTable.Held held = locks.lock(from, to)) {   // in order, so that nobody deadlocks
 *     from.balance -= amount;
 *     to.balance += amount;
 * }
 * }
 *
 * <p>It has max(2, the next power of two ≥ the CPUs) locks, so that as many threads as there are CPUs rarely meet. Two keys
 * may share a lock, so a thread holds the locks of one key at a time, or of two by {@link #lock(Object, Object)}.
 *
 * <p>Keys of type {@code long} select the same lock as {@code pl_table_index()} does in C. Other keys are told apart by
 * {@link Object#hashCode}. Immutable, thread-safe.
 *
 * @param <L> any lock: of this library, or of the JDK
 */
public final class LockTable<L extends Lock> {
    /** 2^64 divided by the golden ratio: Fibonacci hashing (Knuth, TAOCP 3, 6.4), as in locktable.h. */
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    private static final int MIN_LOCKS = 2; // a hash of no bits would be a shift by 64, which Java makes one by 0
    private static final int MAX_LOCKS = 65_536;

    private final List<L> locks;
    private final int shift;

    private LockTable(int stripes, IntFunction<? extends L> maker) {
        List<L> made = new ArrayList<>(stripes);
        for (int i = 0; i < stripes; i++) {
            made.add(Objects.requireNonNull(maker.apply(i), "the maker of locks gave null"));
        }
        Set<L> distinct = Collections.newSetFromMap(new IdentityHashMap<>());
        distinct.addAll(made);
        if (distinct.size() < stripes) {
            throw new IllegalArgumentException("the maker of locks gave the same lock twice: it must make a new one each time.");
        }
        locks = List.copyOf(made);
        shift = Long.SIZE - Integer.numberOfTrailingZeros(stripes);
    }

    /**
     * A table for the CPUs of this machine.
     *
     * @param <L> the kind of lock
     * @param maker makes the locks, a new one each time, for example {@code QSpinLock::allocate}, whose locks have a cache
     *     line each
     * @return the table
     */
    public static <L extends Lock> LockTable<L> of(Supplier<? extends L> maker) {
        return of(Runtime.getRuntime().availableProcessors(), maker);
    }

    /**
     * A table for so many CPUs.
     *
     * @param <L> the kind of lock
     * @param cpus 1 or more; there are at most 65,536 locks
     * @param maker makes the locks
     * @return the table
     * @throws IllegalArgumentException {@code cpus} is less than 1, or a lock was given twice
     */
    public static <L extends Lock> LockTable<L> of(int cpus, Supplier<? extends L> maker) {
        Objects.requireNonNull(maker, "maker");
        return at(cpus, i -> maker.get());
    }

    /**
     * A table over memory that C code or other processes use, too: the lock of stripe {@code i} of a {@code pl_lock_table}
     * lies at byte {@code 64 * (i + 1)}.
     *
     * @param <L> the kind of lock
     * @param cpus 1 or more, as C was told
     * @param maker gives the lock of a stripe
     * @return the table
     * @throws IllegalArgumentException {@code cpus} is less than 1
     */
    public static <L extends Lock> LockTable<L> at(int cpus, IntFunction<? extends L> maker) {
        return new LockTable<>(stripes(cpus), maker);
    }

    /**
     * {@return the number of locks for so many CPUs: max(2, the next power of two), at most 65,536}
     *
     * @param cpus 1 or more
     * @throws IllegalArgumentException {@code cpus} is less than 1
     */
    public static int stripes(int cpus) {
        if (cpus < 1) {
            throw new IllegalArgumentException(cpus + " CPUs: a table is for 1 or more.");
        }
        if (cpus >= MAX_LOCKS) {
            return MAX_LOCKS;
        }
        return Math.max(MIN_LOCKS, cpus == 1 ? 1 : Integer.highestOneBit(cpus - 1) << 1);
    }

    /** {@return how many locks there are} */
    public int stripes() {
        return locks.size();
    }

    private int index(long key) {
        return (int) (key * GOLDEN >>> shift);
    }

    private int index(Object key) {
        return index((long) key.hashCode());
    }

    /**
     * {@return the lock that stands for a number or an address}
     *
     * @param key any number
     */
    public L get(long key) {
        return locks.get(index(key));
    }

    /**
     * {@return the lock that stands for an object}
     *
     * @param key not null; equal objects have the same lock
     */
    public L get(Object key) {
        return locks.get(index(key));
    }

    /** Locks that are held; closing it releases them. By the thread that took them. */
    public static final class Held implements AutoCloseable {
        private Lock first;
        private Lock second;

        private Held(Lock first, Lock second) {
            this.first = first;
            this.second = second;
        }

        @Override
        public void close() {
            Lock a = first;
            Lock b = second;
            first = second = null;
            try {
                if (b != null) {
                    b.unlock();
                }
            } finally {
                if (a != null) {
                    a.unlock();
                }
            }
        }
    }

    /**
     * Takes the locks of two objects, in the order that all threads keep to, or the one that stands for both.
     *
     * @param a one object
     * @param b the other
     * @return closes by releasing
     */
    public Held lock(Object a, Object b) {
        return lockBoth(index(a), index(b));
    }

    /**
     * Takes the locks of two numbers or addresses, likewise.
     *
     * @param a one
     * @param b the other
     * @return closes by releasing
     */
    public Held lock(long a, long b) {
        return lockBoth(index(a), index(b));
    }

    private Held lockBoth(int a, int b) {
        Lock first = locks.get(Math.min(a, b));
        if (a == b) {
            first.lock();
            return new Held(first, null);
        }
        Lock second = locks.get(Math.max(a, b));
        first.lock();
        try {
            second.lock();
        } catch (Throwable e) {
            first.unlock();
            throw e;
        }
        return new Held(first, second);
    }
}
