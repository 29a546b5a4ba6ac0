// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.jr.ob.JSON;

/** Results as JSON and back. */
public final class ResultsJson {
    private static final JSON JSON_WRITER = JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT, JSON.Feature.WRITE_NULL_PROPERTIES);

    private ResultsJson() {}

    public static String write(Results results) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("schema", Results.SCHEMA);
        document.put("machine", results.machine());
        document.put("run", results.run());
        document.put("results", results.all().stream().map(ResultsJson::toMap).collect(Collectors.toList()));
        return text(document);
    }

    /** Any tree of maps, lists, strings, numbers and truth values. */
    public static String text(Object tree) {
        return JSON_WRITER.asString(tree) + System.lineSeparator();
    }

    /** Writes the file in one step: a reader sees the old one or the new one, never half of it. */
    public static void save(Results results, Path file) throws IOException {
        save(write(results), file);
    }

    public static void save(String text, Path file) throws IOException {
        Path absolute = file.toAbsolutePath();
        Files.createDirectories(absolute.getParent());
        Path part = absolute.resolveSibling(absolute.getFileName() + ".part");
        Files.writeString(part, text);
        Files.move(part, absolute, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    public static Results load(Path file) throws IOException {
        try {
            return read(Files.readString(file));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
        }
    }

    /** @throws IllegalArgumentException when the text is not what {@link #write} produces */
    public static Results read(String text) {
        Map<String, Object> document;
        try {
            document = JSON.std.mapFrom(text);
        } catch (JacksonException e) {
            throw new IllegalArgumentException("not JSON: " + e.getOriginalMessage(), e);
        }
        if (!Results.SCHEMA.equals(document.get("schema"))) {
            throw new IllegalArgumentException(
                    "schema is " + document.get("schema") + "; this program reads " + Results.SCHEMA);
        }
        Results results = new Results(map(document, "machine"), map(document, "run"));
        for (Object each : list(document, "results")) {
            results.add(fromMap(asMap(each, "an entry of results")));
        }
        return results;
    }

    private static Map<String, Object> toMap(Result result) {
        Map<String, Object> metrics = new LinkedHashMap<>();
        result.metrics().forEach((name, metric) -> {
            Map<String, Object> m = new LinkedHashMap<>();
            m.put("value", metric.value());
            m.put("unit", metric.unit());
            m.put("spread", metric.hasSpread() ? metric.spread() : null);
            if (metric.repeats() > 0) {
                m.put("repeats", metric.repeats());
            }
            metrics.put(name, m);
        });
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("experiment", result.experiment());
        map.put("params", result.params());
        map.put("metrics", metrics);
        return map;
    }

    private static Result fromMap(Map<String, Object> map) {
        Map<String, Metric> metrics = new LinkedHashMap<>();
        map(map, "metrics").forEach((name, value) -> {
            Map<String, Object> m = asMap(value, "metric " + name);
            metrics.put(name, new Metric(number(m, "value"), string(m, "unit"),
                    m.get("spread") == null ? Double.NaN : number(m, "spread"),
                    m.containsKey("repeats") ? (int) number(m, "repeats") : 0));
        });
        return new Result(string(map, "experiment"), map(map, "params"), metrics);
    }

    private static Map<String, Object> map(Map<String, Object> in, String key) {
        return asMap(in.get(key), key);
    }

    private static Map<String, Object> asMap(Object value, String what) {
        if (!(value instanceof Map<?, ?> map)) {
            throw new IllegalArgumentException(what + " is missing or not an object");
        }
        Map<String, Object> copy = new LinkedHashMap<>();
        map.forEach((k, v) -> copy.put((String) k, v));
        return copy;
    }

    private static List<Object> list(Map<String, Object> in, String key) {
        if (!(in.get(key) instanceof List<?> list)) {
            throw new IllegalArgumentException(key + " is missing or not an array");
        }
        return new ArrayList<>(list);
    }

    private static String string(Map<String, Object> in, String key) {
        if (!(in.get(key) instanceof String text)) {
            throw new IllegalArgumentException(key + " is missing or not a string");
        }
        return text;
    }

    private static double number(Map<String, Object> in, String key) {
        if (!(in.get(key) instanceof Number number)) {
            throw new IllegalArgumentException(key + " is missing or not a number");
        }
        return number.doubleValue();
    }
}
