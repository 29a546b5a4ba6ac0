// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.panalock.bench.peer.BenchLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** native/bench/ringbuf.h for Java. */
public final class RingPeer {
    private static final MethodHandle RINGBUF =
            BenchLibrary.handle("plb_ringbuf", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    private static final MethodHandle CHEAP = BenchLibrary.handle("plb_cheap_syscall", FunctionDescriptor.ofVoid());
    private static final MethodHandle PIN_CONSUMER = BenchLibrary.handle("plb_ring_pin_consumer", FunctionDescriptor.of(JAVA_INT));
    private static final MethodHandle PIN_PRODUCER = BenchLibrary.handle("plb_ring_pin_producer", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final long POINT_BYTES = 4 * 4 + 3 * 8;
    private static final int EILSEQ = 84;

    private RingPeer() {}

    /** What producers do between two batches. */
    public static void cheapSystemCall() {
        try {
            CHEAP.invokeExact();
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** The calling thread gets the consumer's CPU, or one of the producers'. */
    static void pin(boolean consumer, int producer) {
        try {
            int result = consumer ? (int) PIN_CONSUMER.invokeExact() : (int) PIN_PRODUCER.invokeExact(producer);
            if (result != 0) {
                throw new IllegalStateException("cannot choose a CPU: error " + -result);
            }
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    static Samples measure(int lock, Point p) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment point = arena.allocate(POINT_BYTES, 8);
            int[] words = {lock, p.producers(), Point.BATCH, p.samples()};
            for (int i = 0; i < words.length; i++) {
                point.setAtIndex(JAVA_INT, i, words[i]);
            }
            point.set(JAVA_LONG, 16, Point.RING_BYTES);
            point.set(JAVA_LONG, 24, p.warmNs());
            point.set(JAVA_LONG, 32, p.sampleNs());
            MemorySegment hits = arena.allocate(JAVA_LONG, p.samples());
            MemorySegment drops = arena.allocate(JAVA_LONG, p.samples());
            MemorySegment ns = arena.allocate(JAVA_LONG, p.samples());
            int result = (int) RINGBUF.invokeExact(point, hits, drops, ns);
            if (result == -EILSEQ) {
                throw new IllegalStateException("A RECORD WAS LOST OR DAMAGED with " + p.producers() + " producers in C");
            }
            if (result != 0) {
                throw new IllegalStateException("plb_ringbuf: error " + -result);
            }
            return Samples.of(hits.toArray(JAVA_LONG), drops.toArray(JAVA_LONG), ns.toArray(JAVA_LONG));
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /**
     * How one point is measured.
     *
     * @param producers how many threads produce
     * @param warmNs before the first sample
     * @param sampleNs length of a sample
     * @param samples how many
     */
    record Point(int producers, long warmNs, long sampleNs, int samples) {
        static final int BATCH = 50;
        static final long RING_BYTES = 512 * 1024;
    }

    /** Millions of records a second, by sample: those that the consumer saw, and those refused for want of room. */
    record Samples(double[] hits, double[] drops) {
        private static final double PER_US = 1e3; // records / ns × 1000 = M/s

        static Samples of(long[] hits, long[] drops, long[] ns) {
            double[] h = new double[ns.length];
            double[] d = new double[ns.length];
            for (int i = 0; i < ns.length; i++) {
                h[i] = PER_US * hits[i] / ns[i];
                d[i] = PER_US * drops[i] / ns[i];
            }
            return new Samples(h, d);
        }
    }
}
