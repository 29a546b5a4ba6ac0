// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waiting for what other threads are about to do; never for ever. */
final class Eventually {
    private static final long LIMIT = TimeUnit.SECONDS.toNanos(120);

    private Eventually() {}

    static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > LIMIT) {
                throw new AssertionError("never: " + what);
            }
            Thread.onSpinWait();
            Thread.yield();
        }
    }

    static void join(Thread... threads) {
        for (Thread t : threads) {
            try {
                if (!t.join(java.time.Duration.ofNanos(LIMIT))) {
                    var e = new AssertionError(t + " does not end");
                    e.setStackTrace(t.getStackTrace());
                    throw e;
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    interface Body {
        void run() throws Exception;
    }

    /** What it throws in a new thread, or null. */
    static Throwable thrownIn(Thread.Builder kind, Body body) {
        Throwable[] thrown = new Throwable[1];
        join(kind.start(() -> {
            try {
                body.run();
            } catch (Throwable e) {
                thrown[0] = e;
            }
        }));
        return thrown[0];
    }

    /**
     * In a new thread, for tests that use its slot in C: the thread that runs the tests may have slots in as many domains as C
     * keeps for a thread, and then gets none in another.
     */
    static void inNewThread(Body body) {
        Throwable thrown = thrownIn(Thread.ofPlatform(), body);
        if (thrown != null) {
            throw new AssertionError(thrown.toString(), thrown);
        }
    }

    /** The bits of a lock beside its owner: those that waiters set. */
    static int queueBits(QSpinLock lock) {
        MemorySegment word = lock.word;
        return (int) ValueLayout.JAVA_INT.varHandle().getVolatile(word, lock.layout == Layout.WIDE ? 4L : 0L);
    }

    /** Until a waiter sleeps. */
    static void asleep(QSpinLock lock) {
        until("a sleeper for " + lock, () -> (queueBits(lock) & lock.pureWord.parked()) != 0);
    }
}
