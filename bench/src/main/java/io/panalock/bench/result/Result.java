// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * One point of one experiment.
 *
 * @param experiment {@code call}, {@code pair}, {@code contended}, {@code floor}, {@code claim}
 * @param params what identifies the point; values are strings or whole numbers, in the order to show
 * @param metrics what was measured, by name
 */
public record Result(String experiment, Map<String, Object> params, Map<String, Metric> metrics) {
    public Result {
        Objects.requireNonNull(experiment);
        params = Collections.unmodifiableMap(new LinkedHashMap<>(params));
        metrics = Collections.unmodifiableMap(new LinkedHashMap<>(metrics));
    }

    /** True when every given parameter has the given value. */
    public boolean matches(String wantedExperiment, Map<String, ?> wanted) {
        return experiment.equals(wantedExperiment)
                && wanted.entrySet().stream().allMatch(e -> same(e.getValue(), params.get(e.getKey())));
    }

    private static boolean same(Object a, Object b) {
        return a instanceof Number x && b instanceof Number y ? x.longValue() == y.longValue() : Objects.equals(a, b);
    }
}
