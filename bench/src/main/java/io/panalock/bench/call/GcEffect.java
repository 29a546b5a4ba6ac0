// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.call;

import io.panalock.bench.peer.FfmCalls;
import io.panalock.bench.peer.JniCalls;
import io.panalock.bench.result.Recorder;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;

/**
 * Calls and the collector: what a call costs while another thread collects garbage all the time, and how long the JVM
 * waits for a safepoint while a call waits.
 */
public final class GcEffect {
    /** How long the call waits that others wait for. */
    public static final int WAIT_MS = 20;

    private static final int BATCH = 2_000;
    private static final int GARBAGE = 1 << 16;
    private static final long NS_PER_MS = 1_000_000;
    private static final long WARM_UP_NS = 150 * NS_PER_MS;
    private static final double MS = 1e-6;

    private static final int[] ARRAY = new int[1024];
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Every loop has its own method, so that the JIT compiler sees one call in each. */
    private static final Map<String, IntConsumer> LOOPS = new LinkedHashMap<>();

    private static final Map<String, LongConsumer> WAITS = new LinkedHashMap<>();

    static {
        LOOPS.put("blank jni", GcEffect::blankJni);
        LOOPS.put("blank ffm", GcEffect::blankFfm);
        LOOPS.put("blank critical", GcEffect::blankCritical);
        LOOPS.put("array1024 jni", GcEffect::arrayJni);
        LOOPS.put("array1024 ffm", GcEffect::arrayFfm);
        LOOPS.put("array1024 critical", GcEffect::arrayCritical);
        WAITS.put("nothing", LockSupport::parkNanos);
        WAITS.put("jni", JniCalls::sleep);
        WAITS.put("ffm", FfmCalls::sleep);
        WAITS.put("critical", FfmCalls::sleepCritical);
    }

    private final Recorder recorder;
    private final long windowNs;
    private int sink;

    public GcEffect(Recorder recorder, int windowMs) {
        this.recorder = recorder;
        this.windowNs = windowMs * NS_PER_MS;
    }

    /** One repeat of everything. */
    public void measure() {
        LOOPS.forEach((name, loop) -> {
            timed(loop, WARM_UP_NS);
            record(name, "idle", timed(loop, windowNs));
            record(name, "busy", whileCollecting(loop));
        });
        WAITS.forEach((via, wait) -> recorder.record(
                "call-safepoint", Map.of("via", via, "wait_ms", WAIT_MS), "safepoint", "ms", safepointWhile(wait) * MS));
    }

    private void record(String name, String collector, double ns) {
        String[] parts = name.split(" ");
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("target", parts[0]);
        params.put("via", parts[1]);
        params.put("collector", collector);
        recorder.record("call-gc", params, "time", "ns/call", ns);
    }

    /** Nanoseconds per call over the window, pauses included. */
    private static double timed(IntConsumer loop, long windowNs) {
        long calls = 0;
        long from = System.nanoTime();
        long now;
        do {
            loop.accept(BATCH);
            calls += BATCH;
            now = System.nanoTime();
        } while (now - from < windowNs);
        return (double) (now - from) / calls;
    }

    private double whileCollecting(IntConsumer loop) {
        AtomicBoolean over = new AtomicBoolean();
        CountDownLatch begun = new CountDownLatch(1);
        Thread collector = Thread.ofPlatform().daemon().name("collecting").start(() -> {
            while (!over.get()) {
                sink += new byte[GARBAGE].length;
                System.gc();
                begun.countDown();
            }
        });
        await(begun);
        try {
            return timed(loop, windowNs);
        } finally {
            over.set(true);
            join(collector);
        }
    }

    /** How long an operation takes that stops all Java threads, while one of them waits in a call. */
    static long safepointWhile(LongConsumer wait) {
        CountDownLatch begun = new CountDownLatch(1);
        Thread waiting = Thread.ofPlatform().daemon().name("waiting").start(() -> {
            wait.accept(1); // binds the call
            begun.countDown();
            wait.accept(WAIT_MS * NS_PER_MS);
        });
        await(begun);
        LockSupport.parkNanos(2 * NS_PER_MS); // it is in the call now
        long from = System.nanoTime();
        THREADS.findDeadlockedThreads();
        long took = System.nanoTime() - from;
        join(waiting);
        return took;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static IllegalStateException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new IllegalStateException("interrupted while measuring", e);
    }

    private static void blankJni(int calls) {
        for (int i = 0; i < calls; i++) {
            JniCalls.blank();
        }
    }

    private static void blankFfm(int calls) {
        for (int i = 0; i < calls; i++) {
            FfmCalls.blank();
        }
    }

    private static void blankCritical(int calls) {
        for (int i = 0; i < calls; i++) {
            FfmCalls.blankCritical();
        }
    }

    private static void arrayJni(int calls) {
        for (int i = 0; i < calls; i++) {
            JniCalls.arrayCritical(ARRAY, ARRAY.length);
        }
    }

    private static void arrayFfm(int calls) {
        for (int i = 0; i < calls; i++) {
            FfmCalls.arrayCopy(ARRAY);
        }
    }

    private static void arrayCritical(int calls) {
        for (int i = 0; i < calls; i++) {
            FfmCalls.arrayCritical(ARRAY);
        }
    }
}
