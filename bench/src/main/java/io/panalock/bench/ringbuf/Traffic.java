// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;

/** One run of producers and a consumer: when it stops, and what each has counted. */
public final class Traffic {
    private static final VarHandle COUNTS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int APART = 16; // longs: two cache lines

    private final int producers;
    private final int batch;
    private final long[] counts; // hits, then drops by producer, on lines of their own
    private final long[] made;
    private final long[] seen;
    private final AtomicInteger running = new AtomicInteger(1);
    private volatile boolean stop;
    private volatile Throwable failure;

    Traffic(int producers, int batch) {
        this.producers = producers;
        this.batch = batch;
        counts = new long[(producers + 2) * APART];
        made = new long[producers];
        seen = new long[producers];
    }

    public int producers() {
        return producers;
    }

    /** Records between two system calls. */
    public int batch() {
        return batch;
    }

    public boolean stopped() {
        return stop;
    }

    void stop() {
        stop = true;
    }

    /** Before a producer starts; the coordinator counts as one. */
    void started() {
        running.incrementAndGet();
    }

    public void ended() {
        running.decrementAndGet();
    }

    public boolean allEnded() {
        return running.get() == 0;
    }

    public void failed(Throwable e) {
        failure = e;
        stop = true;
    }

    Throwable failure() {
        return failure;
    }

    public void dropped(int producer, long drops) {
        COUNTS.setOpaque(counts, (producer + 1) * APART, drops);
    }

    public void consumed(long hits) {
        COUNTS.setOpaque(counts, 0, hits);
    }

    long hits() {
        return (long) COUNTS.getOpaque(counts, 0);
    }

    long drops() {
        long sum = 0;
        for (int i = 1; i <= producers; i++) {
            sum += (long) COUNTS.getOpaque(counts, i * APART);
        }
        return sum;
    }

    /** How many records a producer has committed. */
    public void made(int producer, long records) {
        made[producer] = records;
    }

    /** The consumer's: how many records of each producer it has seen. */
    public long[] seen() {
        return seen;
    }

    /** Every record counted as produced has arrived. */
    boolean complete() {
        return java.util.Arrays.equals(made, seen);
    }
}
