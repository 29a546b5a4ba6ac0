// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Everything that one invocation measured; grows while it runs. Thread-safe, because Ctrl-C saves it from another
 * thread. The JSON form is described in docs/results.md.
 */
public final class Results {
    /** Name and version of the JSON form. The number grows when a reader of the old one would misread the new one. */
    public static final String SCHEMA = "panalock-results/1";

    private final Map<String, Object> machine;
    private final Map<String, Object> run;
    private final List<Result> results = new ArrayList<>();

    /**
     * @param machine what {@code info} shows
     * @param run how this came about: command, options, start, and at the end whether it is complete
     */
    public Results(Map<String, Object> machine, Map<String, Object> run) {
        this.machine = new LinkedHashMap<>(machine);
        this.run = new LinkedHashMap<>(run);
    }

    public synchronized void add(Result result) {
        results.add(result);
    }

    /** Adds the result, or replaces the one of the same experiment and parameters. */
    public synchronized void put(Result result) {
        for (int i = 0; i < results.size(); i++) {
            Result old = results.get(i);
            if (old.experiment().equals(result.experiment()) && old.params().equals(result.params())) {
                results.set(i, result);
                return;
            }
        }
        results.add(result);
    }

    public synchronized void note(String key, Object value) {
        run.put(key, value);
    }

    public synchronized Map<String, Object> machine() {
        return new LinkedHashMap<>(machine);
    }

    public synchronized Map<String, Object> run() {
        return new LinkedHashMap<>(run);
    }

    public synchronized List<Result> all() {
        return List.copyOf(results);
    }

    /** The first result of the experiment with these parameters. */
    public Optional<Result> find(String experiment, Map<String, ?> params) {
        return all().stream().filter(r -> r.matches(experiment, params)).findFirst();
    }

    public Optional<Metric> metric(String experiment, Map<String, ?> params, String metric) {
        return find(experiment, params).map(r -> r.metrics().get(metric));
    }
}
