// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.DeadlockException;
import io.panalock.RqSpinLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** How long it takes until a deadlock or a passed limit is noticed: metric {@code p99}, milliseconds. */
final class RqspinlockPoints {
    private static final double NS_PER_MS = 1e6;
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration LIMIT = Duration.ofMillis(20);

    private RqspinlockPoints() {}

    enum Kind {
        OWN_LOCK(2000),
        TWO_THREADS(100),
        FIVE_THREADS(100),
        LIMIT(20);

        final int samples;

        Kind(int samples) {
            this.samples = samples;
        }
    }

    record Noticed(Kind kind) implements Point.Whole {
        @Override
        public String batch() {
            return "deadlocks and limits";
        }

        @Override
        public Map<String, Object> params() {
            return Map.of("noticed", kind.name().toLowerCase(Locale.ROOT).replace('_', '-'));
        }

        @Override
        public String unit(String metric) {
            return "ms";
        }

        @Override
        public Map<String, Double> measure(Bench bench) {
            long[] ns = new long[kind.samples];
            try {
                for (int i = 0; i < kind.samples; i++) {
                    ns[i] = switch (kind) {
                        case OWN_LOCK -> ownLock();
                        case TWO_THREADS -> circle(2);
                        case FIVE_THREADS -> circle(5);
                        case LIMIT -> limit();
                    };
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
            Arrays.sort(ns);
            return Map.of("p99", ns[Math.max(0, (int) Math.ceil(ns.length * 0.99) - 1)] / NS_PER_MS);
        }
    }

    private static final RqSpinLock OWN = RqSpinLock.allocate("own");

    private static long ownLock() {
        OWN.lock();
        long from = System.nanoTime();
        try {
            OWN.lock();
            throw new IllegalStateException("a thread got its own lock twice");
        } catch (DeadlockException e) {
            return System.nanoTime() - from;
        } finally {
            OWN.unlock();
        }
    }

    /** From the last call to wait, which closes the circle, to the exception, whoever gets it. */
    private static long circle(int length) throws InterruptedException {
        List<RqSpinLock> locks = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            locks.add(RqSpinLock.allocate("lock " + i));
        }
        CountDownLatch holding = new CountDownLatch(length);
        AtomicLong last = new AtomicLong(Long.MIN_VALUE);
        AtomicLong told = new AtomicLong();
        AtomicInteger victims = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            RqSpinLock mine = locks.get(i);
            RqSpinLock next = locks.get((i + 1) % length);
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                try (var _ = mine.acquire()) {
                    holding.countDown();
                    holding.await();
                    last.accumulateAndGet(System.nanoTime(), Math::max);
                    if (next.tryLock(LONG)) {
                        next.unlock();
                    }
                } catch (DeadlockException e) {
                    told.set(System.nanoTime());
                    victims.incrementAndGet();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }));
        }
        for (Thread t : threads) {
            t.join();
        }
        if (victims.get() != 1) {
            throw new IllegalStateException("a circle of " + length + " threads had " + victims + " victims");
        }
        return Math.max(0, told.get() - last.get());
    }

    private static long limit() throws InterruptedException {
        RqSpinLock lock = RqSpinLock.allocate("limit");
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        Thread holder = Thread.ofPlatform().daemon().start(() -> {
            try (var _ = lock.acquire()) {
                held.countDown();
                done.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        held.await();
        long from = System.nanoTime();
        boolean got = lock.tryLock(LIMIT);
        long took = System.nanoTime() - from;
        done.countDown();
        holder.join();
        if (got) {
            throw new IllegalStateException("a held lock was acquired");
        }
        return took - LIMIT.toNanos();
    }
}
