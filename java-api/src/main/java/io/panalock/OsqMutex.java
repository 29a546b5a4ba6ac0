// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.Natives;
import io.panalock.internal.Words;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.pure.Checks;
import io.panalock.pure.LockWord;
import io.panalock.pure.Memory;
import io.panalock.pure.PureCondition;
import io.panalock.pure.PureMutex;
import io.panalock.pure.QSpin;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * A mutex with optimistic spinning, after the Linux kernel's, that Java and C code, and several processes, can share: what to
 * take when nothing special is needed.
 *
 * <pre>{@code
 * OsqMutex mutex = OsqMutex.allocate();           // for the threads of this JVM: the fastest
 * OsqMutex mutex = OsqMutex.at(segment, 128);     // 8 bytes at an offset of memory that others use too
 *
 * try (var held = mutex.acquire()) { … }          // or lock(), try, finally, unlock()
 *
 * LockThread self = LockThread.current();         // hot loops look their handle up once
 * mutex.lock(self);
 * try { … } finally { mutex.unlock(self); }
 * }</pre>
 *
 * <p>The mutex knows its owner: only the thread that locked it may unlock it, and locking it twice is refused, both always
 * with {@link IllegalMonitorStateException}. Ownership belongs to the Java thread, platform or virtual, whatever carries it.
 * In the mutex's words the owner is a thread slot of the domain: a platform thread's own, a virtual thread's borrowed
 * while it holds or waits (also on a condition). {@link #newCondition} makes conditions that wake without a herd.
 *
 * <p>An object of this class is a view of 8 bytes of off-heap memory: any number of objects may stand for one mutex, with
 * different backends. C code uses the bytes as a {@code pl_mutex}.
 *
 * <p>An unlock that has released never throws. Acquisitions throw {@link IllegalStateException} once the mutex's arena or its
 * domain is closed. If an owner's process is killed the mutex stays locked.
 *
 * <p>Memory effects are those of {@link Lock}, also towards native users. Without contention a pair stays in Java and
 * allocates nothing. A waiter spins while that makes sense and then sleeps; a virtual thread never holds on to its carrier.
 */
public abstract sealed class OsqMutex implements Lock permits WholeMutex, SegmentMutex, NativeMutex {
    private static final long SLICE_NANOS = 10_000_000; // native waits of interruptible callers look at the flag so often
    private static final long NAP_NANOS = 1_000_000;
    private static final long FOREVER = -1;
    private static final int BYTES = 8;

    final LockDomain domain;
    final Backend backend;

    /** Exactly the mutex's bytes. */
    final MemorySegment word;

    final long address;
    final boolean closeable;

    private final LockWord pureWord;
    private final String name;
    private final int poolIndex;
    private final int waitFlags;
    private final Held held = this::unlock;
    private final Admission admission = new Admission(); // of virtual threads that have no slot

    /** For the lock-order validator; null while it is off. */
    private final LockClass lockClass;

    private final Object identity;

    private LockDomain.PoolWord owned; // null: not taken by this object

    /** The platform thread that used this object last: found again without a look-up. Racy, and checked at every use. */
    private LockThread last;

    OsqMutex(QSpinLock.Plan p, boolean spinning) {
        domain = p.domain;
        backend = p.backend;
        word = p.word;
        address = p.word.address();
        closeable = p.closeable;
        name = p.name != null ? p.name : "mutex at 0x" + Long.toHexString(address);
        poolIndex = p.poolIndex;
        waitFlags = spinning ? 0 : Layouts.WAIT_BLOCK;
        pureWord = PureMutex.at(p.whole ? Memory.whole() : Memory.of(word), address);
        lockClass = Lockdep.ON ? Lockdep.classOf(p.lockClass, p.name) : null;
        identity = Lockdep.ON ? Lockdep.identityOf(address) : null;
    }

    // ---- making one ----

    /**
     * A new mutex for the threads of this JVM, in the default domain's pool.
     *
     * @return an unlocked mutex
     * @throws IllegalStateException the pool is exhausted
     * @throws UnsatisfiedLinkError there is no native library, see {@link Backend#PURE}
     */
    public static OsqMutex allocate() {
        return builder().allocate();
    }

    /**
     * The mutex at an offset of native memory, default domain. Zero bytes are an unlocked mutex. C code of this process uses it
     * as a {@code pl_mutex} with {@code pl_self()}; other processes need a shared domain, see {@link LockDomain#attach}.
     *
     * @param segment native memory that stays open while the mutex is used
     * @param offset in bytes, so that the address is divisible by 8
     * @return the mutex, as it is
     * @throws IllegalArgumentException the segment cannot hold a mutex there
     */
    public static OsqMutex at(MemorySegment segment, long offset) {
        return builder().at(segment, offset);
    }

    /** {@return a builder, to choose domain, backend, name and whether to spin} */
    public static Builder builder() {
        return new Builder();
    }

    /** Chooses domain, backend, name and spinning of a mutex. */
    public static final class Builder {
        private LockDomain domain;
        private Backend backend = Backend.ofDefault();
        private String name;
        private LockClass lockClass;
        private boolean spinning = true;

        private Builder() {}

        /**
         * The domain in which waiters meet; the same one for all users of the mutex. Default: {@link LockDomain#ofDefault}.
         *
         * @param domain the mutex's domain
         * @return this
         */
        public Builder domain(LockDomain domain) {
            this.domain = Objects.requireNonNull(domain, "domain");
            return this;
        }

        /**
         * How this object reaches the mutex. Default: {@link Backend#ofDefault()}.
         *
         * @param backend the object's backend
         * @return this
         */
        public Builder backend(Backend backend) {
            this.backend = Objects.requireNonNull(backend, "backend");
            return this;
        }

        /**
         * What messages and {@code toString} call the mutex.
         *
         * @param name any text
         * @return this
         */
        public Builder name(String name) {
            this.name = Objects.requireNonNull(name, "name");
            return this;
        }

        /**
         * What the lock-order validator takes it for, see {@link Lockdep}; else its name, or the place that makes it.
         *
         * @param type the mutex's class
         * @return this
         */
        public Builder lockClass(LockClass type) {
            this.lockClass = Objects.requireNonNull(type, "type");
            return this;
        }

        /**
         * Whether waiters of this object spin before they sleep; on by default. Off is for comparison, and for mutexes that
         * are always held for milliseconds.
         *
         * @param on whether to spin
         * @return this
         */
        public Builder spinning(boolean on) {
            this.spinning = on;
            return this;
        }

        /**
         * A new mutex in the domain's pool.
         *
         * @return an unlocked mutex
         * @throws IllegalStateException the pool is exhausted, or the domain is closed
         * @throws UnsatisfiedLinkError the backend needs the native library and there is none
         */
        public OsqMutex allocate() {
            QSpinLock.Plan p = plan();
            p.domain.takePoolWord(p);
            return make(p);
        }

        /**
         * The mutex at an index of the domain's pool that somebody else took, perhaps another process; see
         * {@link OsqMutex#poolIndex}. The taker must keep it.
         *
         * @param index as the taker's {@code poolIndex()} says
         * @return the mutex, as it is
         * @throws IndexOutOfBoundsException the pool has no such word
         * @throws IllegalStateException nobody has taken it, or it was given back
         */
        public OsqMutex existing(int index) {
            QSpinLock.Plan p = plan();
            p.domain.findPoolWord(p, index);
            return make(p);
        }

        /**
         * The mutex at an offset of native memory; zero bytes are an unlocked mutex.
         *
         * @param segment native memory that stays open while the mutex is used
         * @param offset in bytes, so that the address is divisible by 8
         * @return the mutex, as it is
         * @throws IllegalArgumentException the segment cannot hold a mutex there
         * @throws IllegalStateException the segment's arena is closed
         * @throws UnsatisfiedLinkError the backend needs the native library and there is none
         */
        public OsqMutex at(MemorySegment segment, long offset) {
            QSpinLock.Plan p = plan();
            p.word = QSpinLock.Builder.checked(segment, offset, BYTES, "a mutex");
            return make(p);
        }

        private QSpinLock.Plan plan() {
            QSpinLock.Plan p = new QSpinLock.Plan();
            p.domain = domain != null ? domain : LockDomain.defaultFor(backend);
            p.layout = Layout.WIDE; // the size and alignment of a mutex
            p.backend = backend;
            p.name = name;
            p.lockClass = lockClass;
            return p;
        }

        private OsqMutex make(QSpinLock.Plan p) {
            p.settle();
            OsqMutex mutex = switch (backend) {
                case HYBRID, PURE -> p.whole ? new WholeMutex(p, spinning) : new SegmentMutex(p, spinning);
                case FFM, FFM_CRITICAL, JNI -> new NativeMutex(p, spinning);
            };
            if (p.ownsPoolWord) {
                mutex.owned = mutex.domain.giveBackAfter(mutex, mutex.address);
            }
            return mutex;
        }
    }

    // ---- the ways to the word ----

    /** Acquires if free and not handed off, in the name of a slot. */
    abstract boolean take(LockThread self, int slot);

    /** Releases if the slot's thread owns it: 0; 1, and {@link #kick} must follow; {@code -EPERM}. */
    abstract int release(LockThread self, int slot);

    // ---- Lock ----

    /**
     * Acquires the mutex, waiting as long as it takes. Interruption is kept for later.
     *
     * @throws IllegalMonitorStateException this thread owns it
     * @throws IllegalStateException its arena or domain is closed, it was freed, or every thread slot of the domain is
     *     taken
     */
    @Override
    public final void lock() {
        acquire(self());
    }

    /**
     * As {@link #lock()} with an explicit handle, which saves looking it up.
     *
     * @param self the calling thread's handle in the mutex's domain
     */
    public final void lock(LockThread self) {
        self.check(domain);
        acquire(self);
    }

    /**
     * Acquires the mutex for a try-with-resources statement, whose end releases it. Allocates nothing.
     *
     * @return what {@code close()} releases; to be closed once, by this thread
     * @throws IllegalMonitorStateException this thread owns it
     * @throws IllegalStateException as {@link #lock()}
     */
    public final Held acquire() {
        acquire(self());
        return held;
    }

    /** A mutex while it is held by {@link #acquire}. */
    @FunctionalInterface
    public interface Held extends AutoCloseable {
        /** Releases the mutex. */
        @Override
        void close();
    }

    /**
     * Acquires the mutex if it is free and not handed off to a waiter. Never waits.
     *
     * @return whether this call acquired it; false if this thread owns it already
     * @throws IllegalStateException its arena or domain is closed, it was freed, or every thread slot of the domain is
     *     taken
     */
    @Override
    public final boolean tryLock() {
        return tryLock(self());
    }

    /**
     * As {@link #tryLock()} with an explicit handle.
     *
     * @param self the calling thread's handle in the mutex's domain
     * @return whether this call acquired it
     */
    public final boolean tryLock(LockThread self) {
        self.check(domain);
        int slot = slot(self);
        if (take(self, slot)) {
            self.owns();
            return acquired();
        }
        self.released();
        if (QSpin.whyBusy(pureWord) == -Layouts.ESHUTDOWN) {
            throw closed();
        }
        return false;
    }

    /**
     * Acquires the mutex unless the thread is interrupted. Noticed at once by virtual threads, within 10 ms by others.
     *
     * @throws InterruptedException the thread was interrupted; the mutex was not acquired
     */
    @Override
    public final void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        acquiring();
        int result = waitFor(self(), Layouts.WAIT_INTERRUPTIBLE, FOREVER);
        if (result == -Layouts.EINTR) {
            throw new InterruptedException();
        }
        check(result);
        acquired();
    }

    /**
     * Acquires the mutex if that is possible within the time.
     *
     * @param time zero or less: as {@link #tryLock()}
     * @return whether this call acquired it
     * @throws InterruptedException the thread was interrupted; the mutex was not acquired
     */
    @Override
    public final boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long nanos = unit.toNanos(time);
        LockThread self = self();
        if (nanos <= 0 || PureMutex.owns(pureWord, self.slotIfAny())) {
            return tryLock(self);
        }
        int result = waitFor(self, Layouts.WAIT_INTERRUPTIBLE, nanos);
        if (result == -Layouts.EINTR) {
            throw new InterruptedException();
        }
        if (result == -Layouts.ETIMEDOUT) {
            return false;
        }
        check(result);
        return acquired();
    }

    /**
     * Releases the mutex and wakes a waiter if one sleeps. Once released, nothing is thrown.
     *
     * @throws IllegalMonitorStateException this thread does not own it; nothing was released
     * @throws IllegalStateException its arena is closed; nothing was released
     */
    @Override
    public final void unlock() {
        release(self());
    }

    /**
     * As {@link #unlock()} with an explicit handle.
     *
     * @param self the calling thread's handle in the mutex's domain
     */
    public final void unlock(LockThread self) {
        self.check(domain);
        release(self);
    }

    // ---- state ----

    /**
     * Whether somebody owns the mutex. Ordered after this thread's own earlier accesses by a full fence.
     *
     * @return true while it is owned
     * @throws IllegalStateException its arena is closed
     */
    public final boolean isLocked() {
        return QSpin.isLocked(pureWord);
    }

    /**
     * Whether somebody waits for the mutex: a hint.
     *
     * @return true while it is waited for
     * @throws IllegalStateException its arena is closed
     */
    public final boolean isContended() {
        return QSpin.isContended(pureWord);
    }

    /** {@return whether the calling thread owns it} */
    public final boolean isHeldByCurrentThread() {
        return PureMutex.owns(pureWord, self().slotIfAny());
    }

    /** {@return the name that the builder was given, or one made from the address} */
    public final String name() {
        return name;
    }

    /** {@return how this object reaches the mutex} */
    public final Backend backend() {
        return backend;
    }

    /** {@return the domain that all users of the mutex share} */
    public final LockDomain domain() {
        return domain;
    }

    /**
     * Where in the domain's pool the mutex lies, for {@link Builder#existing}.
     *
     * @return the index
     * @throws IllegalStateException it is not in a pool
     */
    public final int poolIndex() {
        if (poolIndex < 0) {
            throw new IllegalStateException(name + " is not in its domain's pool");
        }
        return poolIndex;
    }

    /**
     * Gives the memory of a mutex that {@code allocate} made back to its domain's pool now, and not when the garbage collector
     * finds that this object cannot be reached. Nobody may use the mutex or its conditions any more, through whatever object:
     * an acquisition throws {@link IllegalStateException}, at least until the pool has handed out all its other words and this
     * one again. Idempotent; allowed after the domain was closed.
     *
     * @throws IllegalStateException it is locked or waited for, and stays as it is; or this object did not take its memory from
     *     the pool
     */
    public final void free() {
        LockDomain.PoolWord.free(owned, name);
        Reference.reachabilityFence(this);
    }

    /** Name, backend and, as far as it can be seen, who owns it. */
    @Override
    public final String toString() {
        String state;
        try {
            state = isLocked() ? "held by " + ownerName() : "free";
        } catch (IllegalStateException | WrongThreadException e) {
            state = "closed";
        }
        return "OsqMutex[" + name + ", " + backend + ", " + state + "]";
    }

    // ---- conditions ----

    /**
     * A condition of this mutex. A signal wakes nobody: it moves a waiter to the mutex's own line, where releases wake one after
     * the other, so {@code signalAll} is no herd. Threads wait on conditions in Java, whatever the backend.
     *
     * @return a condition for the threads of this JVM
     */
    @Override
    public final Condition newCondition() {
        return new OsqCondition(this, Arena.ofAuto().allocate(OsqCondition.BYTES, Long.BYTES));
    }

    /**
     * The condition at an offset of native memory, which C code uses as a {@code pl_cond} with this mutex; zero bytes have no
     * waiters.
     *
     * @param segment native memory that stays open while the condition is used
     * @param offset in bytes, so that the address is divisible by 4
     * @return the condition, as it is
     * @throws IllegalArgumentException the segment cannot hold a condition there
     */
    public final Condition condition(MemorySegment segment, long offset) {
        MemorySegment line = QSpinLock.Builder.checked(segment, offset, OsqCondition.BYTES, Integer.BYTES, "a condition");
        return new OsqCondition(this, line);
    }

    final PureCondition pureCondition(MemorySegment line) {
        return new PureCondition(domain.pure(), Memory.of(line), line.address());
    }

    // ---- for conditions ----

    final LockThread self() {
        LockThread t = last;
        return t != null && t.thread() == Thread.currentThread() ? t : lookUp();
    }

    final LockWord pureWord() {
        return pureWord;
    }

    final IllegalMonitorStateException notOwned(String verb) {
        String owner = isLocked() ? ownerName() + " holds" : "nobody holds";
        return new IllegalMonitorStateException(
                Thread.currentThread().getName() + " " + verb + " \"" + name + "\", which " + owner + ".");
    }

    /** The mutex could not be acquired again: it is closed. */
    final RuntimeException lost(LockThread self, int result) {
        self.ownsNoMore();
        return failure(result);
    }

    // ---- within ----

    private LockThread lookUp() {
        LockThread t = domain.current();
        if (!t.isVirtual()) {
            last = t;
        }
        return t;
    }

    private void acquire(LockThread self) {
        acquiring();
        int slot = self.slotIfAny();
        if (slot != 0 && take(self, slot)) {
            self.owns();
        } else {
            check(waitFor(self, 0, FOREVER));
        }
        acquired();
    }

    // What the lock-order validator is told. While it is off these are nothing, and the compiler knows.

    private void acquiring() {
        if (Lockdep.ON) {
            Lockdep.order().acquiring(identity, lockClass);
        }
    }

    private boolean acquired() {
        if (Lockdep.ON) {
            Lockdep.order().acquired(identity, lockClass);
        }
        return true;
    }

    private void release(LockThread self) {
        if (Lockdep.ON) {
            Lockdep.order().releasing(identity, lockClass);
        }
        int slot = self.slotIfAny();
        int result = slot == 0 ? -Layouts.EPERM : release(self, slot);
        if (result != 0) {
            released(result);
        }
        self.ownsNoMore();
    }

    private void released(int result) {
        if (result < 0) {
            throw notOwned("unlocks");
        }
        try {
            kick();
        } catch (IllegalStateException e) {
            // The arena was closed after the release: a native sleeper would keep it open, others look now and then.
        }
        Reference.reachabilityFence(this);
    }

    private void kick() {
        if (backend == Backend.PURE) {
            QSpin.kick(domain.pure(), pureWord, 0);
            return;
        }
        int node = backend == Backend.JNI
                ? Natives.jniMutexKick(domain.service().address(), word, closeable)
                : panalock_h.pl_mutex_kick(domain.service(), word, 0);
        Waiting.unpark(domain, node);
    }

    /** For an owner word with more than the owner in it, or another's: {@code -EPERM}, or the release. */
    final int releaseUnusual(int slot) {
        if (!PureMutex.owns(pureWord, slot)) {
            return -Layouts.EPERM;
        }
        QSpin.unlock(domain.pure(), pureWord, slot);
        return 0;
    }

    /** Acquires, waiting if need be: 0 or a negative errno; -EINTR leaves the interrupt flag cleared. */
    private int waitFor(LockThread self, int flags, long nanos) {
        try {
            int result = self.isVirtual() && self.slotIfAny() == 0
                    ? borrowed(self, flags, nanos)
                    : waitWith(self, self.hold(), flags, nanos);
            if (result == 0) {
                self.owns();
            } else {
                self.released();
            }
            return result;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private int waitWith(LockThread self, int slot, int flags, long nanos) {
        if (slot < 0) {
            return slot;
        }
        if (take(self, slot)) {
            return 0;
        }
        int f = flags | waitFlags;
        return backend == Backend.PURE || self.isVirtual()
                ? PureMutex.lockWait(domain.pure(), pureWord, f, nanos, slot)
                : waitNative(self, slot, f, nanos);
    }

    /**
     * A virtual thread that has no slot. If the mutex is not to be had at once it gives the slot back and waits for admission:
     * so the slots that waiters borrow are bounded by the number of contended mutexes, not by that of threads.
     */
    private int borrowed(LockThread self, int flags, long nanos) {
        int slot = self.hold();
        if (slot > 0) {
            if (take(self, slot)) {
                return 0;
            }
            self.released();
        }
        boolean interruptible = (flags & Layouts.WAIT_INTERRUPTIBLE) != 0;
        long start = System.nanoTime();
        int result = admission.enter(interruptible, nanos);
        if (result != 0) {
            return result;
        }
        try {
            while ((slot = self.hold()) == -Layouts.ENOSPC) {
                LockSupport.parkNanos(this, NAP_NANOS); // until another virtual thread gives its slot back
                if (interruptible && Thread.interrupted()) {
                    return -Layouts.EINTR;
                }
                if (nanos >= 0 && System.nanoTime() - start >= nanos) {
                    return -Layouts.ETIMEDOUT;
                }
            }
            long left = nanos < 0 ? nanos : Math.max(0, nanos - (System.nanoTime() - start));
            return waitWith(self, slot, flags, left);
        } finally {
            admission.exit();
        }
    }

    private int waitNative(LockThread self, int number, int flags, long nanos) {
        MemorySegment slot = self.segment(number);
        if ((flags & Layouts.WAIT_INTERRUPTIBLE) == 0 && nanos < 0) {
            return await(slot, flags, FOREVER);
        }
        // A futex wait does not notice Thread.interrupt(): wait in slices, keeping the place in line.
        long start = System.nanoTime();
        int f = flags & ~Layouts.WAIT_INTERRUPTIBLE;
        for (; ; f |= Layouts.WAIT_RESUME) {
            if (Thread.interrupted()) {
                return -Layouts.EINTR;
            }
            long left = nanos < 0 ? SLICE_NANOS : nanos - (System.nanoTime() - start);
            if (left <= 0) {
                return -Layouts.ETIMEDOUT;
            }
            int result = await(slot, f, Math.min(left, SLICE_NANOS));
            if (result != -Layouts.ETIMEDOUT) {
                return result;
            }
        }
    }

    private int await(MemorySegment slot, int flags, long nanos) {
        return backend == Backend.JNI
                ? Natives.jniMutexWait(slot.address(), word, closeable, flags, nanos)
                : panalock_h.pl_mutex_lock_wait(slot, word, flags, nanos);
    }

    /** The slot to try with. */
    private int slot(LockThread self) {
        int slot = self.slotIfAny();
        if (slot == 0) {
            slot = self.hold();
            if (slot < 0) {
                throw failure(slot);
            }
        }
        return slot;
    }

    private String ownerName() {
        int slot = PureMutex.owner(pureWord);
        return slot == 0 ? "another thread" : Checks.name(domain.pure(), slot);
    }

    /** The address, for calls that take no segment, after a look whether the arena is open to this thread. */
    final long open() {
        if (closeable) {
            int unused = (int) Words.INT.getOpaque(word, 0L); // throws if it is not
        }
        return address;
    }

    private void check(int result) {
        if (result != 0) {
            throw failure(result);
        }
    }

    private RuntimeException failure(int result) {
        return switch (-result) {
            case Layouts.ESHUTDOWN -> closed();
            case Layouts.ENOSPC -> domain.noSlot();
            case Layouts.EDEADLK ->
                new IllegalMonitorStateException(Thread.currentThread().getName() + " locks \"" + name
                        + "\", which it already holds: a mutex is not recursive.");
            default -> new IllegalStateException("\"" + name + "\": unexpected error " + result);
        };
    }

    private IllegalStateException closed() {
        return new IllegalStateException("\"" + name + "\" cannot be locked: " + domain.whyPoisoned());
    }
}
