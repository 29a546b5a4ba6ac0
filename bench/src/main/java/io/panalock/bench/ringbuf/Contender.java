// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf;

import io.panalock.RingLock;
import io.panalock.bench.contend.IsolatingLoader;
import io.panalock.bench.ringbuf.RingPeer.Point;
import io.panalock.bench.ringbuf.RingPeer.Samples;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** A kind of ring to be measured: who produces and consumes, and the producers' lock. */
abstract class Contender {
    /** In C, or in Java with one of the backends. */
    static final List<String> VIAS = List.of("c", "hybrid", "ffm", "ffm_critical", "jni", "pure");

    /** By the names that the published figures and other experiments use. */
    private static final Map<String, RingLock> LOCKS = locks();

    private static Map<String, RingLock> locks() {
        Map<String, RingLock> locks = new LinkedHashMap<>();
        for (RingLock lock : List.of(
                RingLock.QSPINLOCK, RingLock.RQSPINLOCK, RingLock.OSQ_MUTEX, RingLock.PTHREAD_MUTEX, RingLock.REENTRANT_LOCK)) {
            locks.put(lock.name().toLowerCase(Locale.ROOT).replace("reentrant_lock", "reentrantlock").replace('_', '-'), lock);
        }
        return locks;
    }

    private final String via;
    private final String lock;

    private Contender(String via, String lock) {
        this.via = via;
        this.lock = lock;
    }

    static List<String> lockNames() {
        return List.copyOf(LOCKS.keySet());
    }

    /** Whether such a ring exists. */
    static boolean possible(String via, String lock) {
        RingLock l = LOCKS.get(lock);
        return !(via.equals("c") && l == RingLock.REENTRANT_LOCK) && !(via.equals("pure") && l == RingLock.PTHREAD_MUTEX);
    }

    static Contender open(String via, String lock) {
        return via.equals("c") ? new InC(lock) : new InJava(via, lock);
    }

    String via() {
        return via;
    }

    String lock() {
        return lock;
    }

    /** Parameters in results, without the number of producers. */
    Map<String, Object> params() {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("lock", lock);
        params.put("side", via.equals("c") ? "c" : "java");
        if (!via.equals("c")) {
            params.put("backend", via);
        }
        return params;
    }

    /** What the C enumeration calls the lock. */
    private static int number(String lock) {
        return LOCKS.get(lock).ordinal(); // in the order of PL_RING_LOCK_*
    }

    abstract Samples measure(Point point);

    private static final class InC extends Contender {
        InC(String lock) {
            super("c", lock);
        }

        @Override
        Samples measure(Point point) {
            return RingPeer.measure(number(lock()), point);
        }
    }

    private static final class InJava extends Contender {
        private static final long WARM_UP_NS = 400_000_000;

        private final RingLoop loop;

        InJava(String via, String lock) {
            super(via, lock);
            loop = IsolatingLoader.open(
                    via + " " + lock,
                    RingLoop.class,
                    "io.panalock.bench.ringbuf.loop.RingBufferLoop",
                    via.toUpperCase(Locale.ROOT),
                    LOCKS.get(lock).name(),
                    String.valueOf(Point.RING_BYTES));
            measure(new Point(1, WARM_UP_NS, 1_000_000, 1));
            measure(new Point(3, WARM_UP_NS, 1_000_000, 1));
        }

        @Override
        Samples measure(Point point) {
            loop.reset();
            Traffic traffic = new Traffic(point.producers(), Point.BATCH);
            List<Thread> threads = new ArrayList<>();
            threads.add(start("ring-consumer", traffic, () -> RingPeer.pin(true, 0), () -> loop.consume(traffic)));
            for (int i = 0; i < point.producers(); i++) {
                int producer = i;
                traffic.started();
                threads.add(start("ring-producer-" + i, traffic, () -> RingPeer.pin(false, producer), () -> {
                    try {
                        loop.produce(traffic, producer);
                    } finally {
                        traffic.ended();
                    }
                }));
            }
            Samples samples = sample(traffic, point);
            traffic.stop();
            traffic.ended(); // the coordinator
            loop.wake();
            threads.forEach(InJava::join);
            if (traffic.failure() != null) {
                throw new IllegalStateException(via() + " " + lock() + ": " + traffic.failure(), traffic.failure());
            }
            if (!traffic.complete()) {
                throw new IllegalStateException(via() + " " + lock() + ": RECORDS WERE LOST");
            }
            return samples;
        }

        private static Samples sample(Traffic traffic, Point point) {
            long[] hits = new long[point.samples()];
            long[] drops = new long[point.samples()];
            long[] ns = new long[point.samples()];
            sleep(point.warmNs());
            long hitsBefore = traffic.hits();
            long dropsBefore = traffic.drops();
            long from = System.nanoTime();
            for (int i = 0; i < ns.length && traffic.failure() == null; i++) {
                sleep(point.sampleNs());
                long hitsNow = traffic.hits();
                long dropsNow = traffic.drops();
                long now = System.nanoTime();
                hits[i] = hitsNow - hitsBefore;
                drops[i] = dropsNow - dropsBefore;
                ns[i] = now - from;
                hitsBefore = hitsNow;
                dropsBefore = dropsNow;
                from = now;
            }
            return Samples.of(hits, drops, ns);
        }

        private static Thread start(String name, Traffic traffic, Runnable pin, Runnable task) {
            return Thread.ofPlatform().name(name).daemon().start(() -> {
                try {
                    pin.run();
                    task.run();
                } catch (RuntimeException | Error e) {
                    traffic.failed(e);
                }
            });
        }

        private static void sleep(long ns) {
            long until = System.nanoTime() + ns;
            for (long left = ns; left > 0; left = until - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }

        private static void join(Thread thread) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while a run ended", e);
            }
        }
    }
}
