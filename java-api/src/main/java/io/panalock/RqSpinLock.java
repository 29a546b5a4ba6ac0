// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.Slot;
import io.panalock.pure.Checks;
import io.panalock.pure.PureDomain;
import io.panalock.pure.RqSpin;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A queued spinlock that refuses to deadlock: the kernel's resilient lock (rqspinlock) as a {@link Lock} that Java and C
 * code, and several processes, can share.
 *
 * <pre>{@code
 * RqSpinLock accounts = RqSpinLock.allocate("accounts"), orders = RqSpinLock.allocate("orders");
 * try (var a = accounts.acquire(); var o = orders.acquire()) {
 *     …
 * } catch (DeadlockException e) {
 *     // worker-3 holds "accounts", waits for "orders"; worker-7 holds "orders", waits for "accounts"
 * }
 * }</pre>
 *
 * <p>An acquisition throws instead of waiting for ever: {@link DeadlockException} when the caller holds the lock itself, or is
 * one of several threads that wait for each other in a circle (of which exactly one is told), and {@link LockTimeoutException}
 * after the limit: 250 ms for one that waits behind the owner only, 500 ms behind other waiters too, counted from its own
 * call. Who gets an exception holds what it held before, and no more. Circles of threads of any kind are found: platform and
 * virtual ones, C threads, those of other processes that use the same domain.
 *
 * <p>The lock is owned: the thread that locked it unlocks it, in any order with other locks. It is not recursive. The words
 * and layouts are those of {@link QSpinLock}, and the two exclude each other on one word; but only what this class (or C's
 * {@code pl_rqspin} functions) acquires is seen by the search for deadlocks.
 *
 * <p>A thread needs a slot of the domain from its first lock to its last unlock; a virtual thread gives it back when it holds
 * nothing. A thread can have 31 locks on record, those beyond it holds all the same, and only the limit watches over them.
 *
 * <p>Memory effects are those of {@link Lock}. An uncontended acquisition allocates nothing. A contended platform thread
 * waits in native code; a virtual thread parks and never holds on to its carrier.
 */
public final class RqSpinLock implements Lock {
    private final QSpinLock lock;
    private final LockDomain domain;
    private final long key;
    private final boolean direct; // slots are in native memory that Java may access
    private final Held held = new Held();

    /** For the lock-order validator; null while it is off. */
    private final LockClass lockClass;

    private final Object identity;

    private RqSpinLock(QSpinLock lock, LockClass given, String name) {
        this.lock = lock;
        lockClass = Lockdep.ON ? Lockdep.classOf(given, name) : null;
        identity = Lockdep.ON ? Lockdep.identityOf(lock.address) : null;
        domain = lock.domain;
        key = RqSpin.key(domain.pure(), lock.pureWord);
        direct = domain.isNative();
        domain.lockNames().add(key, lock);
    }

    // ---- making one ----

    /**
     * A new lock for the threads of this JVM, in the default domain's pool, WIDE.
     *
     * @param name what exceptions call it
     * @return an unlocked lock
     * @throws IllegalStateException the pool is exhausted
     * @throws UnsatisfiedLinkError there is no native library, see {@link Backend#PURE}
     */
    public static RqSpinLock allocate(String name) {
        return builder().name(name).allocate();
    }

    /**
     * The lock at an offset of native memory: WORD layout, default domain. Zero bytes are an unlocked lock. C code of this
     * process uses it as a {@code pl_rqspinlock} with {@code pl_self()}.
     *
     * @param segment native memory that stays open while the lock is used
     * @param offset in bytes, so that the address is divisible by 4
     * @param name what exceptions call it
     * @return the lock, as it is
     * @throws IllegalArgumentException the segment cannot hold a lock there
     */
    public static RqSpinLock at(MemorySegment segment, long offset, String name) {
        return builder().name(name).at(segment, offset);
    }

    /** {@return a builder, to choose everything that can be chosen} */
    public static Builder builder() {
        return new Builder();
    }

    /** Chooses domain, layout, backend, policy and name of a lock; the defaults are those of {@link QSpinLock.Builder}. */
    public static final class Builder {
        private final QSpinLock.Builder b = QSpinLock.builder().bare();
        private LockClass lockClass;
        private String name;

        private Builder() {}

        /**
         * The domain in which waiters for the lock meet. Deadlocks are found among the locks of one domain.
         *
         * @param domain the lock's domain
         * @return this
         */
        public Builder domain(LockDomain domain) {
            b.domain(domain);
            return this;
        }

        /**
         * The layout that all users of the lock agree on.
         *
         * @param layout the lock's layout
         * @return this
         */
        public Builder layout(Layout layout) {
            b.layout(layout);
            return this;
        }

        /**
         * How this object reaches the lock. The record of what a thread holds is written in Java whatever the backend.
         *
         * @param backend the object's backend
         * @return this
         */
        public Builder backend(Backend backend) {
            b.backend(backend);
            return this;
        }

        /**
         * How this object waits.
         *
         * @param policy the object's policy
         * @return this
         */
        public Builder policy(WaitPolicy policy) {
            b.policy(policy);
            return this;
        }

        /**
         * What exceptions, events and dumps call the lock.
         *
         * @param name any text
         * @return this
         */
        public Builder name(String name) {
            b.name(name);
            this.name = name;
            return this;
        }

        /**
         * What the lock-order validator takes it for, see {@link Lockdep}; else its name, or the place that makes it.
         *
         * @param type the lock's class
         * @return this
         */
        public Builder lockClass(LockClass type) {
            this.lockClass = Objects.requireNonNull(type, "type");
            return this;
        }

        /**
         * A new lock in the domain's pool.
         *
         * @return an unlocked lock
         * @throws IllegalStateException the pool is exhausted, or the domain is closed
         * @throws UnsatisfiedLinkError the backend needs the native library and there is none
         */
        public RqSpinLock allocate() {
            return new RqSpinLock(b.allocate(), lockClass, name);
        }

        /**
         * The lock at an index of the domain's pool that somebody else took; see {@link RqSpinLock#poolIndex}.
         *
         * @param index as the taker's {@code poolIndex()} says
         * @return the lock, as it is
         * @throws IndexOutOfBoundsException the pool has no such word
         * @throws IllegalStateException nobody has taken it, or it was given back
         */
        public RqSpinLock existing(int index) {
            return new RqSpinLock(b.existing(index), lockClass, name);
        }

        /**
         * The lock at an offset of native memory; zero bytes are an unlocked lock.
         *
         * @param segment native memory that stays open while the lock is used
         * @param offset in bytes, so that the address is divisible by the layout's size
         * @return the lock, as it is
         * @throws IllegalArgumentException the segment cannot hold a lock there
         * @throws IllegalStateException the segment's arena is closed
         * @throws UnsatisfiedLinkError the backend needs the native library and there is none
         */
        public RqSpinLock at(MemorySegment segment, long offset) {
            return new RqSpinLock(b.at(segment, offset), lockClass, name);
        }
    }

    // ---- acquiring ----

    /**
     * Acquires the lock, waiting up to the default limit.
     *
     * @throws DeadlockException the caller holds it already, or waiting would be for ever
     * @throws LockTimeoutException the limit has passed
     * @throws IllegalStateException the lock's arena or domain is closed, it was freed, or every thread slot is taken
     */
    @Override
    public void lock() {
        lock(domain.current());
    }

    /**
     * The same by a thread that knows its handle: for hot loops.
     *
     * @param self {@code LockThread.current(lock.domain())}
     * @throws DeadlockException the caller holds it already, or waiting would be for ever
     * @throws LockTimeoutException the limit has passed
     */
    public void lock(LockThread self) {
        self.check(domain);
        waiting();
        if (!take(self)) {
            acquired(self, await(self, 0, Layouts.LIMITS));
        }
        taken();
    }

    /**
     * Acquires for a block: {@code try (var held = lock.acquire()) { … }}. Allocates nothing.
     *
     * @return what the block's end closes, by the same thread
     * @throws DeadlockException the caller holds it already, or waiting would be for ever
     * @throws LockTimeoutException the limit has passed
     */
    public Held acquire() {
        lock();
        return held;
    }

    /** A lock that is held until the end of a block. */
    public final class Held implements AutoCloseable {
        private Held() {}

        /** Unlocks. */
        @Override
        public void close() {
            unlock();
        }
    }

    /**
     * Acquires the lock, waiting up to the default limit or until the thread is interrupted.
     *
     * @throws InterruptedException the thread was interrupted; the lock was not acquired
     * @throws DeadlockException the caller holds it already, or waiting would be for ever
     * @throws LockTimeoutException the limit has passed
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        LockThread self = domain.current();
        waiting();
        if (!take(self)) {
            int result = await(self, Layouts.WAIT_INTERRUPTIBLE, Layouts.LIMITS);
            if (result == -Layouts.EINTR) {
                throw new InterruptedException();
            }
            acquired(self, result);
        }
        taken();
    }

    /**
     * Acquires the lock if it is free. Never waits.
     *
     * @return whether this call acquired it
     */
    @Override
    public boolean tryLock() {
        return tryLock(domain.current());
    }

    /**
     * The same by a thread that knows its handle.
     *
     * @param self {@code LockThread.current(lock.domain())}
     * @return whether this call acquired it
     */
    public boolean tryLock(LockThread self) {
        self.check(domain);
        if (take(self)) {
            return taken();
        }
        int slot = slot(self);
        int entry = RqSpin.push(pure(), slot, key);
        boolean taken = false;
        try {
            taken = lock.tryLock();
        } finally {
            if (!taken) {
                RqSpin.pop(pure(), slot, entry);
                self.released();
            }
        }
        return taken && taken();
    }

    /**
     * Acquires the lock within the given time.
     *
     * @param limit zero or less: as {@link #tryLock()}
     * @return whether this call acquired it; false when the time has passed
     * @throws InterruptedException the thread was interrupted; the lock was not acquired
     * @throws DeadlockException the caller holds it already, or waiting would be for ever
     */
    public boolean tryLock(Duration limit) throws InterruptedException {
        return tryLock(TimeUnit.NANOSECONDS.convert(limit), TimeUnit.NANOSECONDS);
    }

    /** As {@link #tryLock(Duration)}. */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        LockThread self = domain.current();
        long nanos = unit.toNanos(time);
        if (nanos <= 0) {
            return tryLock(self);
        }
        if (take(self)) {
            return taken();
        }
        int result = await(self, Layouts.WAIT_INTERRUPTIBLE, nanos);
        if (result == -Layouts.EINTR) {
            throw new InterruptedException();
        }
        if (result == -Layouts.ETIMEDOUT) {
            return false;
        }
        acquired(self, result);
        return taken();
    }

    // ---- releasing ----

    /**
     * Releases the lock.
     *
     * @throws IllegalMonitorStateException the calling thread does not hold it; nothing was released
     */
    @Override
    public void unlock() {
        unlock(domain.current());
    }

    /**
     * The same by a thread that knows its handle.
     *
     * @param self {@code LockThread.current(lock.domain())}
     * @throws IllegalMonitorStateException the calling thread does not hold it; nothing was released
     */
    public void unlock(LockThread self) {
        self.check(domain);
        if (Lockdep.ON) {
            Lockdep.order().releasing(identity, lockClass);
        }
        long s = self.slotAddress();
        if (direct && s != 0 && Slot.isFirst(s) && Slot.entry(s) == key) {
            try {
                lock.unlock();
            } finally {
                Slot.setEntry(s, 0);
                if (self.isBorrowed()) {
                    self.released();
                }
                Reference.reachabilityFence(this);
            }
        } else {
            unlockSlow(self);
        }
    }

    private void unlockSlow(LockThread self) {
        int slot = self.slotIfAny();
        if (slot == 0 && !self.isVirtual()) {
            slot = slot(self); // it may have been locked by C code of this thread
        }
        if (slot == 0 || !RqSpin.holds(pure(), lock.pureWord, slot)) {
            int holder = Checks.holder(pure(), lock.address);
            throw new IllegalMonitorStateException(self.thread().getName() + " unlocks \"" + name() + "\", which "
                    + (holder == 0 ? "it does not hold" : threadName(holder) + " holds") + ".");
        }
        try {
            lock.unlock();
        } finally {
            RqSpin.popKey(pure(), slot, key);
            self.released();
        }
    }

    /**
     * A spinlock has no conditions.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a RqSpinLock has no conditions, since the kernel's has none and other"
                + " users of the word would not know of them.");
    }

    // ---- its end ----

    /**
     * Gives the memory of a lock that {@code allocate} made back to its domain's pool now, as {@link QSpinLock#free} does.
     * Idempotent; allowed after the domain was closed.
     *
     * @throws IllegalStateException it is locked or waited for, and stays as it is; or this object did not take its memory from
     *     the pool
     */
    public void free() {
        lock.free();
    }

    // ---- state ----

    /** {@return whether the calling thread holds it} A hint beyond 31 locks. */
    public boolean isHeldByCurrentThread() {
        int slot = domain.current().slotIfAny();
        return slot != 0 && RqSpin.holds(pure(), lock.pureWord, slot);
    }

    /**
     * Whether somebody holds the lock.
     *
     * @return true while it is held
     * @throws IllegalStateException the lock's arena is closed
     */
    public boolean isLocked() {
        return lock.isLocked();
    }

    /**
     * Whether somebody waits for the lock: a hint.
     *
     * @return true while it is waited for
     * @throws IllegalStateException the lock's arena is closed
     */
    public boolean isContended() {
        return lock.isContended();
    }

    /** {@return the name that it was given, or one made from the address} */
    public String name() {
        return lock.name();
    }

    /** {@return how the lock lies in memory} */
    public Layout layout() {
        return lock.layout();
    }

    /** {@return how this object reaches the lock} */
    public Backend backend() {
        return lock.backend();
    }

    /** {@return the domain that all users of the lock share} */
    public LockDomain domain() {
        return domain;
    }

    /**
     * Where in the domain's pool the lock lies, for {@link Builder#existing}.
     *
     * @return the index
     * @throws IllegalStateException it is not in a pool
     */
    public int poolIndex() {
        return lock.poolIndex();
    }

    /** Name, layout, backend and, as far as it can be seen, state. */
    @Override
    public String toString() {
        return "Rq" + lock.toString().substring(1);
    }

    // ---- inside ----

    // What the lock-order validator is told. While it is off these are nothing, and the compiler knows.

    private void waiting() {
        if (Lockdep.ON) {
            Lockdep.order().acquiring(identity, lockClass);
        }
    }

    private boolean taken() {
        if (Lockdep.ON) {
            Lockdep.order().acquired(identity, lockClass);
        }
        return true;
    }

    /** The fast way: the record, then the lock. False: neither was made. */
    private boolean take(LockThread self) {
        long s = self.slotAddress();
        if (!direct || s == 0 || !Slot.isFirst(s) || Slot.entry(s) != 0) {
            return false;
        }
        Slot.setEntry(s, key); // before the lock is tried, as C code does
        boolean taken = false;
        try {
            taken = lock.tryLock();
        } finally {
            if (!taken) {
                Slot.setEntry(s, 0);
            }
            Reference.reachabilityFence(this);
        }
        return taken;
    }

    private int slot(LockThread self) {
        int slot = self.hold();
        if (slot < 0) {
            throw lock.failure(slot);
        }
        return slot;
    }

    private PureDomain pure() {
        return domain.pure();
    }

    /** Waits. 0 or a negative errno. */
    private int await(LockThread self, int flags, long nanos) {
        return RqWaiting.await(lock, self, flags, nanos);
    }

    private void acquired(LockThread self, int result) {
        if (result == 0) {
            return;
        }
        throw switch (-result) {
            case Layouts.EDEADLK -> LockFailures.tell(this, DeadlockException.of(this, self, self.circle()));
            case Layouts.ETIMEDOUT -> LockFailures.tell(this, LockTimeoutException.of(this, self));
            default -> lock.failure(result);
        };
    }

    String threadName(int slot) {
        return Checks.name(pure(), slot);
    }

    QSpinLock word() {
        return lock;
    }

    long key() {
        return key;
    }
}
