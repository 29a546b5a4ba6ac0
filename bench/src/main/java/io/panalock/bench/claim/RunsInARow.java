// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.Main;
import io.panalock.bench.compare.Comparison;
import io.panalock.bench.compare.Peers;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.contend.Planted;
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
 * Runs of the same build in a row, each in a JVM of its own, some of them with a slowdown {@link Planted} into one backend's
 * loops. Of each run and the next: {@code worst} and {@code median} difference of a ratio to its peer. In how many of
 * {@link #COMPARISONS} comparisons of the build with itself {@code compare} raised {@code alarms}; of each slow run and the
 * one before, whether it {@code missed} that.
 */
record RunsInARow() implements Point.Whole {
    static final int COMPARISONS = 10;
    private static final String PLANTED_BACKEND = "hybrid";
    private static final double THRESHOLD = 0.10;

    /** Runs with and without the slowdown in turns: of five every two are compared, of eleven every one with the next. */
    private static final String QUICK_ORDER = "-+-+-+--";

    private static final String ORDER = "-+---+----+----";
    private static final List<String> HANDED_DOWN =
            List.of("panalock.library.path", "panalock.extract.dir", "java.library.path", "java.io.tmpdir");

    @Override
    public String batch() {
        return "runs in a row";
    }

    @Override
    public Map<String, Object> params() {
        return Map.of("runs", "in a row");
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
        throw new UnsupportedOperationException("several at once");
    }

    @Override
    public Map<String, double[]> measureSeveral(Bench bench) {
        List<Results> plain = new ArrayList<>();
        List<Double> missed = new ArrayList<>();
        for (char kind : (bench.quick() ? QUICK_ORDER : ORDER).toCharArray()) {
            if (kind == '-') {
                plain.add(run(bench.quick(), false));
            } else {
                missed.add(finds(plain.getLast(), run(bench.quick(), true)) ? 0.0 : 1.0);
            }
        }
        return judged(plain, missed.stream().mapToDouble(Double::doubleValue).toArray());
    }

    /** True when the slowdown is found, and where it is. */
    static boolean finds(Results before, Results after) {
        return new Comparison(before, after, THRESHOLD)
                .worseGroups().stream().anyMatch(group -> group.owner().equals(PLANTED_BACKEND));
    }

    static Map<String, double[]> judged(List<Results> plain, double... missed) {
        double[] worst = new double[plain.size() - 1];
        double[] median = new double[plain.size() - 1];
        for (int i = 0; i + 1 < plain.size(); i++) {
            double[] differences = differences(plain.get(i), plain.get(i + 1));
            worst[i] = Stats.max(differences);
            median[i] = Stats.median(differences);
        }
        return Map.of("worst", worst, "median", median, "missed", missed,
                "alarms", new double[] {alarms(plain)});
    }

    private static double alarms(List<Results> plain) {
        int comparisons = 0;
        int alarms = 0;
        boolean everyTwo = plain.size() * (plain.size() - 1) / 2 <= COMPARISONS;
        for (int i = 0; i < plain.size(); i++) {
            for (int j = i + 1; j < (everyTwo ? plain.size() : Math.min(i + 2, plain.size())); j++) {
                comparisons++;
                alarms += new Comparison(plain.get(i), plain.get(j), THRESHOLD).regressed() ? 1 : 0;
            }
        }
        if (comparisons != COMPARISONS) {
            throw new IllegalStateException(comparisons + " comparisons of " + plain.size() + " runs");
        }
        return alarms;
    }

    private static Results run(boolean brief, boolean planted) {
        List<String> locks = new ArrayList<>();
        for (String layout : List.of("wide", "word")) {
            Locks.BACKENDS.forEach(backend -> locks.add(Locks.panalock(backend, layout, "pool")));
        }
        locks.addAll(List.of(Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED, Locks.STAMPED_LOCK, "c-wide", "c-word", "c-pthread-mutex",
                "c-pthread-spin"));
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED"));
        for (String property : HANDED_DOWN) {
            if (System.getProperty(property) != null) {
                command.add("-D" + property + "=" + System.getProperty(property));
            }
        }
        if (planted) {
            command.add("-D" + Planted.PROPERTY + "=" + PLANTED_BACKEND);
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName(), "locks", "--lock",
                String.join(",", locks), "--rounds", "3"));
        command.addAll(brief
                ? List.of("--part", "pairs")
                : List.of("--part", "pairs,throughput", "--threads", "2,4", "--inside", "100"));
        try {
            Path directory = Files.createTempDirectory("panalock-runs-");
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
            throw new UncheckedIOException("runs in a row: " + e.getMessage(), e);
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
}
