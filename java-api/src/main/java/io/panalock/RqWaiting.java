// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Jni;
import io.panalock.internal.Layouts;
import io.panalock.internal.Natives;
import io.panalock.internal.ffm.pl_deadlock;
import io.panalock.internal.ffm.pl_deadlock_wait;
import io.panalock.pure.Circle;
import io.panalock.pure.RqSpin;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** How a thread waits for a {@link RqSpinLock} that was not free: natively, or, virtual and pure ones, in Java. */
final class RqWaiting {
    private static final long SLICE_NANOS = 10_000_000; // of a native wait that can be interrupted

    private RqWaiting() {}

    /** 0 or a negative errno; -EINTR leaves the interrupt flag cleared; after -EDEADLK see {@link LockThread#circle}. */
    static int await(QSpinLock lock, LockThread self, int flags, long nanos) {
        int f = flags | (lock.policy() == WaitPolicy.SPIN ? Layouts.WAIT_SPIN : 0);
        try {
            if (lock.waitsInJava() || self.isVirtual()) {
                return inJava(lock, self, f, nanos);
            }
            int slot = self.hold();
            return slot < 0 ? slot : natively(lock, self, self.segment(slot), f, nanos);
        } finally {
            Reference.reachabilityFence(lock);
        }
    }

    /**
     * A virtual thread that holds nothing waits for admission first, without a slot: it is in nobody's way. One that holds
     * locks must be seen waiting at once, for it may close a circle.
     */
    private static int inJava(QSpinLock lock, LockThread self, int flags, long nanos) {
        long limit = nanos == Layouts.LIMITS ? RqSpin.limit(lock.pureWord) : nanos;
        if (!self.isVirtual() || self.slotIfAny() != 0) {
            int slot = self.hold();
            return slot < 0 ? slot : withSlot(lock, self, slot, flags, limit);
        }
        long start = System.nanoTime();
        Admission admission = lock.admission();
        int result = admission.enter((flags & Layouts.WAIT_INTERRUPTIBLE) != 0, limit);
        if (result != 0) {
            return result;
        }
        try {
            long left = limit < 0 ? limit : Math.max(0, limit - (System.nanoTime() - start));
            int slot = self.hold();
            return slot < 0 ? slot : withSlot(lock, self, slot, flags, left);
        } finally {
            admission.exit();
        }
    }

    private static int withSlot(QSpinLock lock, LockThread self, int slot, int flags, long nanos) {
        Circle circle = self.circle();
        int result = RqSpin.lock(lock.domain.pure(), lock.pureWord, flags, nanos, slot, circle);
        if (result != 0) {
            self.released();
        }
        return result;
    }

    private static int natively(QSpinLock lock, LockThread self, MemorySegment slot, int flags, long nanos) {
        if ((flags & Layouts.WAIT_INTERRUPTIBLE) == 0) {
            return call(lock, self, slot, flags, nanos);
        }
        // A futex wait does not notice Thread.interrupt(): wait in slices, keeping the place in line.
        long limit = nanos == Layouts.LIMITS ? RqSpin.limit(lock.pureWord) : nanos;
        long start = System.nanoTime();
        int f = flags & ~Layouts.WAIT_INTERRUPTIBLE;
        for (; ; f |= Layouts.WAIT_RESUME) {
            if (Thread.interrupted()) {
                return -Layouts.EINTR;
            }
            long left = limit - (System.nanoTime() - start);
            if (left <= 0) {
                return -Layouts.ETIMEDOUT;
            }
            int result = call(lock, self, slot, f, Math.min(left, SLICE_NANOS));
            if (result != -Layouts.ETIMEDOUT) {
                return result;
            }
        }
    }

    private static int call(QSpinLock lock, LockThread self, MemorySegment slot, int flags, long nanos) {
        MemorySegment report = self.report();
        // JNI takes addresses, which keep nothing open: where the memory could be unmapped, FFM does the waiting.
        int result = lock.backend == Backend.JNI && !lock.isCloseable()
                ? Jni.rqLockWait(slot.address(), lock.address, lock.layout.number, flags, nanos, report.address())
                : Natives.rqLockWait(slot, lock.word, lock.layout.number, flags, nanos, report);
        if (result == -Layouts.EDEADLK) {
            int n = pl_deadlock.length(report);
            int[] slots = new int[n];
            long[] keys = new long[n];
            for (int i = 0; i < n; i++) {
                slots[i] = pl_deadlock_wait.slot(pl_deadlock.waits(report, i));
                keys[i] = pl_deadlock_wait.key(pl_deadlock.waits(report, i));
            }
            self.circle().set(slots, keys);
        }
        Reference.reachabilityFence(report);
        return result;
    }
}
