// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Critical;
import io.panalock.internal.Jni;
import io.panalock.internal.Layouts;
import io.panalock.internal.Natives;
import io.panalock.internal.Words;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.pure.Memory;
import io.panalock.pure.PureOsq;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The Linux kernel's optimistic spin queue: a queue of spinning threads, in Java and C and in several processes, from which
 * each can leave at any moment. One at a time is its head; that is all it has. To build locks with, not to be one:
 * {@link OsqMutex} is built on it.
 *
 * <pre>{@code
 * Osq queue = Osq.at(segment, 0);
 * if (queue.lock(50, TimeUnit.MICROSECONDS, () -> owner.isBlocked())) {
 *     try { … compete, with nobody else … } finally { queue.unlock(); }
 * }
 * }</pre>
 *
 * <p>First come, first served among those who stay. Spins without sleeping (a virtual thread lets others run now and then):
 * for waits of microseconds, with no more threads than CPUs. Having or awaiting a queue takes one of the four nesting levels
 * of the thread's slot; several are given back in reverse order.
 *
 * <p>Waits with a predicate, and interruptible ones, run in Java whatever the backend, on the same words: a predicate is Java
 * code, and an interruption is Java's.
 */
public final class Osq {
    private static final int BYTES = 4;
    private static final long FOREVER = -1;

    private final LockDomain domain;
    private final Backend backend;
    private final int wait;
    private final MemorySegment word;
    private final long address;
    private final boolean closeable;
    private final Memory memory;

    private Osq(QSpinLock.Plan p, boolean polling) {
        domain = p.domain;
        backend = p.backend;
        wait = polling ? Layouts.WAIT_POLL : 0;
        word = p.word;
        address = p.word.address();
        closeable = p.closeable;
        memory = p.whole ? Memory.whole() : Memory.of(word);
    }

    /**
     * The queue at an offset of native memory, default domain; zero bytes are an empty queue. C code uses it as a
     * {@code pl_osq}.
     *
     * @param segment native memory that stays open while the queue is used
     * @param offset in bytes, so that the address is divisible by 4
     * @return the queue, as it is
     * @throws IllegalArgumentException the segment cannot hold a queue there
     */
    public static Osq at(MemorySegment segment, long offset) {
        return builder().at(segment, offset);
    }

    /** {@return a builder, to choose domain, backend and how to wait} */
    public static Builder builder() {
        return new Builder();
    }

    /** Chooses domain, backend and how to wait. */
    public static final class Builder {
        private LockDomain domain;
        private Backend backend = Backend.ofDefault();
        private boolean polling;

        private Builder() {}

        /**
         * The domain whose slots stand in the queue; the same one for all its users.
         *
         * @param domain the queue's domain
         * @return this
         */
        public Builder domain(LockDomain domain) {
            this.domain = Objects.requireNonNull(domain, "domain");
            return this;
        }

        /**
         * How this object reaches the queue.
         *
         * @param backend the object's backend
         * @return this
         */
        public Builder backend(Backend backend) {
            this.backend = Objects.requireNonNull(backend, "backend");
            return this;
        }

        /**
         * Whether to poll, and look at the reasons to leave at every turn, instead of watching the own word for a while (arm64:
         * WFE) between two looks at them. Off by default.
         *
         * @param on whether to poll
         * @return this
         */
        public Builder polling(boolean on) {
            this.polling = on;
            return this;
        }

        /**
         * The queue at an offset of native memory; zero bytes are an empty queue.
         *
         * @param segment native memory that stays open while the queue is used
         * @param offset in bytes, so that the address is divisible by 4
         * @return the queue, as it is
         * @throws IllegalArgumentException the segment cannot hold a queue there
         * @throws IllegalStateException the segment's arena is closed
         * @throws UnsatisfiedLinkError the backend needs the native library and there is none
         */
        public Osq at(MemorySegment segment, long offset) {
            QSpinLock.Plan p = new QSpinLock.Plan();
            p.domain = domain != null ? domain : LockDomain.defaultFor(backend);
            p.layout = Layout.WORD;
            p.backend = backend;
            p.word = QSpinLock.Builder.checked(segment, offset, BYTES, "an OSQ");
            p.settle();
            return new Osq(p, polling);
        }

        /**
         * An empty queue in memory of its own, for the threads of this JVM.
         *
         * @return the queue
         */
        public Osq allocate() {
            return at(Arena.ofAuto().allocate(Layouts.CACHE_LINE, Layouts.CACHE_LINE), 0);
        }
    }

    /**
     * Joins the queue and spins until this thread is its head.
     *
     * @throws IllegalStateException its arena is closed, every thread slot is taken, or the thread has four queues already
     */
    public void lock() {
        LockThread self = domain.current();
        int slot = slot(self);
        int result = switch (backend) {
            case HYBRID, PURE -> inJava(slot, 0, FOREVER, null);
            case FFM, FFM_CRITICAL -> panalock_h.pl_osq_lock_wait(self.segment(slot), word, wait, FOREVER);
            case JNI -> Natives.jniOsqWait(self.address(slot), word, closeable, wait, FOREVER);
        };
        finish(self, result);
    }

    /**
     * Takes the queue if it is empty.
     *
     * @return whether this thread is its head now
     * @throws IllegalStateException as {@link #lock()}
     */
    public boolean tryLock() {
        LockThread self = domain.current();
        int slot = slot(self);
        int result = switch (backend) {
            case HYBRID, PURE -> PureOsq.tryLock(domain.pure(), memory, address, slot);
            case FFM -> panalock_h.pl_osq_trylock(self.segment(slot), word);
            case FFM_CRITICAL -> Critical.osqTry(self.segment(slot), word);
            case JNI -> Jni.osqTry(self.address(slot), open());
        };
        return finish(self, result);
    }

    /**
     * Joins the queue and spins until this thread is its head or there is a reason to leave.
     *
     * @param time how long to wait at most; negative: without limit
     * @param unit of {@code time}
     * @param leave called again and again by this thread while it waits; true ends the wait; or null
     * @return whether this thread is the queue's head now
     * @throws InterruptedException the thread was interrupted; it is not in the queue
     * @throws IllegalStateException as {@link #lock()}
     */
    public boolean lock(long time, TimeUnit unit, BooleanSupplier leave) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        LockThread self = domain.current();
        long nanos = time < 0 ? FOREVER : unit.toNanos(time);
        int result = inJava(slot(self), Layouts.WAIT_INTERRUPTIBLE, nanos, leave);
        if (result == -Layouts.EINTR) {
            self.released();
            throw new InterruptedException();
        }
        return finish(self, result);
    }

    /**
     * Makes the next one head.
     *
     * @throws IllegalMonitorStateException this thread is not the head, or has a queue that it got later
     * @throws IllegalStateException the queue's arena is closed
     */
    public void unlock() {
        LockThread self = domain.current();
        int slot = self.slotIfAny();
        int result = slot == 0
                ? -Layouts.EPERM
                : switch (backend) {
                    case HYBRID, PURE -> PureOsq.unlock(domain.pure(), memory, address, slot);
                    case FFM, FFM_CRITICAL -> panalock_h.pl_osq_unlock(self.segment(slot), word);
                    case JNI -> Jni.osqUnlock(self.address(slot), open());
                };
        if (result != 0) {
            throw new IllegalMonitorStateException(self.thread().getName()
                    + " unlocks an OSQ of which it is not the head, or before one that it got later.");
        }
        self.ownsNoMore();
        Reference.reachabilityFence(this);
    }

    /** {@return whether anybody has or awaits it: a hint} */
    public boolean isLocked() {
        return memory.get(address) != 0;
    }

    /** {@return how this object reaches the queue} */
    public Backend backend() {
        return backend;
    }

    private int inJava(int slot, int flags, long nanos, BooleanSupplier leave) {
        return PureOsq.lock(domain.pure(), memory, address, slot, flags | wait, nanos, leave);
    }

    private int slot(LockThread self) {
        int slot = self.hold();
        if (slot < 0) {
            throw domain.noSlot();
        }
        return slot;
    }

    private boolean finish(LockThread self, int result) {
        Reference.reachabilityFence(this);
        if (result == 0) {
            self.owns();
            return true;
        }
        self.released();
        return switch (-result) {
            case Layouts.EBUSY, Layouts.ETIMEDOUT, Layouts.ECANCELED, Layouts.EAGAIN -> false;
            case Layouts.ENOSPC ->
                throw new IllegalStateException(self.thread().getName() + " has or awaits " + Layouts.NESTING
                        + " queues and locks at once already: give one back first.");
            default ->
                throw new IllegalStateException(
                        "these 4 bytes are no OSQ of " + domain + ": they must be zero at first (error " + result + ").");
        };
    }

    private long open() {
        if (closeable) {
            int unused = (int) Words.INT.getOpaque(word, 0L); // throws if its arena is closed
        }
        return address;
    }

    @Override
    public String toString() {
        return "Osq[0x" + Long.toHexString(address) + ", " + backend + "]";
    }
}
