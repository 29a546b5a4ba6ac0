// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Recorder;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Results as {@code run} writes them, of a machine that does not exist. All figures are invented; the noise is made like
 * that of real runs: repeats vary, whole runs of one lock vary, the machine's speed drifts, and some repeats are
 * interrupted.
 */
public final class Synthetic {
    private static final List<String> TARGETS = List.of("blank", "int1", "int4", "int10", "pointer");
    private static final List<String> BACKENDS = List.of("hybrid", "ffm", "ffm_critical", "jni", "pure");
    private static final double[] BACKEND_NS = {2.4, 9.6, 7.4, 10.4, 2.9};
    private static final List<String> LAYOUTS = List.of("word", "byte", "wide");
    private static final double[] LAYOUT_NS = {1.8, 2.6, 0.0};
    private static final int[] THREADS = {1, 2, 4, 8, 16, 32, 64};
    private static final int[][] SECTIONS = {{0, 0}, {100, 0}, {100, 500}};

    private final Random random;
    private final Map<String, Object> machine = new LinkedHashMap<>();
    private final Map<String, Object> run = new LinkedHashMap<>();
    private double quietness = 1;
    private double speed = 1;
    private String slower = "";
    private double by = 1;
    private boolean few;

    public Synthetic(long seed) {
        this.random = new Random(seed);
        machine.put("arch", "amd64");
        machine.put("cpu", "Example CPU 9000 (family 1, model 2)");
        machine.put("cpus", 8);
        machine.put("online", "0-7");
        machine.put("affinity", "0-7");
        machine.put("virtual", false);
        machine.put("emulated", false);
        machine.put("caches", List.of(
                Map.of("level", "L1", "size", "32K"), Map.of("level", "L2", "size", "1024K"), Map.of("level", "L3", "size", "32768K")));
        machine.put("kernel", "6.12.0");
        machine.put("load", "0.08");
        machine.put("jdk", "25.0.3+9-LTS");
        machine.put("vm", "OpenJDK 64-Bit Server VM");
        machine.put("relax", "pause");
        machine.put("membarrier_private_expedited", true);
        machine.put("library_version", "0.1.0");
        run.put("command", "run");
        run.put("quick", false);
        run.put("started", "2026-03-01T12:00:00Z");
        run.put("complete", true);
    }

    public Synthetic machine(String key, Object value) {
        machine.put(key, value);
        return this;
    }

    public Synthetic run(String key, Object value) {
        run.put(key, value);
        return this;
    }

    /** Everything takes this many times as long, peers included. */
    public Synthetic slowMachine(double factor) {
        speed = factor;
        return this;
    }

    /** One backend takes this many times as long, or does so much less. */
    public Synthetic slow(String backend, double factor) {
        slower = backend;
        by = factor;
        return this;
    }

    /** Noise of every kind, times this. */
    public Synthetic noise(double factor) {
        quietness = factor;
        return this;
    }

    /** As few points as {@code run --quick} measures; contended ones once, so they have no spread. */
    public Synthetic quick() {
        few = true;
        run.put("quick", true);
        return this;
    }

    public Results results() {
        Results results = new Results(machine, run);
        Recorder recorder = new Recorder(results);
        speed *= Math.exp(0.03 * quietness * random.nextGaussian());
        record(recorder, "floor", params("what", "atomic"), "ns", 1.9, 1, 0.01, "floor");
        record(recorder, "floor", params("what", "clock"), "ns", 21, 1, 0.01, "floor");
        record(recorder, "floor", params("what", "cache-line"), "ns", 48, 1, 0.02, "floor");
        calls(recorder);
        pairs(recorder);
        contended(recorder);
        latency(results);
        return results;
    }

    private void calls(Recorder recorder) {
        record(recorder, "call", params("target", "nothing", "via", "java"), "ns/call", 0.4, 8, 0.02, "java");
        for (String target : few ? List.of("blank", "pointer") : TARGETS) {
            double more = 0.35 * TARGETS.indexOf(target);
            record(recorder, "call", params("target", target, "via", "jni"), "ns/call", 5.1 + more, 8, 0.02, "jni");
            record(recorder, "call", params("target", target, "via", "ffm"), "ns/call", 5.0 + more / 2, 8, 0.02, "ffm");
            record(recorder, "call", params("target", target, "via", "critical"), "ns/call", 3.6 + more / 2, 8, 0.02, "critical");
        }
    }

    private void pairs(Recorder recorder) {
        Object[][] c = {{"word", 2.5}, {"byte", 7.9}, {"wide", 2.3}, {"word-exported", 5.8}, {"byte-exported", 9.0},
            {"wide-exported", 5.6}, {"pthread-mutex", 6.8}, {"pthread-spin", 5.2}, {"bare", 2.2}};
        for (Object[] each : c) {
            record(recorder, "pair", params("side", "c", "lock", each[0]), "ns/pair", (double) each[1], 40, 0.03, "c");
        }
        Object[][] peers = {{"reentrantlock", 6.4}, {"synchronized", 7.1}, {"pthread-mutex-ffm", 13.8}, {"pthread-mutex-jni", 14.9}};
        for (Object[] each : peers) {
            record(recorder, "pair", params("side", "java", "lock", each[0]), "ns/pair", (double) each[1], 8, 0.02, (String) each[0]);
        }
        for (int b = 0; b < BACKENDS.size(); b++) {
            for (int l = 0; l < LAYOUTS.size(); l++) {
                for (String place : List.of("pool", "arena")) {
                    if (few && !(l == 2 && place.equals("pool"))) {
                        continue;
                    }
                    record(recorder, "pair", params("side", "java", "lock", "qspinlock", "backend", BACKENDS.get(b), "layout",
                            LAYOUTS.get(l), "place", place), "ns/pair",
                            BACKEND_NS[b] + LAYOUT_NS[l] + (place.equals("arena") ? 1.4 : 0), 8, 0.02, BACKENDS.get(b));
                }
            }
        }
    }

    private void contended(Recorder recorder) {
        Object[][] peers = {{"java", "reentrantlock", 0.62}, {"java", "synchronized", 0.55}, {"java", "pthread-mutex-ffm", 0.4},
            {"c", "wide", 1.15}, {"c", "word", 1.05}, {"c", "pthread-mutex", 0.66}};
        for (int[] section : few ? new int[][] {SECTIONS[0], SECTIONS[1]} : SECTIONS) {
            for (int threads : few ? new int[] {2, 16} : THREADS) {
                for (int b = 0; b < BACKENDS.size(); b++) {
                    Map<String, Object> params = params("side", "java", "lock", "qspinlock", "backend", BACKENDS.get(b), "layout",
                            "wide", "place", "pool", "policy", "spin_then_park");
                    point(recorder, params, section, threads, 1.1 - 0.09 * b, BACKENDS.get(b));
                }
                for (Object[] peer : peers) {
                    point(recorder, params("side", peer[0], "lock", peer[1]), section, threads, (double) peer[2], (String) peer[1]);
                }
            }
        }
    }

    private void point(Recorder recorder, Map<String, Object> lock, int[] section, int threads, double good, String owner) {
        Map<String, Object> params = new LinkedHashMap<>(lock);
        params.put("threads", threads);
        params.put("inside_ns", section[0]);
        params.put("outside_ns", section[1]);
        params.put("mode", "throughput");
        double handOver = threads == 1 ? 4 : 22 + 6 * Math.log(threads) / good;
        double mops = 1e3 / (section[0] + handOver / good + Math.max(0, section[1] - 40.0 * (threads - 1)) / threads);
        record(recorder, "contended", params, "throughput", "Mops/s", mops, few ? 1 : 2, 0.04, owner);
        double jain = 1 / (1 + 0.02 * threads / good);
        record(recorder, "contended", params, "jain", "1", jain, 2, 0.01, "");
        record(recorder, "contended", params, "in_a_row", "acquisitions", 1 + 30 / good / Math.sqrt(threads), 2, 0.1, "");
        record(recorder, "contended", params, "allocated", "B/acquisition", 0, 2, 0, "");
        record(recorder, "contended", params, "thread_min", "kops/s", 1e3 * mops / threads * 0.8, 2, 0.1, owner);
        record(recorder, "contended", params, "thread_max", "kops/s", 1e3 * mops / threads * 1.3, 2, 0.1, owner);
    }

    private void latency(Results results) {
        for (String lock : List.of("hybrid", "reentrantlock", "pthread-mutex")) {
            for (int threads : new int[] {2, 16}) {
                Map<String, Object> params = lock.equals("hybrid")
                        ? params("side", "java", "lock", "qspinlock", "backend", lock, "layout", "wide", "place", "pool", "policy",
                                "spin_then_park")
                        : params("side", lock.equals("reentrantlock") ? "java" : "c", "lock", lock);
                params.put("threads", threads);
                params.put("inside_ns", 100);
                params.put("outside_ns", 0);
                params.put("mode", "latency");
                double base = (lock.equals("hybrid") ? 90 : 130) * threads * speed;
                Map<String, Metric> metrics = new LinkedHashMap<>();
                double[] shape = {1, 3, 14, 90, 600};
                String[] names = {"p50", "p90", "p99", "p999", "max"};
                for (int i = 0; i < names.length; i++) {
                    double value = base * shape[i] * Math.exp(0.03 * quietness * random.nextGaussian());
                    metrics.put(names[i], new Metric(value, "ns", 0.03 * quietness * value));
                }
                results.add(new Result("contended", params, metrics));
            }
        }
    }

    private final Map<String, Double> runToRun = new LinkedHashMap<>();

    private void record(Recorder recorder, String experiment, Map<String, Object> params, String unit, double value,
            int repeats, double sigma, String owner) {
        record(recorder, experiment, params, "time", unit, value, repeats, sigma, owner);
    }

    private void record(Recorder recorder, String experiment, Map<String, Object> params, String metric, String unit,
            double value, int repeats, double sigma, String owner) {
        boolean rate = unit.endsWith("/s");
        boolean fast = rate || unit.startsWith("ns");
        double factor = fast
                ? speed * runToRun.computeIfAbsent(owner, o -> Math.exp(0.01 * quietness * random.nextGaussian()))
                        * Math.exp(0.01 * quietness * random.nextGaussian()) * (owner.equals(slower) ? by : 1)
                : 1;
        double[] all = new double[repeats];
        for (int i = 0; i < repeats; i++) {
            double interrupted = random.nextInt(100) == 0 ? 1.3 : 1;
            double one = fast ? factor * interrupted * Math.exp(sigma * quietness * random.nextGaussian()) : 1 + sigma * random.nextGaussian();
            all[i] = rate ? value / one : value * one;
        }
        recorder.record(experiment, params, metric, unit, all);
    }

    /** Parameters in the order given. */
    public static Map<String, Object> params(Object... keysAndValues) {
        Map<String, Object> params = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            params.put((String) keysAndValues[i], keysAndValues[i + 1]);
        }
        return params;
    }
}
