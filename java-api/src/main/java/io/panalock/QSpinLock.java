// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import io.panalock.pure.LockWord;
import io.panalock.pure.Memory;
import io.panalock.pure.QSpin;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * The Linux kernel's queued spinlock as a {@link Lock} that Java and C code, and several processes, can share.
 *
 * <pre>{@code
 * QSpinLock lock = QSpinLock.allocate();          // for the threads of this JVM: the fastest
 * QSpinLock lock = QSpinLock.at(segment, 128);    // at an offset of memory that others use too
 * lock.lock();
 * try { … } finally { lock.unlock(); }
 * }</pre>
 *
 * <p>An object of this class is a view of a few bytes of off-heap memory: any number of objects may stand for one lock.
 * They must agree on layout and domain, and may differ in backend and policy.
 *
 * <p>The lock is not recursive and has no owner: whoever locks it twice waits for ever, and any thread may unlock it. With
 * {@code -Dpanalock.checks=true} both mistakes are reported as {@link IllegalMonitorStateException}. There are no
 * conditions.
 *
 * <p>An unlock that has released the lock never throws. Acquisitions throw {@link IllegalStateException} once the lock's
 * arena or its domain is closed, or once it was {@linkplain #free freed}.
 *
 * <p>Memory effects are those of {@link Lock}, also towards native users of the word. An uncontended pair stays in Java and
 * allocates nothing; {@code claims bridge} says what it costs. A contended platform thread waits in native code; a virtual
 * thread parks as any other Java code does and never holds on to its carrier.
 */
public abstract sealed class QSpinLock implements Lock
        permits WholeWide,
                WholeWord,
                SegmentWide,
                SegmentWord,
                FfmWide,
                FfmWord,
                FfmByte,
                CriticalWide,
                CriticalWord,
                CriticalByte,
                JniWide,
                JniWord,
                JniByte,
                CheckedLock,
                WatchedSpinLock {
    /** Native waits of interruptible and timed callers end this often to look at the interrupt flag. */
    private static final long SLICE_NANOS = 10_000_000;

    private static final long FOREVER = -1;
    private static final VarHandle ADMISSION;

    static {
        try {
            ADMISSION = MethodHandles.lookup().findVarHandle(QSpinLock.class, "admission", Admission.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final LockDomain domain;
    final Layout layout;
    final Backend backend;
    private final WaitPolicy policy;
    private final String name;
    private final int poolIndex;

    /** Exactly the lock's bytes. Its arena is the user's, the domain's, or none. */
    final MemorySegment word;

    /** Of {@link #word}; to be used only while that is alive. */
    final long address;

    private final Waiting waiting;
    private final LockCounters counters; // null: not counted

    /** The lock as the pure twins see it. */
    final LockWord pureWord;

    /** The arena may be closed while this object lives. */
    private final boolean closeable;

    private LockDomain.PoolWord owned; // null: not taken by this object
    private long reservedSince; // for tries that find the lock free but reserved; races make one void later or sooner
    private volatile Admission admission; // of virtual threads; made when the first one waits

    QSpinLock(Plan p) {
        domain = p.domain;
        layout = p.layout;
        backend = p.backend;
        policy = p.policy;
        word = p.word;
        address = p.word.address();
        name = p.name != null ? p.name : "lock at 0x" + Long.toHexString(address);
        poolIndex = p.poolIndex;
        waiting = p.waiting;
        counters = p.counters;
        pureWord = p.pureWord;
        closeable = p.closeable;
    }

    // ---- making one ----

    /**
     * A new lock for the threads of this JVM, in the default domain's pool, WIDE.
     *
     * @return an unlocked lock
     * @throws IllegalStateException the pool is exhausted
     * @throws UnsatisfiedLinkError there is no native library, see {@link Backend#PURE}
     */
    public static QSpinLock allocate() {
        return builder().allocate();
    }

    /**
     * The lock at an offset of native memory: WORD layout, default domain. Zero bytes are an unlocked lock. C code of this
     * process uses it as a {@code pl_qspinlock} with {@code pl_self()}; other processes need a shared domain, see
     * {@link LockDomain#attach}.
     *
     * @param segment native memory that stays open while the lock is used
     * @param offset in bytes, so that the address is divisible by 4
     * @return the lock, as it is
     * @throws IllegalArgumentException the segment cannot hold a lock there
     */
    public static QSpinLock at(MemorySegment segment, long offset) {
        return builder().at(segment, offset);
    }

    /** {@return a builder, to choose everything that can be chosen} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Chooses domain, layout, backend, policy and name of a lock. The defaults are the default domain,
     * {@link Layout#WIDE} in a pool and {@link Layout#WORD} elsewhere, {@link Backend#ofDefault()} and
     * {@link WaitPolicy#SPIN_THEN_PARK}.
     */
    public static final class Builder {
        private LockDomain domain;
        private Layout layout;
        private Backend backend = Backend.ofDefault();
        private WaitPolicy policy = WaitPolicy.SPIN_THEN_PARK;
        private String name;
        private LockClass lockClass;
        private boolean counting;
        private boolean bare;

        private Builder() {}

        /** For {@link RqSpinLock}. */
        Builder bare() {
            bare = true;
            return this;
        }

        /**
         * The domain in which waiters for the lock meet; the same one for all users of the lock.
         *
         * @param domain the lock's domain
         * @return this
         */
        public Builder domain(LockDomain domain) {
            this.domain = Objects.requireNonNull(domain, "domain");
            return this;
        }

        /**
         * The layout that all users of the lock agree on.
         *
         * @param layout the lock's layout
         * @return this
         */
        public Builder layout(Layout layout) {
            this.layout = Objects.requireNonNull(layout, "layout");
            return this;
        }

        /**
         * How this object reaches the lock.
         *
         * @param backend the object's backend
         * @return this
         */
        public Builder backend(Backend backend) {
            this.backend = Objects.requireNonNull(backend, "backend");
            return this;
        }

        /**
         * How this object waits.
         *
         * @param policy the object's policy
         * @return this
         */
        public Builder policy(WaitPolicy policy) {
            this.policy = Objects.requireNonNull(policy, "policy");
            return this;
        }

        /**
         * What messages, events and {@code toString} call the lock.
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
         * @param type the lock's class
         * @return this
         */
        public Builder lockClass(LockClass type) {
            this.lockClass = Objects.requireNonNull(type, "type");
            return this;
        }

        /**
         * Counts contended acquisitions, see {@link QSpinLock#counters}; off by default.
         *
         * @param on whether to count
         * @return this
         */
        public Builder counting(boolean on) {
            this.counting = on;
            return this;
        }

        /**
         * A new lock in the domain's pool.
         *
         * @return an unlocked lock
         * @throws IllegalStateException the pool is exhausted, or the domain is closed
         * @throws UnsatisfiedLinkError the backend needs the native library and there is none
         */
        public QSpinLock allocate() {
            Plan p = plan(Layout.WIDE);
            p.domain.takePoolWord(p);
            return p.make();
        }

        /**
         * The lock at an index of the domain's pool that somebody else took, perhaps another process; see
         * {@link QSpinLock#poolIndex}. The taker must keep it.
         *
         * @param index as the taker's {@code poolIndex()} says
         * @return the lock, as it is
         * @throws IndexOutOfBoundsException the pool has no such word
         * @throws IllegalStateException nobody has taken it, or it was given back
         */
        public QSpinLock existing(int index) {
            Plan p = plan(Layout.WIDE);
            p.domain.findPoolWord(p, index);
            return p.make();
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
        public QSpinLock at(MemorySegment segment, long offset) {
            Plan p = plan(Layout.WORD);
            p.word = checked(segment, offset, p.layout.bytes(), "a " + p.layout + " lock");
            return p.make();
        }

        /** As {@link #at}, in memory that stays mapped while the segment can be reached, as the lock object sees to. */
        QSpinLock atUnclosable(MemorySegment segment, long offset) {
            Plan p = plan(Layout.WORD);
            p.word = checked(segment, offset, p.layout.bytes(), "a " + p.layout + " lock");
            p.poolWord = true;
            return p.make();
        }

        private Plan plan(Layout defaultLayout) {
            Plan p = new Plan();
            p.domain = domain != null ? domain : LockDomain.defaultFor(backend);
            p.layout = layout != null ? layout : defaultLayout;
            p.backend = backend;
            p.policy = policy;
            p.name = name;
            p.lockClass = lockClass;
            p.bare = bare;
            p.counters = counting ? new LockCounters() : null;
            return p;
        }

        static MemorySegment checked(MemorySegment segment, long offset, int bytes, String what) {
            return checked(segment, offset, bytes, bytes, what);
        }

        static MemorySegment checked(MemorySegment segment, long offset, int bytes, int alignment, String what) {
            Objects.requireNonNull(segment, "segment: a lock needs native memory, this is null");
            if (!segment.isNative()) {
                throw new IllegalArgumentException(
                        "a lock needs native memory; this segment is on the heap. Allocate it from an Arena.");
            }
            if (!segment.scope().isAlive()) {
                throw new IllegalStateException("the segment's arena is closed: a lock in it cannot be used any more.");
            }
            if (segment.isReadOnly()) {
                throw new IllegalArgumentException(
                        "a lock needs memory that can be written; this segment is read-only. Map or pass it writable.");
            }
            if (offset < 0 || offset > segment.byteSize() - bytes) {
                throw new IllegalArgumentException(what + " needs " + bytes + " bytes; at offset " + offset
                        + " this segment of " + segment.byteSize() + " bytes does not have them.");
            }
            if ((segment.address() + offset) % alignment != 0) {
                throw new IllegalArgumentException(what + " needs an address divisible by " + alignment
                        + "; offset " + offset + " of this segment is at 0x"
                        + Long.toHexString(segment.address() + offset)
                        + ". Allocate with that alignment, or choose another offset.");
            }
            return segment.asSlice(offset, bytes);
        }
    }

    /** What a constructor needs. */
    static final class Plan {
        LockDomain domain;
        Layout layout;
        Backend backend;
        WaitPolicy policy;
        String name;
        LockClass lockClass;
        LockCounters counters;
        MemorySegment word;
        int poolIndex = -1;
        boolean poolWord; // of a private domain: the memory lives as long as the domain is reachable
        boolean ownsPoolWord; // to be given back with the lock object
        boolean closeable; // the memory can be unmapped while the lock object lives
        boolean bare; // without debug checks: a rqspinlock keeps its own record
        boolean whole; // it cannot, and native access is allowed: the fast way
        Waiting waiting;
        LockWord pureWord;

        /** Which way leads to the word. */
        void settle() {
            waiting = domain.waiting(backend);
            closeable = !poolWord && !word.scope().equals(Arena.global().scope());
            whole = domain.isNative() && !closeable;
        }

        QSpinLock make() {
            settle();
            pureWord = LockWord.at(whole ? Memory.whole() : Memory.of(word), word.address(), layout.number);
            QSpinLock lock = specialised();
            if (domain.checked() && !bare) {
                lock = new CheckedLock(this, lock);
            }
            if (Lockdep.ON && !bare) {
                lock = new WatchedSpinLock(this, lock, Lockdep.classOf(lockClass, name));
            }
            if (ownsPoolWord) {
                lock.owned = domain.giveBackAfter(lock, lock.address);
            }
            return lock;
        }

        /** One small class for each way to the word, so that the JIT sees through all of it. */
        private QSpinLock specialised() {
            boolean wide = layout == Layout.WIDE;
            return switch (backend) {
                case HYBRID, PURE -> {
                    if (whole) {
                        yield wide ? new WholeWide(this) : new WholeWord(this);
                    }
                    yield wide ? new SegmentWide(this) : new SegmentWord(this);
                }
                case FFM ->
                    switch (layout) {
                        case WIDE -> new FfmWide(this);
                        case WORD -> new FfmWord(this);
                        case BYTE -> new FfmByte(this);
                    };
                case FFM_CRITICAL ->
                    switch (layout) {
                        case WIDE -> new CriticalWide(this);
                        case WORD -> new CriticalWord(this);
                        case BYTE -> new CriticalByte(this);
                    };
                case JNI ->
                    switch (layout) {
                        case WIDE -> new JniWide(this);
                        case WORD -> new JniWord(this);
                        case BYTE -> new JniByte(this);
                    };
            };
        }
    }

    // ---- Lock ----

    /**
     * Acquires the lock, waiting as long as it takes. Interruption is kept for later.
     *
     * @throws IllegalStateException the lock's arena or domain is closed, or it was freed; or, with debug checks only, every
     *     thread slot of the domain is taken
     */
    @Override
    public abstract void lock();

    /**
     * Acquires the lock if it is free and not reserved for a waiter. Never waits.
     *
     * @return whether this call acquired it
     * @throws IllegalStateException the lock's arena or domain is closed, or it was freed
     */
    @Override
    public abstract boolean tryLock();

    /**
     * Releases the lock and wakes a waiter if one sleeps. Once released, nothing is thrown.
     *
     * @throws IllegalStateException the lock's arena is closed; nothing was released
     * @throws IllegalMonitorStateException nobody holds it, or with debug checks: this thread does not hold it; nothing was
     *     released. Without debug checks an unlock of a free WIDE lock goes unnoticed and does no harm
     */
    @Override
    public abstract void unlock();

    /**
     * As {@link #lock()} with an explicit handle, which saves looking the thread's slot up if it has to wait.
     *
     * @param self the calling thread's handle in the lock's domain
     */
    public void lock(LockThread self) {
        self.check(domain);
        if (!tryLock()) {
            contended(self);
        }
    }

    /**
     * Acquires the lock unless the thread is interrupted. Noticed at once by virtual threads, within 10 ms by others.
     *
     * @throws InterruptedException the thread was interrupted; the lock was not acquired
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (!tryLock()) {
            int result = waitObserved(null, Layouts.WAIT_INTERRUPTIBLE, FOREVER);
            if (result == -Layouts.EINTR) {
                throw new InterruptedException();
            }
            check(result);
        }
    }

    /**
     * Acquires the lock if that is possible within the time. A waiter with a limit keeps its place in line, but may leave it
     * at any moment.
     *
     * @param time zero or less: as {@link #tryLock()}
     * @return whether this call acquired it
     * @throws InterruptedException the thread was interrupted; the lock was not acquired
     */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (tryLock()) {
            return true;
        }
        long nanos = unit.toNanos(time);
        if (nanos <= 0) {
            return false;
        }
        int result = waitObserved(null, Layouts.WAIT_INTERRUPTIBLE, nanos);
        if (result == -Layouts.EINTR) {
            throw new InterruptedException();
        }
        if (result == -Layouts.ETIMEDOUT) {
            return false;
        }
        check(result);
        return true;
    }

    /**
     * A spinlock has no conditions.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a QSpinLock has no conditions, since the kernel's has none and other"
                + " users of the word would not know of them. Wait on a ReentrantLock's condition or on a semaphore.");
    }

    // ---- its end ----

    /**
     * Gives the memory of a lock that {@code allocate} made back to its domain's pool now, and not when the garbage collector
     * finds that this object cannot be reached. Nobody may use the lock any more, through whatever object: an acquisition
     * throws {@link IllegalStateException}, at least until the pool has handed out all its other words and this one again.
     * Idempotent; allowed after the domain was closed.
     *
     * @throws IllegalStateException it is locked or waited for, and stays as it is; or this object did not take its memory from
     *     the pool
     */
    public final void free() {
        LockDomain.PoolWord.free(owned, name);
        Reference.reachabilityFence(this);
    }

    // ---- state ----

    /**
     * Whether somebody holds the lock. Ordered after this thread's own earlier accesses by a full fence.
     *
     * @return true while it is held
     * @throws IllegalStateException the lock's arena is closed
     */
    public boolean isLocked() {
        return waiting.isLocked(this);
    }

    /**
     * Whether somebody waits for the lock: a hint.
     *
     * @return true while it is waited for
     * @throws IllegalStateException the lock's arena is closed
     */
    public boolean isContended() {
        return waiting.isContended(this);
    }

    /** {@return the name that the builder was given, or one made from the address} */
    public String name() {
        return name;
    }

    /** {@return how the lock lies in memory} */
    public Layout layout() {
        return layout;
    }

    /** {@return how this object reaches the lock} */
    public Backend backend() {
        return backend;
    }

    /** {@return how this object waits} */
    public WaitPolicy policy() {
        return policy;
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
        if (poolIndex < 0) {
            throw new IllegalStateException(name + " is not in its domain's pool");
        }
        return poolIndex;
    }

    /**
     * What this object has counted.
     *
     * @return live counters
     * @throws IllegalStateException the builder was not told to count
     */
    public LockCounters counters() {
        if (counters == null) {
            throw new IllegalStateException(name + " does not count: make it with builder().counting(true)");
        }
        return counters;
    }

    /** Name, layout, backend and, as far as it can be seen, state. */
    @Override
    public String toString() {
        String state;
        try {
            state = isLocked() ? (isContended() ? "locked, contended" : "locked") : "free";
        } catch (IllegalStateException | WrongThreadException e) {
            state = "closed";
        }
        return "QSpinLock[" + name + ", " + layout + ", " + backend + ", " + state + "]";
    }

    // ---- what the specialised classes call when the fast path does not apply ----

    /** Acquires a lock that was not free. */
    final void contended() {
        contended(null);
    }

    final void contended(LockThread self) {
        check(waitObserved(self, 0, FOREVER));
    }

    /** A try that failed: because the lock is busy, or reserved by somebody who is gone, or because nobody gets it any more? */
    final boolean refused() {
        int why = QSpin.whyBusy(pureWord);
        if (why != -Layouts.EBUSY) {
            throw failure(why);
        }
        long since = QSpin.retry(pureWord, reservedSince);
        boolean taken = since == QSpin.TAKEN;
        reservedSince = taken ? 0 : since;
        Reference.reachabilityFence(this);
        return taken;
    }

    /** What follows a release by C with a result other than 0. */
    final void afterRelease(int result) {
        if (result < 0) {
            throw nobodyHolds();
        }
        kick();
    }

    private IllegalMonitorStateException nobodyHolds() {
        return new IllegalMonitorStateException(
                Thread.currentThread().getName() + " unlocks \"" + name + "\", which nobody holds.");
    }

    /** What follows the release of a WORD or BYTE lock that was not just LOCKED: wakes the next waiter if that is due. */
    final void released(int left) {
        if ((left & Layouts.Q_LOCKED) == 0) {
            pureWord.takeBack();
            throw nobodyHolds();
        }
        if (pureWord.mustKick(left)) {
            kick();
        }
    }

    /** Wakes the next waiter after a release. The lock is no longer ours: nothing may be thrown. */
    final void kick() {
        try {
            waiting.kick(this);
        } catch (IllegalStateException e) {
            // The arena was closed after the release. A native sleeper keeps it open, so there is none; sleepers in Java
            // look at their lock every few milliseconds and leave.
        }
        Reference.reachabilityFence(this);
    }

    private boolean spins() {
        return policy == WaitPolicy.SPIN;
    }

    /** The address, for calls that take no segment, after a look whether the arena is open to this thread. */
    final long open() {
        if (closeable) {
            int unused = (int) Words.INT.getOpaque(word, 0L); // throws if it is not
        }
        return address;
    }

    /** Whether platform threads wait for it in Java too. */
    final boolean waitsInJava() {
        return waiting.inJava();
    }

    final boolean isCloseable() {
        return closeable;
    }

    /** Who of the virtual threads that wait for this lock stands in its line. */
    final Admission admission() {
        Admission a = admission;
        if (a == null) {
            Admission made = new Admission();
            a = (Admission) ADMISSION.compareAndExchange(this, null, made);
            if (a == null) {
                a = made;
            }
        }
        return a;
    }

    /** As {@link #waitFor}, told to flight recorder and counters. */
    private int waitObserved(LockThread self, int flags, long nanos) {
        boolean recording = ContendedEvent.isOn();
        if (!recording && counters == null) {
            return waitFor(self, flags, nanos);
        }
        ContendedEvent event = recording ? ContendedEvent.started() : null;
        long start = System.nanoTime();
        int result = waitFor(self, flags, nanos);
        if (counters != null) {
            counters.add(System.nanoTime() - start, result == 0);
        }
        if (event != null) {
            event.finish(this, result == 0);
        }
        return result;
    }

    /**
     * Waits for the lock.
     *
     * @param flags {@code WAIT_INTERRUPTIBLE} or 0
     * @return 0 or a negative errno; -EINTR leaves the interrupt flag cleared
     */
    int waitFor(LockThread self, int flags, long nanos) {
        try {
            int f = flags | (spins() ? Layouts.WAIT_SPIN : 0);
            LockThread me = self != null ? self : domain.current();
            if (waiting.inJava() || me.isVirtual()) {
                return JavaWaiting.await(this, me, f, nanos);
            }
            int slot = me.enter();
            if (slot < 0) {
                return slot == -Layouts.ENOSPC ? JavaWaiting.admitted(this, me, f, nanos) : slot;
            }
            try {
                return waitNative(me, slot, f, nanos);
            } finally {
                me.exit(slot);
            }
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Whether {@link #waitFor}, having acquired the lock of a checked domain, has noted that in the slot already. */
    final boolean notesInC(LockThread me) {
        return !waiting.inJava() && !me.isVirtual();
    }

    private int waitNative(LockThread me, int number, int flags, long nanos) {
        MemorySegment slot = me.segment(number);
        if ((flags & Layouts.WAIT_INTERRUPTIBLE) == 0 && nanos < 0) {
            return waiting.await(this, slot, flags, FOREVER);
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
            int result = waiting.await(this, slot, f, Math.min(left, SLICE_NANOS));
            if (result != -Layouts.ETIMEDOUT) {
                return result;
            }
        }
    }

    private void check(int result) {
        if (result != 0) {
            throw failure(result);
        }
    }

    final RuntimeException failure(int result) {
        return switch (-result) {
            case Layouts.ESHUTDOWN -> closed();
            case Layouts.EBADFD -> damaged();
            case Layouts.ENOSPC -> domain.noSlot();
            case Layouts.EDEADLK ->
                new IllegalMonitorStateException(Thread.currentThread().getName() + " locks \"" + name
                        + "\", which it already holds: a spinlock is not recursive.");
            case Layouts.EXDEV ->
                new IllegalMonitorStateException("\"" + name + "\" is held with another domain than " + domain
                        + ": all users of a lock must name the same one.");
            default -> new IllegalStateException("\"" + name + "\": unexpected error " + result);
        };
    }

    final IllegalStateException arenaClosed() {
        return new IllegalStateException("\"" + name + "\" cannot be unlocked: its arena is closed.");
    }

    private IllegalStateException damaged() {
        return new IllegalStateException("\"" + name + "\" cannot be locked: its word is 0x" + Integer.toHexString(pureWord.bits())
                + ", which no " + layout + " lock can be. It was unlocked more often than locked (-Dpanalock.checks=true says"
                + " where), or the memory is used for something else too.");
    }

    private IllegalStateException closed() {
        return new IllegalStateException("\"" + name + "\" cannot be locked: " + domain.whyPoisoned());
    }
}
