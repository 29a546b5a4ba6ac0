// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A figure over another of the same run.
 *
 * @param spread of the ratio: both relative spreads combined; 0 when neither figure has one
 * @param differs true when the figures are further apart than both their noises; nothing when a noise is unknown
 */
public record Ratio(double value, double spread, Optional<Boolean> differs) {
    /** With what each figure's own spread says. */
    public static Ratio of(Metric value, Metric to) {
        return of(value, noise(value), to, noise(to));
    }

    /** With noises that were found otherwise, see {@link Noise}. */
    public static Ratio of(Metric value, OptionalDouble noise, Metric to, OptionalDouble toNoise) {
        double ratio = value.value() / to.value();
        Optional<Boolean> differs = noise.isPresent() && toNoise.isPresent()
                ? Optional.of(Math.abs(ratio - 1) > noise.getAsDouble() * Math.abs(ratio) + toNoise.getAsDouble())
                : Optional.empty();
        return new Ratio(ratio, Math.abs(ratio) * Math.hypot(value.relativeSpread(), to.relativeSpread()), differs);
    }

    private static OptionalDouble noise(Metric metric) {
        return metric.hasSpread() ? OptionalDouble.of(metric.relativeSpread()) : OptionalDouble.empty();
    }

    /** True when nothing says that the two are different. */
    public boolean same() {
        return !differs.orElse(true);
    }
}
