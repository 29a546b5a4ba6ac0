// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * How much the figures of one run vary. A figure's own spread can be small by luck when there were few repeats, so it
 * counts as at least what is usual (the median) for this metric in the experiment.
 */
public final class Noise {
    private record Key(String experiment, String metric) {}

    private final Map<Key, Double> usual = new HashMap<>();

    public Noise(Results results) {
        Map<Key, List<Double>> all = new HashMap<>();
        for (Result result : results.all()) {
            result.metrics().forEach((name, metric) -> own(metric)
                    .ifPresent(spread -> all.computeIfAbsent(new Key(result.experiment(), name), k -> new ArrayList<>())
                            .add(spread)));
        }
        all.forEach((key, spreads) -> usual.put(
                key, Stats.median(spreads.stream().mapToDouble(Double::doubleValue).toArray())));
    }

    private static OptionalDouble own(Metric metric) {
        return metric.hasSpread() && metric.value() != 0
                ? OptionalDouble.of(metric.spread() / Math.abs(metric.value()))
                : OptionalDouble.empty();
    }

    /** Relative to the figure; nothing when neither it nor its like was measured more than once. */
    public OptionalDouble relative(Result result, String metric) {
        OptionalDouble own = own(result.metrics().get(metric));
        Double like = usual.get(new Key(result.experiment(), metric));
        return like == null ? own : OptionalDouble.of(Math.max(own.orElse(0), like));
    }
}
