// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.report.Subject.Floor;
import io.panalock.bench.result.Metric;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * One metric of one experiment: a chart of one or more panels that share their axes, and a table with the same figures.
 *
 * @param id unique on the page
 * @param metric its key in results; "distribution" for percentiles
 * @param form what is drawn
 * @param title what is measured
 * @param unit as in results
 * @param xName along the axis, empty for bars
 * @param keys along the axis: categories, percentiles, or numbers as text
 * @param series names, in the order of the legend
 * @param panels one for every machine and facet
 */
record Figure(
        String id,
        String metric,
        Form form,
        String title,
        String unit,
        String xName,
        List<String> keys,
        List<String> series,
        List<Panel> panels,
        String peerName,
        Floor floor) {

    enum Form {
        BARS,
        LINES,
        PERCENTILES,
        TABLE
    }

    /**
     * @param points by number of the series, then by number of the key
     */
    record Panel(Subject subject, String facet, Map<Integer, Map<Integer, Point>> points) {
        Optional<Point> at(int series, int key) {
            return Optional.ofNullable(points.getOrDefault(series, Map.of()).get(key));
        }
    }

    /**
     * @param noise relative, nothing when unknown
     * @param peer what the figure is compared with, if that was measured, and is not the figure itself
     */
    record Point(Metric value, OptionalDouble noise, Optional<Ratio> peer, Optional<Ratio> jni, Optional<Ratio> floor) {}

    /**
     * A figure over another.
     *
     * @param spread combined of both, 0 when neither has one
     * @param to what the other is called
     * @param differs true when the two differ by more than their noise; nothing when that cannot be said
     */
    record Ratio(double value, double spread, String to, Optional<Boolean> differs) {
        /** The second figure as the unit of the first. */
        static Ratio of(Metric value, OptionalDouble noise, Metric to, OptionalDouble toNoise, String toName) {
            io.panalock.bench.result.Ratio of = io.panalock.bench.result.Ratio.of(value, noise, to, toNoise);
            return new Ratio(of.value(), of.spread(), toName, of.differs());
        }
    }

    Quantity quantity() {
        return Quantity.of(unit);
    }

    /** The ways to show the figures other than as measured. */
    boolean has(java.util.function.Function<Point, Optional<Ratio>> relation) {
        return panels.stream()
                .flatMap(p -> p.points.values().stream())
                .flatMap(m -> m.values().stream())
                .anyMatch(p -> relation.apply(p).isPresent());
    }
}
