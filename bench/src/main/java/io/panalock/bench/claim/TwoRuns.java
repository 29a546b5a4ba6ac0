// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.Main;
import io.panalock.bench.compare.Comparison;
import io.panalock.bench.compare.Peers;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.ResultsJson;
import io.panalock.bench.result.Stats;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Two runs in a row of the same build, each in a JVM of its own: {@code worst} and {@code median} difference of a ratio to
 * its peer; whether {@code compare} {@code missed} a planted slowdown or raised {@code alarms}.
 */
record TwoRuns() implements Point.Whole {
    /** What is planted: this backend, this much slower. */
    private static final String PLANTED_BACKEND = "hybrid";

    private static final double PLANTED = 1.15;
    private static final double THRESHOLD = 0.10;
    private static final List<String> HANDED_DOWN =
            List.of("panalock.library.path", "panalock.extract.dir", "java.library.path", "java.io.tmpdir");

    @Override
    public String batch() {
        return "two runs in a row";
    }

    @Override
    public Map<String, Object> params() {
        return Map.of("runs", 2);
    }

    @Override
    public String unit(String metric) {
        return metric.equals("worst") || metric.equals("median") ? "%" : "1";
    }

    @Override
    public int repeats(Bench bench) {
        return 1;
    }

    @Override
    public Map<String, Double> measure(Bench bench) {
        Results first = run(bench.quick());
        Results second = run(bench.quick());
        double[] differences = differences(first, second);
        return Map.of(
                "worst", Stats.max(differences),
                "median", Stats.median(differences),
                "missed", new Comparison(first, planted(second), THRESHOLD).regressed() ? 0.0 : 1.0,
                "alarms", new Comparison(first, second, THRESHOLD).regressed() ? 1.0 : 0.0);
    }

    private static Results run(boolean brief) {
        List<String> locks = new ArrayList<>();
        Locks.BACKENDS.forEach(backend -> locks.add(Locks.panalock(backend, "wide", "pool")));
        locks.addAll(List.of(Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED, Locks.STAMPED_LOCK, "c-wide", "c-pthread-mutex",
                "c-pthread-spin"));
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED"));
        for (String property : HANDED_DOWN) {
            if (System.getProperty(property) != null) {
                command.add("-D" + property + "=" + System.getProperty(property));
            }
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName(), "locks",
                "--part", "pairs,throughput", "--threads", "2,4", "--lock", String.join(",", locks)));
        if (brief) {
            command.add("--quick");
        }
        try {
            Path directory = Files.createTempDirectory("panalock-two-runs-");
            try {
                Path file = directory.resolve("run.json");
                command.addAll(List.of("--json", file.toString()));
                Process process = new ProcessBuilder(command)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
                int code = process.waitFor();
                if (code != 0) {
                    throw new IllegalStateException("a run of locks ended with exit code " + code);
                }
                return ResultsJson.load(file);
            } finally {
                delete(directory);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("two runs in a row: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while measuring", e);
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(directory);
    }

    /**
     * By how many per cent each ratio to its in-run peer differs; 0 where the spread printed beside the figures says as
     * much.
     */
    static double[] differences(Results first, Results second) {
        List<Double> differences = new ArrayList<>();
        for (Result result : first.all()) {
            for (String metric : List.of("time", "throughput")) {
                Optional<Metric> one = ratio(first, result, metric);
                Optional<Metric> other = ratio(second, result, metric);
                if (one.isPresent() && other.isPresent()) {
                    double difference = Math.abs(other.get().value() / one.get().value() - 1);
                    boolean said = difference <= one.get().spread() + other.get().spread();
                    differences.add(said ? 0 : 100 * difference);
                }
            }
        }
        return differences.stream().mapToDouble(Double::doubleValue).toArray();
    }

    /** The ratio, and as its spread the relative spreads of both figures; empty for peers and what has none. */
    private static Optional<Metric> ratio(Results results, Result of, String metric) {
        if (!of.params().containsKey("side") || Peers.isPeer(of)) {
            return Optional.empty();
        }
        Map<String, Object> peer = new LinkedHashMap<>(of.params());
        peer.keySet().removeAll(List.of("backend", "layout", "place", "policy"));
        peer.put("lock", of.params().get("side").equals("c") ? "pthread-mutex" : Locks.REENTRANT_LOCK);
        Optional<Metric> own = results.metric(of.experiment(), of.params(), metric);
        Optional<Metric> other = results.metric(of.experiment(), peer, metric);
        if (own.isEmpty() || other.isEmpty() || !(other.get().value() > 0) || !(own.get().value() > 0)) {
            return Optional.empty();
        }
        return Optional.of(new Metric(own.get().value() / other.get().value(), "×", relative(own.get()) + relative(other.get())));
    }

    private static double relative(Metric metric) {
        return metric.hasSpread() ? metric.spread() / metric.value() : 0;
    }

    /** The same results with one backend slower. */
    static Results planted(Results results) {
        Results slower = new Results(results.machine(), results.run());
        for (Result result : results.all()) {
            Map<String, Metric> metrics = new LinkedHashMap<>(result.metrics());
            if (PLANTED_BACKEND.equals(result.params().get("backend"))) {
                metrics.computeIfPresent("time", (name, m) -> times(m, PLANTED));
                metrics.computeIfPresent("throughput", (name, m) -> times(m, 1 / PLANTED));
            }
            slower.add(new Result(result.experiment(), result.params(), metrics));
        }
        return slower;
    }

    private static Metric times(Metric metric, double factor) {
        return new Metric(metric.value() * factor, metric.unit(), metric.spread() * factor);
    }
}
