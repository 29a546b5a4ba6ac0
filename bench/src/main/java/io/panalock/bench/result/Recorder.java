// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.DoubleStream;

/** Collects repeats; the results always show the median and spread of all repeats so far. */
public final class Recorder {
    private record Key(String experiment, Map<String, Object> params) {}

    private record Samples(String unit, double[] values) {}

    private final Results results;
    private final Map<Key, Map<String, Samples>> all = new LinkedHashMap<>();

    public Recorder(Results results) {
        this.results = results;
    }

    /** Adds repeats of one metric of one point. */
    public void record(String experiment, Map<String, Object> params, String metric, String unit, double... repeats) {
        Map<String, Samples> metrics = all.computeIfAbsent(new Key(experiment, params), k -> new LinkedHashMap<>());
        metrics.merge(metric, new Samples(unit, repeats), (old, added) -> new Samples(
                unit, DoubleStream.concat(DoubleStream.of(old.values), DoubleStream.of(added.values)).toArray()));
        Map<String, Metric> shown = new LinkedHashMap<>();
        metrics.forEach((name, samples) -> shown.put(name, Metric.of(samples.values, samples.unit)));
        results.put(new Result(experiment, params, shown));
    }
}
