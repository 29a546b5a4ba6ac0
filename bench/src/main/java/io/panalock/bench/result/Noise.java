// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * How much the figures of one run vary: their repeats, or the medians of their repeats. A figure's own spread can be small by luck when there were few repeats, so it
 * counts as at least what is usual (the median) for this metric in the experiment.
 */
public final class Noise {
    private record Key(String experiment, String metric) {}

    /**
     * The median of many repeats varies less than they do, but disturbances last longer than one repeat: it counts as at
     * least this part of their spread.
     */
    private static final double LEAST_PART = 0.25;

    private final Map<Key, Double> usual = new HashMap<>();
    private final boolean ofMedians;

    /** Of the repeats. */
    public Noise(Results results) {
        this(results, false);
    }

    /** Of their medians, which is what differs from run to run. */
    public static Noise ofMedians(Results results) {
        return new Noise(results, true);
    }

    private Noise(Results results, boolean ofMedians) {
        this.ofMedians = ofMedians;
        Map<Key, List<Double>> all = new HashMap<>();
        for (Result result : results.all()) {
            result.metrics().forEach((name, metric) -> own(metric)
                    .ifPresent(spread -> all.computeIfAbsent(new Key(result.experiment(), name), k -> new ArrayList<>())
                            .add(spread)));
        }
        all.forEach((key, spreads) -> usual.put(
                key, Stats.median(spreads.stream().mapToDouble(Double::doubleValue).toArray())));
    }

    private OptionalDouble own(Metric metric) {
        if (!metric.hasSpread() || metric.value() == 0) {
            return OptionalDouble.empty();
        }
        double part = ofMedians && metric.repeats() > 1 ? Math.max(LEAST_PART, 1 / Math.sqrt(metric.repeats())) : 1;
        return OptionalDouble.of(part * metric.relativeSpread());
    }

    /** Relative to the figure; nothing when neither it nor its like was measured more than once. */
    public OptionalDouble relative(Result result, String metric) {
        OptionalDouble own = own(result.metrics().get(metric));
        Double like = usual.get(new Key(result.experiment(), metric));
        return like == null ? own : OptionalDouble.of(Math.max(own.orElse(0), like));
    }
}
