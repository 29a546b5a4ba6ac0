// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets a few virtual threads at a time wait in a lock's line, and the others wait for that, first come first served. So the
 * slots that virtual threads borrow are bounded by the number of contended locks, not by the number of threads.
 */
final class Admission {
    private static final int PLACES = 16;

    private static final class Waiter {
        final Thread thread = Thread.currentThread();
        volatile boolean admitted;
    }

    private int free = PLACES; // both guarded by this; free > 0 only if the queue is empty
    private final ArrayDeque<Waiter> queue = new ArrayDeque<>();

    /** 0 (the caller must {@link #exit}), {@code -ETIMEDOUT}, or, interruptible only, {@code -EINTR}. */
    int enter(boolean interruptible, long nanos) {
        Waiter w;
        synchronized (this) {
            if (free > 0) {
                free--;
                return 0;
            }
            w = new Waiter();
            queue.add(w);
        }
        long start = System.nanoTime();
        boolean interrupted = false;
        int result = 0;
        while (!w.admitted && result == 0) {
            long left = nanos - (System.nanoTime() - start);
            if (nanos < 0) {
                LockSupport.park(this);
            } else if (left > 0) {
                LockSupport.parkNanos(this, left);
            } else {
                result = -Layouts.ETIMEDOUT;
            }
            if (Thread.interrupted()) {
                interrupted = true;
                if (interruptible) {
                    result = -Layouts.EINTR;
                }
            }
        }
        if (result != 0) {
            leave(w);
        }
        if (interrupted && result != -Layouts.EINTR) {
            w.thread.interrupt();
        }
        return result;
    }

    void exit() {
        Waiter next;
        synchronized (this) {
            next = queue.poll();
            if (next == null) {
                free++;
                return;
            }
            next.admitted = true;
        }
        LockSupport.unpark(next.thread);
    }

    private void leave(Waiter w) {
        synchronized (this) {
            if (!w.admitted) {
                queue.remove(w);
                return;
            }
        }
        exit(); // admitted just now: pass it on
    }
}
