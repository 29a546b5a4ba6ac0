// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/** Threads of a test: all of them end in time, and what one throws fails the test. */
final class Crew {
    static final Duration LIMIT = Duration.ofSeconds(120);

    private final Duration limit;
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    Crew() {
        this(LIMIT);
    }

    Crew(Duration limit) {
        this.limit = limit;
    }

    interface Work {
        void run() throws Exception;
    }

    Thread start(boolean virtual, Work work) {
        Runnable body = () -> {
            try {
                work.run();
            } catch (Throwable t) {
                failure.compareAndSet(null, t);
            }
        };
        Thread t = virtual ? Thread.ofVirtual().unstarted(body) : Thread.ofPlatform().daemon().unstarted(body);
        threads.add(t);
        t.start();
        return t;
    }

    void join() throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        for (Thread t : threads) {
            if (!t.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())))) {
                throw new AssertionError(t + " is stuck at " + Arrays.toString(t.getStackTrace()), failure.get());
            }
        }
        if (failure.get() != null) {
            throw new AssertionError("a thread failed", failure.get());
        }
    }

    /** Nobody of it runs any more: the memory that it used may go. */
    boolean isDone() {
        return threads.stream().noneMatch(Thread::isAlive);
    }

    static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + LIMIT + ": " + what);
            }
            Thread.sleep(1);
        }
    }

    /** Threads that stand in the line of a key. */
    static int inLine(PureDomain d, long key) {
        int n = 0;
        long line = d.lineOf(key);
        Line.lock(d, d.memory, line);
        for (int i = Line.find(d, d.memory, line, 0, key); i != 0; i = Line.find(d, d.memory, line, i, key)) {
            n++;
        }
        Line.unlock(d, d.memory, line);
        return n;
    }

    /** A slot for the test's own use. */
    static int slot(PureDomain d) {
        int slot = Slots.register(d, 0);
        if (slot < 0) {
            throw new AssertionError("no slot: " + slot);
        }
        return slot;
    }
}
