// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import tools.jackson.jr.ob.JSON;

/**
 * Published figures that ship with the program. {@code reference/index.json} says which experiment a file belongs to and
 * which of its columns are which parameters and metrics, times a factor or per another column; lines that start with {@code #} name the source.
 */
final class References {
    private static final String FOLDER = "/reference/";

    private References() {}

    /** Publications about any of these experiments. */
    static List<Subject> of(Set<String> experiments) {
        List<Subject> subjects = new ArrayList<>();
        for (Object entry : index()) {
            Map<?, ?> each = (Map<?, ?>) entry;
            if (experiments.contains((String) each.get("experiment"))) {
                subjects.add(read(each));
            }
        }
        return subjects;
    }

    static List<Object> index() {
        return JSON.std.listFrom(text("index.json"));
    }

    private static Subject read(Map<?, ?> entry) {
        String experiment = (String) entry.get("experiment");
        Map<?, ?> params = (Map<?, ?>) entry.get("params");
        Map<?, ?> constants = entry.containsKey("constants") ? (Map<?, ?>) entry.get("constants") : Map.of();
        List<?> metrics = (List<?>) entry.get("metrics");
        List<String> lines = text((String) entry.get("file")).lines().toList();
        String source = lines.stream()
                .filter(line -> line.startsWith("#"))
                .map(line -> line.substring(1).strip())
                .collect(Collectors.joining(" "));
        List<String[]> rows = lines.stream()
                .filter(line -> !line.startsWith("#") && !line.isBlank())
                .map(line -> line.split(",", -1))
                .toList();
        List<String> columns = Arrays.asList(rows.getFirst());
        Results results = new Results(Map.of(), Map.of());
        for (String[] row : rows.subList(1, rows.size())) {
            Map<String, Object> resultParams = new LinkedHashMap<>();
            params.forEach((column, name) -> resultParams.put((String) name, value(row[columns.indexOf(column)])));
            constants.forEach((name, value) -> resultParams.put((String) name, value));
            ToDoubleFunction<Object> number = column -> Double.parseDouble(row[columns.indexOf(column)]);
            Map<String, Metric> resultMetrics = new LinkedHashMap<>();
            for (Object about : metrics) {
                Map<?, ?> to = (Map<?, ?>) about;
                double factor = to.containsKey("times") ? ((Number) to.get("times")).doubleValue() : 1;
                double divisor = to.containsKey("per") ? number.applyAsDouble(to.get("per")) : 1;
                resultMetrics.put((String) to.get("metric"), new Metric(
                        number.applyAsDouble(to.get("column")) * factor / divisor,
                        (String) to.get("unit"),
                        to.containsKey("spread") ? number.applyAsDouble(to.get("spread")) * factor / divisor : Double.NaN));
            }
            results.add(new Result(experiment, resultParams, resultMetrics));
        }
        return Subject.publication((String) entry.get("where"), source, results);
    }

    private static Object value(String text) {
        return text.matches("\\d{1,9}") ? (Object) Integer.valueOf(text) : text;
    }

    private static String text(String name) {
        try (InputStream in = References.class.getResourceAsStream(FOLDER + name)) {
            if (in == null) {
                throw new IllegalStateException("the program's jar has no " + FOLDER + name);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
