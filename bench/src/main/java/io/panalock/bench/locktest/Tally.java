// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.locktest;

import io.panalock.bench.contend.Outcome;
import java.util.Arrays;
import java.util.Locale;

/**
 * What one run of locktest gave. Every acquisition that succeeded counts, and nothing else: minimum and maximum are over all
 * threads, those that never got the lock included.
 *
 * @param threads how many contended
 * @param cpus CPUs that they had: no more than threads
 * @param seconds how long
 * @param min acquisitions of the thread with the fewest
 * @param total of all threads
 * @param max of the thread with the most
 */
record Tally(int threads, int cpus, double seconds, long min, long total, long max) {
    static Tally of(long[] counts, long windowNs, int cpus) {
        return new Tally(
                counts.length,
                Math.min(counts.length, cpus),
                windowNs / 1e9,
                Arrays.stream(counts).min().orElse(0),
                Arrays.stream(counts).sum(),
                Arrays.stream(counts).max().orElse(0));
    }

    static Tally of(Outcome outcome) {
        return of(outcome.counts(), outcome.windowNs(), Runtime.getRuntime().availableProcessors());
    }

    long mean() {
        return total / threads;
    }

    double kops() {
        return total / seconds / 1e3;
    }

    double kopsPerCpu() {
        return kops() / cpus;
    }

    /** The maximum as a multiple of the mean; the number of threads if one had everything. */
    double maxOverMean() {
        return total == 0 ? 0 : (double) max * threads / total;
    }

    /** In the words of the original. */
    String lines() {
        return String.format(
                Locale.ROOT,
                "Threads = %d, Min/Mean/Max = %d/%d/%d%n" + "Threads = %d, Total Rate = %.0f kop/s; Percpu Rate = %.0f kop/s",
                threads,
                min,
                mean(),
                max,
                threads,
                kops(),
                kopsPerCpu());
    }
}
