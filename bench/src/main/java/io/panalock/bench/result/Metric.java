// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.Objects;

/**
 * One measured figure.
 *
 * @param value the median of the repeats
 * @param unit for example {@code ns/call}
 * @param spread half the distance between the 10th and the 90th percentile of the repeats, in the same unit; NaN when
 *     there was only one
 * @param repeats how many there were; 0 when unknown
 */
public record Metric(double value, String unit, double spread, int repeats) {
    public Metric {
        Objects.requireNonNull(unit);
        if (!Double.isFinite(value)) {
            throw new IllegalArgumentException("a metric needs a finite value, not " + value);
        }
    }

    /** From an unknown number of repeats. */
    public Metric(double value, String unit, double spread) {
        this(value, unit, spread, 0);
    }

    /** A figure that was counted or measured once. */
    public static Metric single(double value, String unit) {
        return new Metric(value, unit, Double.NaN, 1);
    }

    /** The median and spread of repeats. */
    public static Metric of(double[] repeats, String unit) {
        return new Metric(Stats.median(repeats), unit, repeats.length < 2 ? Double.NaN : Stats.spread(repeats), repeats.length);
    }

    public boolean hasSpread() {
        return Double.isFinite(spread);
    }

    /** The spread as a fraction of the figure; 0 when it has none. */
    public double relativeSpread() {
        return hasSpread() && value != 0 ? spread / Math.abs(value) : 0;
    }
}
