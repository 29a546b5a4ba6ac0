// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;

/** What producers of a {@link RingBuffer} hold while they reserve: all of a ring's producers use the same. */
public enum RingLock {
    /** {@link QSpinLock}, WORD, in the ring's header; every backend and C code. */
    QSPINLOCK(Layouts.RING_LOCK_QSPIN),

    /** {@code pthread_mutex_t}, in a file process-shared and robust; backends over native code. Pins virtual threads' carriers. */
    PTHREAD_MUTEX(Layouts.RING_LOCK_MUTEX),

    /** {@link java.util.concurrent.locks.ReentrantLock}; producers of this JVM only, not in a file. */
    REENTRANT_LOCK(Layouts.RING_LOCK_JAVA),

    /**
     * The resilient queued spinlock, {@code pl_rqspinlock}, WORD, in the ring's header: reserving fails instead of waiting for
     * ever. Pins virtual threads' carriers while they wait for it, but in PURE.
     */
    RQSPINLOCK(Layouts.RING_LOCK_RQSPIN),

    /**
     * The kernel's mutex with its spinners' queue, {@code pl_mutex}, in the ring's header: sleeps, knows its owner. Pins
     * virtual threads' carriers while they wait for it, but in PURE.
     */
    OSQ_MUTEX(Layouts.RING_LOCK_OSQ);

    final int number;

    RingLock(int number) {
        this.number = number;
    }

    static RingLock of(int number) {
        for (RingLock lock : values()) {
            if (lock.number == number) {
                return lock;
            }
        }
        throw new IllegalStateException("the ring has a lock that this version does not know: " + number);
    }
}
