// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.Arrays;

/** The few statistics that all experiments share, so that one word means one thing everywhere. */
public final class Stats {
    private Stats() {}

    public static double median(double... values) {
        return percentile(values, 50);
    }

    /** Linear interpolation between the two nearest ranks; the smallest value at 0, the largest at 100. */
    public static double percentile(double[] values, double percent) {
        if (values.length == 0) {
            throw new IllegalArgumentException("no values");
        }
        if (!(percent >= 0 && percent <= 100)) {
            throw new IllegalArgumentException(percent + " is not a percentage from 0 to 100");
        }
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        double rank = percent / 100 * (sorted.length - 1);
        int below = (int) Math.floor(rank);
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (rank - below) * (sorted[above] - sorted[below]);
    }

    /** Half the distance between the 10th and the 90th percentile; 0 for a single value. */
    public static double spread(double... values) {
        return (percentile(values, 90) - percentile(values, 10)) / 2;
    }

    public static double min(double... values) {
        return Arrays.stream(values).min().orElseThrow(() -> new IllegalArgumentException("no values"));
    }

    public static double max(double... values) {
        return Arrays.stream(values).max().orElseThrow(() -> new IllegalArgumentException("no values"));
    }

    public static double mean(double... values) {
        return Arrays.stream(values).average().orElseThrow(() -> new IllegalArgumentException("no values"));
    }

    /**
     * Jain's fairness index of per-thread counts: 1 when all are equal, 1/n when one thread got everything; 0 when
     * nobody got anything. (Jain, Chiu, Hawe 1984.)
     */
    public static double jain(long[] counts) {
        if (counts.length == 0) {
            throw new IllegalArgumentException("no counts");
        }
        double sum = 0;
        double squares = 0;
        for (long count : counts) {
            sum += count;
            squares += (double) count * count;
        }
        return squares == 0 ? 0 : sum * sum / (counts.length * squares);
    }

    /** Element by element {@code a[i] / b[i]}: the ratios of interleaved repeats. */
    public static double[] ratios(double[] a, double[] b) {
        double[] ratios = new double[Math.min(a.length, b.length)];
        Arrays.setAll(ratios, i -> a[i] / b[i]);
        return ratios;
    }
}
