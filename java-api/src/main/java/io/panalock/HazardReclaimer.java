// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.pure.Hazards;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Reclaims what was retired: one daemon thread for the JVM, started when first needed, ended when there has been nothing to
 * do for a while. It fences once for everything that came in meanwhile, and looks at the slots of each domain once for all
 * that nobody is in the way of; what somebody is in the way of keeps its own notes of whom it still waits for.
 */
final class HazardReclaimer {
    static final int BACKLOG = 4096;
    private static final int BATCH = 64;
    private static final long DELAY_NANOS = 1_000_000;
    private static final long FIRST_NAP_NANOS = 50_000;
    private static final long LONGEST_NAP_NANOS = 2_000_000;
    private static final long ORPHANS_AFTER_NANOS = 10_000_000;
    private static final long IDLE_NANOS = 1_000_000_000;

    private static final class Item {
        final HazardDomain hazards;
        final Hazards.Wait wait;
        final Runnable reclaim;
        long number; // in the order of retiring, from 1

        Item(HazardDomain hazards, long name, Runnable reclaim) {
            this.hazards = hazards;
            this.wait = new Hazards.Wait(name);
            this.reclaim = reclaim;
        }
    }

    /** Guards all that follows; not held while something is reclaimed. */
    private static final ReentrantLock LOCK = new ReentrantLock();

    private static final Condition COME_IN = LOCK.newCondition();
    private static final Condition DONE = LOCK.newCondition();
    private static ArrayDeque<Item> incoming = new ArrayDeque<>();
    private static int backlog; // everything that is not reclaimed yet
    private static long retired; // so many in all
    private static long finished; // the first so many are reclaimed
    private static int draining;
    private static Thread thread;

    private HazardReclaimer() {}

    static boolean isReclaimer() {
        return Thread.currentThread() == thread;
    }

    static void retire(HazardDomain h, long name, Runnable reclaim) {
        LOCK.lock();
        try {
            while (backlog >= BACKLOG && !isReclaimer()) {
                if (h.insideGuard()) {
                    throw new IllegalStateException("as many objects as may wait to be reclaimed (" + BACKLOG
                            + ") do, and this thread is inside a guard that they may wait for: close it, then retire again.");
                }
                DONE.awaitUninterruptibly();
            }
            Item item = new Item(h, name, reclaim);
            item.number = ++retired;
            incoming.add(item);
            backlog++;
            if (thread == null) {
                thread = Thread.ofPlatform()
                        .daemon()
                        .inheritInheritableThreadLocals(false)
                        .name("panalock-reclaimer")
                        .unstarted(HazardReclaimer::run);
                thread.start();
            } else if (backlog == 1 || backlog == BATCH) {
                COME_IN.signal();
            }
        } finally {
            LOCK.unlock();
        }
    }

    static void drain() {
        LOCK.lock();
        try {
            long last = retired;
            draining++;
            COME_IN.signal();
            while (finished < last) {
                DONE.awaitUninterruptibly();
            }
            draining--;
        } finally {
            LOCK.unlock();
        }
    }

    private static void run() {
        List<Item> waiting = new ArrayList<>();
        long nap = FIRST_NAP_NANOS;
        long orphans = 0;
        while (true) {
            ArrayDeque<Item> fresh = takeIncoming(waiting.isEmpty());
            if (fresh == null) {
                return;
            }
            boolean look = !waiting.isEmpty() && System.nanoTime() - orphans >= 0;
            if (waiting.isEmpty() || look) {
                orphans = System.nanoTime() + ORPHANS_AFTER_NANOS;
            }
            int before = waiting.size() + fresh.size();
            waiting.removeIf(item -> passes(item, look) && reclaim(item));
            reclaimFree(fresh, waiting);
            nap = waiting.size() < before ? FIRST_NAP_NANOS : Math.min(nap * 2, LONGEST_NAP_NANOS);
            finish(before - waiting.size(), waiting);
            if (!waiting.isEmpty()) {
                LockSupport.parkNanos(HazardReclaimer.class, nap);
            }
        }
    }

    /** What came in; waits for it, and then a moment for more, unless something waits already. Null: the thread may end. */
    private static ArrayDeque<Item> takeIncoming(boolean mayWait) {
        LOCK.lock();
        try {
            long left = IDLE_NANOS;
            while (mayWait && incoming.isEmpty()) {
                if (left <= 0) {
                    thread = null;
                    return null;
                }
                left = await(left);
            }
            left = DELAY_NANOS;
            while (mayWait && incoming.size() < BATCH && draining == 0 && left > 0) {
                left = await(left);
            }
            ArrayDeque<Item> taken = incoming;
            incoming = new ArrayDeque<>();
            return taken;
        } finally {
            LOCK.unlock();
        }
    }

    private static long await(long nanos) {
        try {
            return COME_IN.awaitNanos(nanos);
        } catch (InterruptedException e) {
            return nanos; // nobody has a reason to interrupt this thread
        }
    }

    private static void finish(int count, List<Item> stillWaiting) {
        LOCK.lock();
        try {
            backlog -= count;
            finished = retired - incoming.size();
            for (Item item : stillWaiting) {
                finished = Math.min(finished, item.number - 1);
            }
            DONE.signalAll();
        } finally {
            LOCK.unlock();
        }
    }

    /** Reclaims in order what nobody is in the way of; the rest goes to the list. */
    private static void reclaimFree(ArrayDeque<Item> fresh, List<Item> waiting) {
        Map<LockDomain, Hazards.Snapshot> seen = new HashMap<>();
        for (Item item : fresh) { // all of them were retired before the fence
            seen.computeIfAbsent(item.hazards.domain(), d -> {
                Hazards.heavyFence(d.pure());
                return Hazards.snapshot(d.pure());
            });
        }
        for (Item item : fresh) {
            if (seen.get(item.hazards.domain()).isFree(item.wait.name()) || passes(item, false)) {
                reclaim(item);
            } else {
                waiting.add(item);
            }
        }
    }

    private static boolean passes(Item item, boolean orphans) {
        return Hazards.look(item.hazards.domain().pure(), item.wait, orphans);
    }

    private static boolean reclaim(Item item) {
        try {
            item.reclaim.run();
        } catch (Throwable e) { // this thread reclaims for everybody
            System.getLogger("io.panalock").log(System.Logger.Level.ERROR, "a reclaimer failed", e);
        }
        return true;
    }
}
