// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_domain;
import io.panalock.internal.ffm.pl_node;
import io.panalock.internal.ffm.pl_thread;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Wakes threads that are parked in Java on behalf of those who cannot unpark them: C code and other processes. These change
 * the waiter's node and ring the doorbell, a futex in the domain; one daemon thread sleeps on it, and unparks everybody
 * whose node has changed. The thread starts when the first waiter parks and ends when none has for a while.
 */
public final class Doorbell {
    private static final long SLEEP_NANOS = 1_000_000_000;

    private final WeakReference<Object> owner; // whose being reachable keeps the domain mapped
    private final Parking parking;
    private final long bell;
    private final long nodes; // address of slot 0's first node
    private final int futexFlags;
    private final AtomicBoolean running = new AtomicBoolean();

    private Doorbell(Object owner, MemorySegment domain, Parking parking) {
        this.owner = new WeakReference<>(owner);
        this.parking = parking;
        bell = panalock_h.pl_domain_doorbell(domain).address();
        nodes = domain.address() + pl_domain.slots_offset(domain) + pl_thread.nodes$offset();
        futexFlags = (pl_domain.flags(domain) & Layouts.DOMAIN_SHARED) != 0 ? 1 : 0;
    }

    /** Has the thread started whenever a domain's first waiter registers; {@code owner} keeps the domain mapped. */
    public static void install(Object owner, MemorySegment domain, Parking parking) {
        parking.onFirstWaiter(new Doorbell(owner, domain, parking)::start);
    }

    private void start() {
        if (!running.get() && running.compareAndSet(false, true)) {
            Thread.ofPlatform()
                    .daemon()
                    .inheritInheritableThreadLocals(false)
                    .name("panalock-doorbell")
                    .start(this::run);
        }
    }

    private void run() {
        do {
            while (listen()) {}
            running.set(false);
            // A waiter that came just now found us running: it counted itself before it looked, we look after we said no.
        } while (parking.needed() && running.compareAndSet(false, true));
    }

    /** One sleep. False when nobody needs us. */
    private boolean listen() {
        Object mapped = owner.get();
        if (mapped == null) {
            return false;
        }
        int rung = (int) Words.INT.getAcquire(Words.Whole.ALL, bell); // pairs with the ringer's increment
        parking.forEachWaiting(this::unparkIfChanged);
        int result = panalock_h.pl_futex_wait(MemorySegment.ofAddress(bell), rung, SLEEP_NANOS, futexFlags);
        Reference.reachabilityFence(mapped);
        return result != -Layouts.ETIMEDOUT || parking.needed();
    }

    private void unparkIfChanged(int number) {
        long node = nodes
                + number / Layouts.NESTING * pl_thread.sizeof()
                + number % Layouts.NESTING * pl_node.sizeof();
        int state = (int) Words.INT.getAcquire(Words.Whole.ALL, node + pl_node.state$offset());
        if (state == Layouts.NODE_CHOSEN || state == Layouts.NODE_REARM || state == Layouts.NODE_INTERRUPTED) {
            parking.unpark(number);
        }
    }
}
