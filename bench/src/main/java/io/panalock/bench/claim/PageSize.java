// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.contend.Locks;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.report.Page;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Bytes of the report of as many figures as a run without restrictions gives; the figures themselves do not matter. */
record PageSize() implements Point.Whole {
    private static final int[] THREADS = {1, 2, 4, 8, 16, 32, 64};
    private static final List<String> SHARING =
            List.of("throughput", "thread_min", "thread_mean", "thread_max", "jain", "in_a_row", "switches", "allocated");
    private static final List<String> LATENCY = List.of("p50", "p90", "p99", "p99_9", "max");
    private static final double FIGURE = 1234.56789;

    @Override
    public String batch() {
        return "page";
    }

    @Override
    public Map<String, Object> params() {
        return Map.of("size", "report");
    }

    @Override
    public String unit(String metric) {
        return "B";
    }

    @Override
    public int repeats(Bench bench) {
        return 1;
    }

    @Override
    public Map<String, Double> measure(Bench bench) {
        Results results = new Results(Map.of("cpu", "any"), Map.of("command", "run"));
        JmhPoint.calls(JmhPoint.TARGETS, JmhPoint.WAYS).forEach(call ->
                results.add(new Result(call.experiment(), call.params(), figures(List.of("time", "allocated"), "ns/call"))));
        List<String> locks = new ArrayList<>(Locks.allPanalock());
        locks.addAll(Locks.javaPeers());
        locks.addAll(Locks.inC());
        for (String id : locks) {
            Map<String, Object> lock = lock(id);
            results.add(new Result("pair", lock, figures(List.of("time"), "ns/pair")));
            for (int threads : THREADS) {
                results.add(new Result("contended", point(lock, threads, "throughput"), figures(SHARING, "Mops/s")));
                results.add(new Result("contended", point(lock, threads, "latency"), figures(LATENCY, "µs")));
            }
        }
        String page = new Page(Map.of("run.json", results), "any").html();
        return Map.of("bytes", (double) page.getBytes(StandardCharsets.UTF_8).length);
    }

    private static Map<String, Object> lock(String id) {
        String[] parts = id.split("-");
        return id.startsWith("c-")
                ? Map.of("side", "c", "lock", id.substring("c-".length()))
                : Locks.BACKENDS.contains(parts[0])
                        ? Locks.panalockParams(parts[0], parts[1], parts[2])
                        : Map.of("side", "java", "lock", id);
    }

    private static Map<String, Object> point(Map<String, Object> lock, int threads, String mode) {
        Map<String, Object> params = new LinkedHashMap<>(lock);
        params.put("threads", threads);
        params.put("inside_ns", 0);
        params.put("outside_ns", 0);
        params.put("mode", mode);
        return params;
    }

    private static Map<String, Metric> figures(List<String> metrics, String unit) {
        Map<String, Metric> figures = new LinkedHashMap<>();
        metrics.forEach(metric -> figures.put(metric, new Metric(FIGURE, unit, FIGURE / 10)));
        return figures;
    }
}
