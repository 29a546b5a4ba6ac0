// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * Which Java thread is parked on which node of a domain. One per domain and class loader.
 *
 * <p>A waiter registers before it sets its node to {@code PL_NODE_PARKED} and unregisters after it has left the line;
 * whoever takes the node out of {@code PARKED} then either unparks it here or, when it is no Java thread of this process,
 * rings the doorbell, whose thread calls {@link #forEachWaiting}. A spurious unpark is harmless: waiters look at their
 * node's state.
 *
 * <p>Lock-free; no allocation per wait.
 */
public final class Parking {
    private static final ConcurrentHashMap<Long, Parking> BY_DOMAIN = new ConcurrentHashMap<>();

    private final AtomicReferenceArray<Thread> threads;
    private final AtomicLongArray waiting; // one bit a node, so that the doorbell's thread need not look at them all
    private final AtomicInteger count = new AtomicInteger();
    private volatile Runnable firstWaiter;

    /**
     * For domains that only this class loader knows (pure ones).
     *
     * @param slots thread slots of the domain
     */
    public Parking(int slots) {
        int nodes = slots * Layouts.NESTING;
        threads = new AtomicReferenceArray<>(nodes);
        waiting = new AtomicLongArray((nodes + Long.SIZE - 1) / Long.SIZE);
    }

    /**
     * The one of a native domain, made on first use.
     *
     * @param domainAddress where the domain is mapped
     * @param slots thread slots of the domain
     */
    public static Parking of(long domainAddress, int slots) {
        return BY_DOMAIN.computeIfAbsent(domainAddress, a -> new Parking(slots));
    }

    /** As {@link #of(long, int)} for a domain that has been seen before; null if it has not. */
    public static Parking of(long domainAddress) {
        return BY_DOMAIN.get(domainAddress);
    }

    /** The domain is being unmapped. */
    public static void forget(long domainAddress) {
        BY_DOMAIN.remove(domainAddress);
    }

    /** What to run when the number of waiters rises from zero: starts the doorbell's thread unless it runs. */
    void onFirstWaiter(Runnable action) {
        firstWaiter = action;
    }

    /** Call before the node's state becomes {@code PARKED}. */
    public void register(int nodeNumber, Thread thread) {
        threads.setRelease(nodeNumber, thread);
        mark(nodeNumber, true);
        if (count.getAndIncrement() == 0) {
            Runnable action = firstWaiter;
            if (action != null) {
                action.run();
            }
        }
    }

    /** Call after the node has left the line, by the thread that registered it. */
    public void unregister(int nodeNumber) {
        mark(nodeNumber, false);
        threads.setRelease(nodeNumber, null);
        count.getAndDecrement();
    }

    /** Unparks the thread registered for this node. False if there is none: it is not this class loader's. */
    public boolean unpark(int nodeNumber) {
        Thread t = threads.getAcquire(nodeNumber);
        if (t == null) {
            return false;
        }
        LockSupport.unpark(t);
        return true;
    }

    /** True while some thread is registered. */
    public boolean needed() {
        return count.get() != 0;
    }

    /** Calls back for every registered node, in no particular order. */
    public void forEachWaiting(IntConsumer action) {
        for (int i = 0; i < waiting.length(); i++) {
            for (long bits = waiting.get(i); bits != 0; bits &= bits - 1) {
                action.accept(i * Long.SIZE + Long.numberOfTrailingZeros(bits));
            }
        }
    }

    private void mark(int nodeNumber, boolean on) {
        int i = nodeNumber / Long.SIZE;
        long bit = 1L << nodeNumber;
        long seen;
        do {
            seen = waiting.get(i);
        } while (!waiting.weakCompareAndSetVolatile(i, seen, on ? seen | bit : seen & ~bit));
    }
}
