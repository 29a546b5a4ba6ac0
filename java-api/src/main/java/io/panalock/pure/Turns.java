// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Turns for virtual threads that were chosen and do not get to run, since their carriers are busy with threads that never
 * leave them: those that take the very lock back to back, for instance, on a fast path that does not look who waits. One
 * platform thread a domain looks at the sleeping virtual threads every millisecond or so, and reserves the lock, as it
 * would have done itself, for one that it finds chosen and not running twice in a row. Then the fast path fails, and
 * whoever was on it makes room.
 *
 * <p>Invariant: the helper touches a wait, its lock and the domain's memory only while {@link Sleep#asleep}, under the
 * sleep's monitor; a waiter ends its sleep under the same monitor, so that memory is mapped until then. It reserves once a
 * sleep: a lock must not lie idle again and again for one whose carriers are busy with something else altogether.
 */
final class Turns {
    private static final long SHORTEST_NS = 1_000_000;
    private static final long LONGEST_NS = 8_000_000; // while nobody is chosen
    private static final long IDLE_NS = TimeUnit.SECONDS.toNanos(1); // without sleepers, until the thread ends

    /** A sleep as the helper sees it; guarded by its monitor. */
    static final class Sleep {
        boolean asleep;
        boolean late; // found chosen once
        boolean served; // reserved for in this sleep
    }

    private final PureDomain domain;
    private final AtomicBoolean running = new AtomicBoolean();
    private final AtomicInteger sleepers = new AtomicInteger();
    private boolean found; // a chosen one, in this round; the helper's

    Turns(PureDomain domain) {
        this.domain = domain;
    }

    /** A virtual thread's node is in its line; {@link #awake} must follow. */
    void asleep(Wait w) {
        synchronized (w.sleep) {
            w.sleep.asleep = true;
            w.sleep.late = false;
            w.sleep.served = false;
        }
        sleepers.getAndIncrement();
        if (!running.get() && running.compareAndSet(false, true)) {
            Thread.ofPlatform()
                    .daemon()
                    .inheritInheritableThreadLocals(false)
                    .name("panalock-turns")
                    .start(this::run);
        }
    }

    /** It runs again, and has the reservation if one was made for it. */
    void awake(Wait w) {
        sleepers.getAndDecrement();
        synchronized (w.sleep) {
            w.sleep.asleep = false;
        }
    }

    private void run() {
        do {
            watch();
            running.set(false);
            // A sleeper that came just now found us running: it counted itself before it looked, we look after we said no.
        } while (sleepers.get() != 0 && running.compareAndSet(false, true));
    }

    private void watch() {
        long gap = SHORTEST_NS;
        for (long idle = 0; idle < IDLE_NS; ) {
            LockSupport.parkNanos(this, gap);
            if (sleepers.get() == 0) {
                idle += gap;
                continue;
            }
            idle = 0;
            found = false;
            domain.parking.forEachWaiting(this::look);
            gap = found ? SHORTEST_NS : Math.min(2 * gap, LONGEST_NS);
        }
    }

    private void look(int number) {
        Wait w = domain.knownWait(number);
        if (w == null) {
            return;
        }
        synchronized (w.sleep) {
            Sleep s = w.sleep;
            if (!s.asleep || s.served || domain.memory.getAcquire(w.node + Shape.NODE_STATE) != Layouts.NODE_CHOSEN) {
                return;
            }
            found = true;
            if (!s.late) {
                s.late = true;
                return;
            }
            try {
                s.served = w.reserved || w.lock.reserve(); // false: another's turn first
                w.reserved = s.served;
            } catch (IllegalStateException e) {
                s.served = true; // the lock's arena is closed: the waiter will find out
            }
        }
    }
}
