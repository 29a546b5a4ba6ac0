// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Critical;
import io.panalock.internal.Jni;
import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.pure.Ring;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.Lock;

/**
 * How a backend reserves and finishes records. Offsets are those of a record's bytes in the ring's data; results below zero
 * are negative errno values. Callers keep the ring's memory reachable.
 */
abstract class RingAccess {
    abstract long reserve(int bytes);

    /** 0, 1 (the consumer is to be woken), or {@code -EINVAL}. */
    abstract int finish(long offset, boolean discard, int flags);

    /** HYBRID: through one constant segment. */
    static final class Whole extends RingAccess {
        private final Ring ring;
        private final Lock lock;

        Whole(Ring ring, Lock lock) {
            this.ring = ring;
            this.lock = lock;
        }

        @Override
        long reserve(int bytes) {
            lock.lock();
            try {
                return ring.reserve(Words.Whole.ALL, bytes);
            } finally {
                lock.unlock();
            }
        }

        @Override
        int finish(long offset, boolean discard, int flags) {
            return ring.finish(Words.Whole.ALL, offset, discard, flags);
        }
    }

    /** PURE: through the ring's own segment. */
    static final class Segment extends RingAccess {
        private final Ring ring;
        private final MemorySegment memory;
        private final Lock lock;

        Segment(Ring ring, MemorySegment memory, Lock lock) {
            this.ring = ring;
            this.memory = memory;
            this.lock = lock;
        }

        @Override
        long reserve(int bytes) {
            try {
                lock.lock();
            } catch (DeadlockException e) {
                return -Layouts.EDEADLK;
            } catch (LockTimeoutException e) {
                return -Layouts.ETIMEDOUT;
            }
            try {
                return ring.reserve(memory, bytes);
            } finally {
                lock.unlock();
            }
        }

        @Override
        int finish(long offset, boolean discard, int flags) {
            return ring.finish(memory, offset, discard, flags);
        }
    }

    /** Whose slot goes along with a call that waits in C for a lock that only C knows. */
    static final class Caller {
        private final LockDomain domain;
        private final boolean own; // the thread's own; else the domain's, for a lock that has no owners

        Caller(LockDomain domain, boolean own) {
            this.domain = domain;
            this.own = own;
        }

        /** A slot until {@link #exit}: its number, or a negative errno value. */
        int enter() {
            return own ? domain.current().enter() : 0;
        }

        MemorySegment segment(int slot) {
            return own ? domain.current().segment(slot) : domain.service();
        }

        void exit(int slot) {
            if (own) {
                domain.current().exit(slot);
            }
        }
    }

    /** HYBRID with a lock that only C knows: that part is a call. */
    static final class NativeLock extends RingAccess {
        private final MemorySegment handle;
        private final Caller caller;
        private final Ring ring;

        NativeLock(MemorySegment handle, Caller caller, Ring ring) {
            this.handle = handle;
            this.caller = caller;
            this.ring = ring;
        }

        @Override
        long reserve(int bytes) {
            int slot = caller.enter();
            if (slot < 0) {
                return slot;
            }
            try {
                return panalock_h.pl_ring_reserve_at(caller.segment(slot), handle, bytes);
            } finally {
                caller.exit(slot);
            }
        }

        @Override
        int finish(long offset, boolean discard, int flags) {
            return ring.finish(Words.Whole.ALL, offset, discard, flags);
        }
    }

    /**
     * Over native code. A lock that is free is taken inside the call; one that is not is waited for in the way of the lock's
     * own backend, so that virtual threads leave their carriers.
     */
    abstract static class OverNative extends RingAccess {
        private final Lock lock; // null: only C knows it, and waits
        private final boolean ownLock; // the run-time's: C cannot take it
        private final Caller caller; // for C to wait

        OverNative(Lock lock, boolean ownLock, Caller caller) {
            this.lock = lock;
            this.ownLock = ownLock;
            this.caller = caller;
        }

        abstract long tryReserve(int bytes);

        abstract long reserve(MemorySegment self, int bytes);

        abstract long reserveLocked(int bytes);

        private long reserveInC(int bytes) {
            int slot = caller.enter();
            if (slot < 0) {
                return slot;
            }
            try {
                return reserve(caller.segment(slot), bytes);
            } finally {
                caller.exit(slot);
            }
        }

        @Override
        final long reserve(int bytes) {
            if (lock == null) {
                return reserveInC(bytes);
            }
            long at = ownLock ? -Layouts.EBUSY : tryReserve(bytes);
            if (at != -Layouts.EBUSY) {
                return at;
            }
            lock.lock();
            try {
                return reserveLocked(bytes);
            } finally {
                lock.unlock();
            }
        }
    }

    static final class Ffm extends OverNative {
        private final MemorySegment handle;
        private final boolean critical;

        Ffm(MemorySegment handle, Caller caller, Lock lock, boolean ownLock, boolean critical) {
            super(lock, ownLock, caller);
            this.handle = handle;
            this.critical = critical;
        }

        @Override
        long tryReserve(int bytes) {
            return panalock_h.pl_ring_reserve_at(MemorySegment.NULL, handle, bytes);
        }

        @Override
        long reserve(MemorySegment self, int bytes) {
            return panalock_h.pl_ring_reserve_at(self, handle, bytes);
        }

        @Override
        long reserveLocked(int bytes) {
            return panalock_h.pl_ring_reserve_locked(handle, bytes);
        }

        @Override
        int finish(long offset, boolean discard, int flags) {
            return critical
                    ? Critical.ringFinish(handle, offset, discard ? 1 : 0, flags)
                    : panalock_h.pl_ring_finish(handle, offset, discard ? 1 : 0, flags);
        }
    }

    static final class OverJni extends OverNative {
        private final long handle;

        OverJni(MemorySegment handle, Caller caller, Lock lock, boolean ownLock) {
            super(lock, ownLock, caller);
            this.handle = handle.address();
        }

        @Override
        long tryReserve(int bytes) {
            return Jni.ringReserve(0, handle, bytes);
        }

        @Override
        long reserve(MemorySegment self, int bytes) {
            return Jni.ringReserve(self.address(), handle, bytes);
        }

        @Override
        long reserveLocked(int bytes) {
            return Jni.ringReserveLocked(handle, bytes);
        }

        @Override
        int finish(long offset, boolean discard, int flags) {
            return Jni.ringFinish(handle, offset, discard ? 1 : 0, flags);
        }
    }
}
