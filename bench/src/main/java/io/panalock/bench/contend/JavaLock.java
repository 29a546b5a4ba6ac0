// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import com.sun.management.ThreadMXBean;
import io.panalock.bench.peer.BenchLibrary;
import io.panalock.bench.peer.CPeers;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * A lock whose loop runs in Java, with its own copy of the loop's classes. Two objects of this class never share
 * compiled code, not even for the same lock; so uncontended and contended measurements take one each.
 */
public final class JavaLock implements Lock {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();
    private static final long WARM_UP_NS = 150_000_000;
    private static final long LONGEST_WARM_UP_NS = 2_000_000_000;
    private static final double NO_FASTER = 0.9;
    private static final int WARM_UP_PASSES = 3;
    private static final int[] WARM_UP_THREADS = {2, 5, 16};

    private final String id;
    private final Map<String, Object> params;
    private final LockLoop loop;
    private final double planted;
    private double stepNs;

    /**
     * @param id as in {@link Lock#id}
     * @param params as in {@link Lock#params}, without side
     * @param loopClass simple name of a class in io.panalock.bench.loop
     * @param arguments for its constructor
     */
    public JavaLock(String id, Map<String, Object> params, String loopClass, String... arguments) {
        this.id = id;
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("side", "java");
        all.putAll(params);
        this.params = all;
        this.planted = Planted.factor(all);
        this.loop = IsolatingLoader.open(id, LockLoop.class, "io.panalock.bench.loop." + loopClass, arguments);
    }

    LockLoop loop() {
        return loop;
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Map<String, Object> params() {
        return params;
    }

    /** A twentieth first, untimed, as in C: caches and branch predictors were somebody else's since the last time. */
    @Override
    public long pairs(int pairs) {
        loop.pairs(pairs / 20 + 1);
        int done = (int) Math.round(pairs * planted);
        long from = System.nanoTime();
        loop.pairs(done);
        return System.nanoTime() - from;
    }

    @Override
    public long allocatedByPairs(int pairs) {
        long from = THREADS.getCurrentThreadAllocatedBytes();
        loop.pairs(pairs);
        return THREADS.getCurrentThreadAllocatedBytes() - from;
    }

    @Override
    public void calibrate() {
        stepNs = loop.stepNs();
    }

    private int steps(int ns) {
        if (ns > 0 && !(stepNs > 0)) {
            calibrate();
        }
        return ns == 0 ? 0 : (int) Math.round(ns / stepNs);
    }

    /**
     * Until the compiler has been silent for {@link #WARM_UP_NS} and the loop has not become faster meanwhile. A time alone
     * does not do: beside other programs the compiler may be late by half a second.
     */
    @Override
    public void warmUp() {
        long from = System.nanoTime();
        long settledAt = from;
        long compiled = COMPILER.getTotalCompilationTime();
        double best = Double.POSITIVE_INFINITY;
        for (long now = from; now - settledAt < WARM_UP_NS && now - from < LONGEST_WARM_UP_NS; now = System.nanoTime()) {
            double ns = pairs(1000);
            long compiledNow = COMPILER.getTotalCompilationTime();
            if (ns < best * NO_FASTER || compiledNow != compiled) {
                settledAt = System.nanoTime();
            }
            best = Math.min(best, ns);
            compiled = compiledNow;
        }
    }

    /**
     * The same for the contended loops: many short runs, so that they are compiled as a whole, not on stack, and with
     * enough threads that the paths for waiting and waking have been taken. Code that the compiler thinks is never
     * reached is compiled anew when it is, and with every CPU busy that takes longer than a window.
     */
    public void warmUpContended() {
        calibrate();
        for (int pass = 0; pass < WARM_UP_PASSES; pass++) {
            for (ContendedPoint.Mode mode : ContendedPoint.Mode.values()) {
                for (int threads : WARM_UP_THREADS) {
                    contend(new ContendedPoint(threads, 0, 0, mode), 1_000_000, 15_000_000);
                    contend(new ContendedPoint(threads, 100, 200, mode), 1_000_000, 10_000_000);
                }
            }
        }
    }

    @Override
    public Outcome contend(ContendedPoint point, long warmNs, long windowNs) {
        Control control = new Control();
        int inside = steps((int) Math.round(point.insideNs() * planted));
        int pauses = (int) Math.round(point.insidePauses() * planted);
        int outside = steps(point.outsideNs());
        loop.reset();

        List<Worker> workers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        CountDownLatch gate = new CountDownLatch(1);
        AtomicInteger arrived = new AtomicInteger();
        for (int i = 1; i <= point.threads(); i++) {
            Worker worker = new Worker(control, i, inside, pauses, outside, point.latency());
            workers.add(worker);
            threads.add(Thread.ofPlatform().name("bench-" + i).daemon().start(() -> run(worker, point, gate, arrived)));
        }
        gate.countDown();
        do {
            sleep(Math.max(warmNs, 100_000));
        } while (arrived.get() < point.threads());
        CPeers.Switches before = switches();
        control.enter(Control.MEASURE);
        long from = System.nanoTime();
        sleep(windowNs);
        long measuredNs = System.nanoTime() - from;
        control.enter(Control.STOP);
        CPeers.Switches after = switches();
        threads.forEach(JavaLock::join);
        return outcome(workers, measuredNs, point.latency(), before, after);
    }

    private void run(Worker worker, ContendedPoint point, CountDownLatch gate, AtomicInteger arrived) {
        try {
            if (point.pinned()) {
                CPeers.pinSelf(worker.id() - 1);
            }
            gate.await();
            arrived.incrementAndGet();
            long before = THREADS.getCurrentThreadAllocatedBytes();
            if (point.latency()) {
                loop.latency(worker);
            } else {
                loop.throughput(worker);
            }
            worker.allocated(THREADS.getCurrentThreadAllocatedBytes() - before);
        } catch (InterruptedException | RuntimeException | Error e) {
            worker.failed(e);
        }
    }

    private static CPeers.Switches switches() {
        return BenchLibrary.available() ? CPeers.switches() : new CPeers.Switches(0, 0);
    }

    private Outcome outcome(
            List<Worker> workers, long windowNs, boolean latency, CPeers.Switches before, CPeers.Switches after) {
        for (Worker worker : workers) {
            if (worker.failure() != null) {
                throw new IllegalStateException(id + ": a thread failed: " + worker.failure(), worker.failure());
            }
        }
        long all = workers.stream().mapToLong(Worker::all).sum();
        if (loop.protectedCount() != all) {
            throw new IllegalStateException(id + ": THE LOCK DID NOT EXCLUDE: the protected counter is "
                    + loop.protectedCount() + " after " + all + " acquisitions");
        }
        Optional<Histogram> latencies = Optional.empty();
        if (latency) {
            Histogram merged = Worker.newHistogram();
            workers.forEach(w -> merged.add(w.histogram()));
            latencies = Optional.of(merged);
        }
        return new Outcome(
                windowNs,
                workers.stream().mapToLong(Worker::counted).toArray(),
                all,
                loop.handovers(),
                workers.stream().mapToLong(Worker::longestNs).max().orElse(0),
                latencies,
                workers.stream().mapToLong(Worker::allocated).sum(),
                after.voluntary() - before.voluntary(),
                after.involuntary() - before.involuntary());
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

    @Override
    public String toString() {
        return id + Arrays.asList(params.values());
    }
}
