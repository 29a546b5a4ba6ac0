// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import org.HdrHistogram.Histogram;

/** One thread of a contended run: what it is told and what it reports. Used by its own thread until that has ended. */
public final class Worker {
    /** Latencies are kept to about half a per cent, as in C. */
    static final int SIGNIFICANT_DIGITS = 2;

    private final Control control;
    private final long id;
    private final int insideSteps;
    private final int insidePauses;
    private final int outsideSteps;
    private final Histogram histogram;
    private long all;
    private long counted;
    private long longestNs;
    private long sink;
    private long allocated;
    private Throwable failure;

    Worker(Control control, long id, int insideSteps, int outsideSteps, boolean latency) {
        this(control, id, insideSteps, 0, outsideSteps, latency);
    }

    Worker(Control control, long id, int insideSteps, int insidePauses, int outsideSteps, boolean latency) {
        this.control = control;
        this.id = id;
        this.insideSteps = insideSteps;
        this.insidePauses = insidePauses;
        this.outsideSteps = outsideSteps;
        this.histogram = latency ? newHistogram() : null;
    }

    static Histogram newHistogram() {
        return new Histogram(1, 1L << 40, SIGNIFICANT_DIGITS);
    }

    public Control control() {
        return control;
    }

    /** Numbered from 1. */
    public long id() {
        return id;
    }

    public int insideSteps() {
        return insideSteps;
    }

    public int insidePauses() {
        return insidePauses;
    }

    public int outsideSteps() {
        return outsideSteps;
    }

    /** Called for every timed acquisition. */
    public void record(long ns) {
        histogram.recordValue(Math.min(Math.max(ns, 1), histogram.getHighestTrackableValue()));
        if (ns > longestNs) {
            longestNs = ns;
        }
    }

    /**
     * The loop's last act.
     *
     * @param allAcquisitions since the start
     * @param inWindow those between the opening and the closing of the window
     * @param work the end of the chain of work, so that no compiler can leave it out
     */
    public void finish(long allAcquisitions, long inWindow, long work) {
        all = allAcquisitions;
        counted = inWindow;
        sink = work;
    }

    void allocated(long bytes) {
        allocated = bytes;
    }

    void failed(Throwable e) {
        failure = e;
    }

    long all() {
        return all;
    }

    long counted() {
        return counted;
    }

    long longestNs() {
        return longestNs;
    }

    long sink() {
        return sink;
    }

    long allocated() {
        return allocated;
    }

    Throwable failure() {
        return failure;
    }

    Histogram histogram() {
        return histogram;
    }
}
