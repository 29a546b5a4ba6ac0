// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.text;

import io.panalock.bench.call.GcEffect;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The tables of {@code calls}, {@code locks} and {@code run}. */
public final class RunReport {
    private static final String TIME = "time";
    private static final String THROUGHPUT = "throughput";

    private static final List<String> SHARING =
            List.of("thread_min", "thread_mean", "thread_max", "jain", "in_a_row", "switches");
    private static final List<String> LATENCY = List.of("p50", "p90", "p99", "p99_9", "max");

    private final Results results;

    public RunReport(Results results) {
        this.results = results;
    }

    /** A table and its heading. */
    public record Titled(String title, Table table) {}

    /** Every table that has a row. */
    public List<Titled> tables() {
        List<Titled> tables = new ArrayList<>();
        tables.add(new Titled("Calls to C", calls()));
        tables.add(new Titled("Calls while another thread collects garbage", besideCollector()));
        tables.add(new Titled("Longest way to a safepoint while a call waits " + GcEffect.WAIT_MS + " ms", safepoints()));
        tables.add(new Titled("One uncontended lock + unlock, Java", javaPeers()));
        tables.add(new Titled("One uncontended lock + unlock, Panalock in Java (ns)", javaPairs()));
        tables.add(new Titled("One uncontended lock + unlock, C", cPairs()));
        for (Section section : sections()) {
            tables.add(new Titled(
                    "Contended, " + section.label() + ": million acquisitions per second, by threads",
                    contended(section)));
        }
        for (Section section : sections()) {
            long most = threads(section).stream().mapToLong(n -> n).max().orElseThrow();
            if (most > 1) {
                tables.add(new Titled(
                        "How " + most + " threads shared it, " + section.label() + " (thousand acquisitions per second)",
                        sharing(section, most)));
            }
        }
        latencyPoints().forEach(point -> tables.add(new Titled(
                "Time to acquire (µs), " + point.get("threads") + " threads, "
                        + new Section(((Number) point.get("inside_ns")).longValue(),
                                        ((Number) point.get("outside_ns")).longValue())
                                .label(),
                latency(point))));
        tables.removeIf(t -> t.table().isEmpty());
        return tables;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Titled each : tables()) {
            text.append(System.lineSeparator())
                    .append(each.title())
                    .append(System.lineSeparator())
                    .append(each.table());
        }
        String signs = Cell.signs(text);
        if (!signs.isEmpty()) {
            text.append(System.lineSeparator()).append(signs).append(System.lineSeparator());
        }
        return text.toString();
    }

    private Table calls() {
        Table table = new Table("", "ns/call", "vs JNI", "B/call");
        results.find("call", JmhPoint.callParams("nothing", "java")).ifPresent(result -> table.row(
                Cell.words("no call: measuring alone"), Cell.figure(result, TIME), Cell.EMPTY, allocated(result)));
        for (String target : JmhPoint.TARGETS) {
            Optional<Result> jni = results.find("call", JmhPoint.callParams(target, "jni"));
            for (String way : JmhPoint.WAYS) {
                results.find("call", JmhPoint.callParams(target, way)).ifPresent(result -> table.row(
                        Cell.words(Names.value(target) + ", " + Names.value(way)),
                        Cell.figure(result, TIME),
                        jni.map(to -> Cell.ratio(result, to, TIME)).orElse(Cell.EMPTY),
                        allocated(result)));
            }
        }
        return table;
    }

    private static Cell allocated(Result result) {
        if (!result.metrics().containsKey("allocated")) {
            return Cell.EMPTY;
        }
        Cell.Source source = new Cell.Source(result, "allocated"); // objects come in whole bytes
        return new Cell(String.valueOf(Math.round(source.value().value())), List.of(source));
    }

    private Table besideCollector() {
        Table table = new Table("", "ns/call, idle", "ns/call, collecting", "times");
        for (Result idle : results.all()) {
            if (!idle.matches("call-gc", Map.of("collector", "idle"))) {
                continue;
            }
            Map<String, Object> params = new LinkedHashMap<>(idle.params());
            params.put("collector", "busy");
            results.find("call-gc", params).ifPresent(busy -> table.row(
                    Cell.words(Names.value(String.valueOf(params.get("target"))) + ", " + Names.value(String.valueOf(params.get("via")))),
                    Cell.figure(idle, TIME),
                    Cell.figure(busy, TIME),
                    Cell.ratio(busy, idle, TIME)));
        }
        return table;
    }

    private Table safepoints() {
        Table table = new Table("call that waits", "ms");
        for (Result result : results.all()) {
            if (result.experiment().equals("call-safepoint")) {
                table.row(Cell.words(Names.value(String.valueOf(result.params().get("via")))), Cell.figure(result, "safepoint"));
            }
        }
        return table;
    }

    /** What a Java program has already. */
    private Table javaPeers() {
        Table table = new Table("", "ns/pair", "vs ReentrantLock");
        Optional<Result> reentrant = reentrantLock();
        for (String peer : Locks.javaPeers()) {
            results.find("pair", Map.of("side", "java", "lock", peer)).ifPresent(result -> table.row(
                    Cell.words(Names.value(peer)),
                    Cell.figure(result, TIME),
                    reentrant.map(to -> Cell.ratio(result, to, TIME)).orElse(Cell.EMPTY)));
        }
        return table;
    }

    private Optional<Result> reentrantLock() {
        return results.find("pair", Map.of("side", "java", "lock", Locks.REENTRANT_LOCK));
    }

    private Table javaPairs() {
        record Column(String layout, String place) {}
        List<Column> columns = new ArrayList<>();
        for (String place : Locks.PLACES) {
            for (String layout : Locks.LAYOUTS) {
                if (results.find("pair", Map.of("layout", layout, "place", place)).isPresent()) {
                    columns.add(new Column(layout, place));
                }
            }
        }
        List<String> heads = new ArrayList<>(List.of(""));
        columns.forEach(column -> heads.add(column.layout.toUpperCase(Locale.ROOT) + " " + column.place));
        heads.add("best vs ReentrantLock");
        Table table = new Table(heads.toArray(String[]::new));
        Optional<Result> reentrant = reentrantLock();
        for (String backend : Locks.BACKENDS) {
            List<Cell> cells = new ArrayList<>(List.of(Cell.words(Names.value(backend))));
            List<Result> own = new ArrayList<>();
            for (Column column : columns) {
                Optional<Result> found =
                        results.find("pair", Locks.panalockParams(backend, column.layout, column.place));
                found.ifPresent(own::add);
                cells.add(found.map(r -> Cell.figure(r, TIME)).orElse(Cell.EMPTY));
            }
            if (!own.isEmpty()) {
                Result best = own.stream().min(Comparator.comparingDouble(RunReport::time)).orElseThrow();
                cells.add(reentrant.map(to -> Cell.ratio(best, to, TIME)).orElse(Cell.EMPTY));
                table.row(cells);
            }
        }
        return table;
    }

    private static double time(Result result) {
        return result.metrics().get(TIME).value();
    }

    private Table cPairs() {
        Table table = new Table("", "ns/pair", "vs pthread_mutex");
        Optional<Result> mutex = results.find("pair", Map.of("side", "c", "lock", "pthread-mutex"));
        for (Result result : results.all()) {
            if (result.matches("pair", Map.of("side", "c"))) {
                table.row(
                        Cell.words(Names.inC(String.valueOf(result.params().get("lock")))),
                        Cell.figure(result, TIME),
                        mutex.map(to -> Cell.ratio(result, to, TIME)).orElse(Cell.EMPTY));
            }
        }
        return table;
    }

    /** Work inside and outside a lock. */
    record Section(long insideNs, long outsideNs) {
        String label() {
            if (insideNs == 0 && outsideNs == 0) {
                return "empty section";
            }
            return insideNs + " ns inside" + (outsideNs == 0 ? "" : ", " + outsideNs + " ns outside");
        }

        Map<String, Object> params() {
            return Map.of("inside_ns", insideNs, "outside_ns", outsideNs, "mode", THROUGHPUT);
        }
    }

    Set<Section> sections() {
        Set<Section> sections = new LinkedHashSet<>();
        for (Result result : contendedResults()) {
            sections.add(new Section(number(result, "inside_ns"), number(result, "outside_ns")));
        }
        return sections;
    }

    Set<Long> threads(Section section) {
        Set<Long> threads = new LinkedHashSet<>();
        for (Result result : results.all()) {
            if (result.matches("contended", section.params())) {
                threads.add(number(result, "threads"));
            }
        }
        return threads;
    }

    private List<Result> contendedResults() {
        return results.all().stream()
                .filter(r -> r.matches("contended", Map.of("mode", THROUGHPUT)))
                .toList();
    }

    private static long number(Result result, String param) {
        return ((Number) result.params().get(param)).longValue();
    }

    /** The lock's own parameters: what is left without those of the point. */
    private static Map<String, Object> lockOf(Result result) {
        Map<String, Object> lock = new LinkedHashMap<>(result.params());
        lock.keySet().removeAll(Set.of("threads", "inside_ns", "outside_ns", "mode", "pinned"));
        return lock;
    }

    /** The lock that everybody has already: ReentrantLock in Java, pthread_mutex in C. */
    static Map<String, Object> peerOf(Map<String, Object> lock) {
        return lock.get("side").equals("c")
                ? Map.of("side", "c", "lock", "pthread-mutex")
                : Map.of("side", "java", "lock", Locks.REENTRANT_LOCK);
    }

    Optional<Result> contended(Map<String, ?> lock, Section section, long threads) {
        Map<String, Object> params = new LinkedHashMap<>(section.params());
        params.putAll(lock);
        params.put("threads", threads);
        return results.find("contended", params);
    }

    private Table contended(Section section) {
        Set<Long> threads = threads(section);
        List<String> heads = new ArrayList<>(List.of(""));
        threads.forEach(n -> heads.add(String.valueOf(n)));
        threads.forEach(n -> heads.add("vs peer, " + n));
        Table table = new Table(heads.toArray(String[]::new));
        Set<Map<String, Object>> locks = new LinkedHashSet<>();
        contendedResults().forEach(r -> locks.add(lockOf(r)));
        for (Map<String, Object> lock : locks) {
            List<Cell> cells = new ArrayList<>(List.of(Cell.words(Names.lock(lock))));
            for (long n : threads) {
                cells.add(contended(lock, section, n)
                        .map(r -> Cell.figure(r, THROUGHPUT))
                        .orElse(Cell.EMPTY));
            }
            for (long n : threads) {
                Optional<Result> own = contended(lock, section, n);
                Optional<Result> peer = contended(peerOf(lock), section, n);
                cells.add(own.isPresent() && peer.isPresent()
                        ? Cell.ratio(own.get(), peer.get(), THROUGHPUT)
                        : Cell.EMPTY);
            }
            table.row(cells);
        }
        return table;
    }

    private Table sharing(Section section, long threads) {
        Table table = new Table("", "slowest", "mean", "fastest", "Jain index", "in a row", "switches/s");
        for (Result result : results.all()) {
            if (result.matches("contended", section.params())
                    && number(result, "threads") == threads
                    && result.metrics().keySet().containsAll(SHARING)) {
                List<Cell> cells = new ArrayList<>(List.of(Cell.words(Names.lock(lockOf(result)))));
                SHARING.forEach(metric -> cells.add(Cell.figure(result, metric)));
                table.row(cells);
            }
        }
        return table;
    }

    private Set<Map<String, Object>> latencyPoints() {
        Set<Map<String, Object>> points = new LinkedHashSet<>();
        for (Result result : results.all()) {
            if (result.matches("contended", Map.of("mode", "latency"))) {
                Map<String, Object> point = new LinkedHashMap<>(result.params());
                point.keySet().retainAll(Set.of("threads", "inside_ns", "outside_ns", "mode"));
                points.add(point);
            }
        }
        return points;
    }

    private Table latency(Map<String, Object> point) {
        Table table = new Table("", "median", "1 in 10 over", "1 in 100 over", "1 in 1000 over", "longest");
        for (Result result : results.all()) {
            if (result.matches("contended", point)) {
                List<Cell> cells = new ArrayList<>(List.of(Cell.words(Names.lock(lockOf(result)))));
                LATENCY.forEach(metric -> cells.add(Cell.figure(result, metric)));
                table.row(cells);
            }
        }
        return table;
    }
}
