// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import io.panalock.bench.result.Stats;
import java.util.Arrays;
import java.util.Optional;
import org.HdrHistogram.Histogram;

/**
 * What one contended run gave, from C or from Java.
 *
 * @param windowNs the window as measured
 * @param counts acquisitions in the window, per thread
 * @param all acquisitions since the start, of all threads
 * @param handovers how many of those were by another thread than the one before
 * @param longestNs latency mode: the longest acquisition that overlapped the window, those that still waited at the stop
 *     included; else 0
 * @param latencies latency mode: every such acquisition
 * @param allocatedBytes Java objects allocated by all threads while they ran; 0 in C
 * @param voluntarySwitches context switches of the process in the window: threads that went to sleep
 * @param involuntarySwitches threads that lost their CPU
 */
public record Outcome(
        long windowNs,
        long[] counts,
        long all,
        long handovers,
        long longestNs,
        Optional<Histogram> latencies,
        long allocatedBytes,
        long voluntarySwitches,
        long involuntarySwitches) {
    public long total() {
        return Arrays.stream(counts).sum();
    }

    /** Million acquisitions per second. */
    public double mops() {
        return total() * 1e3 / windowNs;
    }

    public double jain() {
        return Stats.jain(counts);
    }

    /** Acquisitions in a row by one thread, on average. */
    public double inARow() {
        return handovers == 0 ? all : (double) all / handovers;
    }

    /** Context switches of the process for each second of the window. */
    public double switchesPerSecond() {
        return (voluntarySwitches + involuntarySwitches) * 1e9 / windowNs;
    }

    public double allocatedPerAcquisition() {
        return all == 0 ? 0 : (double) allocatedBytes / all;
    }
}
