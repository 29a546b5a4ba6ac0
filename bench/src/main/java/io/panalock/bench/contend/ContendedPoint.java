// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One point of the contended experiment.
 *
 * @param threads how many contend
 * @param insideNs work while holding the lock
 * @param insidePauses times that a thread says {@link Thread#onSpinWait}, or the C of it, while holding the lock; after the work
 * @param outsideNs work between two acquisitions
 * @param mode throughput, or latency in a run of its own
 * @param pinned thread i runs on the i-th CPU that the process may use, modulo their number
 */
public record ContendedPoint(int threads, int insideNs, int insidePauses, int outsideNs, Mode mode, boolean pinned) {
    /** Timing every acquisition halves the throughput, so the two are never measured together. */
    public enum Mode {
        THROUGHPUT,
        LATENCY
    }

    public ContendedPoint {
        if (threads < 1 || threads > 1024) {
            throw new IllegalArgumentException(threads + " is not a number of threads from 1 to 1024");
        }
        if (insideNs < 0 || insidePauses < 0 || outsideNs < 0) {
            throw new IllegalArgumentException("work must not be negative");
        }
    }

    /** Threads run where the kernel lets them. */
    public ContendedPoint(int threads, int insideNs, int outsideNs, Mode mode) {
        this(threads, insideNs, outsideNs, mode, false);
    }

    public ContendedPoint(int threads, int insideNs, int outsideNs, Mode mode, boolean pinned) {
        this(threads, insideNs, 0, outsideNs, mode, pinned);
    }

    public boolean latency() {
        return mode == Mode.LATENCY;
    }

    public Map<String, Object> params() {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("threads", threads);
        params.put("inside_ns", insideNs);
        params.put("outside_ns", outsideNs);
        params.put("mode", mode.name().toLowerCase(java.util.Locale.ROOT));
        if (insidePauses > 0) {
            params.put("inside_pauses", insidePauses);
        }
        if (pinned) {
            params.put("pinned", "yes");
        }
        return params;
    }
}
