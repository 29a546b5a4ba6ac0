// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Something that can be measured for a claim; a record, so that claims about the same thing share its measurements.
 * Implement {@link Whole}, or {@link Windowed} for what takes nanoseconds.
 */
public sealed interface Point {
    /** Points of the same batch are measured in turns; both sides of a claim belong to one batch. */
    String batch();

    /** What identifies it in results, experiment {@code claim-point}. {@code peer: true} where it is not ours. */
    Map<String, Object> params();

    /** Of one of its metrics, as in docs/results.md. */
    String unit(String metric);

    /** How often it is measured before a claim is judged. */
    default int repeats(Bench bench) {
        return bench.repeats();
    }

    /** Takes long enough to be measured at one go. */
    non-sealed interface Whole extends Point {
        /** One repeat: its metrics, by name. */
        Map<String, Double> measure(Bench bench);

        /** For a point that gives several repeats of its metrics at once. */
        default Map<String, double[]> measureSeveral(Bench bench) {
            Map<String, double[]> several = new LinkedHashMap<>();
            measure(bench).forEach((metric, value) -> several.put(metric, new double[] {value}));
            return several;
        }
    }

    /** A repeat is the median of many short windows, and all points of the batch take turns at windows. Metric {@code time}. */
    non-sealed interface Windowed extends Point {
        String TIME = "time";

        /** One window: nanoseconds an operation. */
        double window(Bench bench);

        @Override
        default int repeats(Bench bench) {
            return bench.windowedRepeats();
        }
    }

    /**
     * One metric of a point.
     *
     * @param point what is measured
     * @param metric which of its metrics
     */
    record Quantity(Point point, String metric) {
        public String unit() {
            return point.unit(metric);
        }
    }
}
