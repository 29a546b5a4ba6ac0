// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.call.GcEffect;
import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.JavaLock;
import io.panalock.bench.contend.Lock;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.contend.Outcome;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.jmh.JmhRun;
import io.panalock.bench.peer.CPeers;
import io.panalock.bench.result.Recorder;
import io.panalock.bench.result.Stats;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * The experiments that commands are made of. Each measures its points in rounds, all points once, then all points again,
 * and every other round goes backwards, so that a drift of the machine's speed hits first and last alike.
 */
final class Measurements {
    private static final int WINDOWS = 40;

    /** Whatever else runs only ever makes a window longer: the shortest of so many in a row is one repeat. */
    private static final int WINDOWS_A_REPEAT = 4;

    private static final int PAIRS = 50_000;
    private static final long PING_PONG_NS = 100_000_000;
    private static final long NS_PER_MS = 1_000_000;
    private static final double US = 1e-3;

    /** Names of the percentiles in results. */
    private static final Map<String, Double> PERCENTILES = new LinkedHashMap<>();

    static {
        PERCENTILES.put("p50", 50.0);
        PERCENTILES.put("p90", 90.0);
        PERCENTILES.put("p99", 99.0);
        PERCENTILES.put("p99_9", 99.9);
    }

    private final PrintStream out;
    private final Recorder recorder;

    Measurements(Experiment.Run run) {
        this.out = run.out();
        this.recorder = run.recorder();
    }

    void floors() {
        CPeers.Floors floors = CPeers.floors();
        recorder.record("floor", Map.of("what", "atomic"), "time", "ns", floors.atomicNs());
        recorder.record("floor", Map.of("what", "clock"), "time", "ns", floors.clockNs());
        CPeers.pingPong(0, 1, PING_PONG_NS)
                .ifPresent(ns -> recorder.record("floor", Map.of("what", "cache-line"), "time", "ns", ns));
    }

    private static <T> List<T> inOrder(List<T> points, int round) {
        List<T> ordered = new ArrayList<>(points);
        if (round % 2 == 1) {
            Collections.reverse(ordered);
        }
        return ordered;
    }

    void calls(JmhRun jmh, List<JmhPoint> points, int rounds) {
        try (Progress progress = Progress.start(out, "calls", points.size() * rounds)) {
            for (int round = 0; round < rounds; round++) {
                for (JmhPoint point : inOrder(points, round)) {
                    progress.at(point.label());
                    JmhRun.Measured measured = jmh.measure(point);
                    recorder.record(point.experiment(), point.params(), "time", point.unit(), measured.scores());
                    recorder.record(point.experiment(), point.params(), "allocated", "B/call", measured.allocated());
                    progress.step();
                }
            }
        }
    }

    void callsAndCollector(int windowMs, int rounds) {
        GcEffect effect = new GcEffect(recorder, windowMs);
        try (Progress progress = Progress.start(out, "calls and the collector", rounds)) {
            for (int round = 0; round < rounds; round++) {
                effect.measure();
                progress.step();
            }
        }
    }

    /** Short windows of all locks in turns, so that whatever disturbs the machine hits all of them. */
    void pairs(List<String> ids, int rounds) {
        try (Progress progress = Progress.start(out, "uncontended", ids.size() + rounds)) {
            List<Lock> locks = new ArrayList<>();
            for (String id : ids) {
                progress.at("warm-up " + id);
                Lock lock = Locks.openForPairs(id);
                lock.warmUp();
                locks.add(lock);
                progress.step();
            }
            for (int round = 0; round < rounds; round++) {
                Map<Lock, double[]> windows = new LinkedHashMap<>();
                for (int w = 0; w < WINDOWS; w++) {
                    for (Lock lock : inOrder(locks, w)) {
                        windows.computeIfAbsent(lock, l -> new double[WINDOWS])[w] = (double) lock.pairs(PAIRS) / PAIRS;
                    }
                }
                windows.forEach((lock, ns) -> recorder.record("pair", lock.params(), "time", "ns/pair", repeats(ns)));
                progress.step();
            }
        }
    }

    static double[] repeats(double[] windows) {
        double[] repeats = new double[windows.length / WINDOWS_A_REPEAT];
        for (int i = 0; i < repeats.length; i++) {
            repeats[i] = Stats.min(Arrays.copyOfRange(windows, i * WINDOWS_A_REPEAT, (i + 1) * WINDOWS_A_REPEAT));
        }
        return repeats;
    }

    /** Throughput or latency, whichever the points say. */
    void contended(List<String> ids, List<ContendedPoint> points, int rounds, int warmMs, int windowMs) {
        if (ids.isEmpty() || points.isEmpty()) {
            return;
        }
        String title = points.getFirst().latency() ? "latency" : "contended";
        try (Progress progress = Progress.start(out, title, ids.size() * (1 + points.size() * rounds))) {
            List<Lock> locks = new ArrayList<>();
            for (String id : ids) {
                progress.at("warm-up " + id);
                Lock lock = Locks.open(id);
                if (lock instanceof JavaLock java) {
                    java.warmUpContended();
                } else {
                    lock.calibrate();
                }
                locks.add(lock);
                progress.step();
            }
            for (int round = 0; round < rounds; round++) {
                for (ContendedPoint point : points) {
                    for (Lock lock : inOrder(locks, round)) {
                        progress.at(lock.id() + " " + point.threads() + " threads");
                        record(lock, point, lock.contend(point, warmMs * NS_PER_MS, windowMs * NS_PER_MS));
                        progress.step();
                    }
                }
            }
        }
    }

    private void record(Lock lock, ContendedPoint point, Outcome outcome) {
        Map<String, Object> params = new LinkedHashMap<>(lock.params());
        params.putAll(point.params());
        if (outcome.latencies().isPresent()) {
            Histogram latencies = outcome.latencies().get();
            PERCENTILES.forEach((name, percent) -> recorder.record(
                    "contended", params, name, "µs", latencies.getValueAtPercentile(percent) * US));
            recorder.record("contended", params, "max", "µs", outcome.longestNs() * US);
            return;
        }
        double[] perThread = new double[outcome.counts().length];
        for (int i = 0; i < perThread.length; i++) {
            perThread[i] = outcome.counts()[i] * 1e6 / outcome.windowNs();
        }
        recorder.record("contended", params, "throughput", "Mops/s", outcome.mops());
        recorder.record("contended", params, "thread_min", "kops/s", Stats.min(perThread));
        recorder.record("contended", params, "thread_mean", "kops/s", Stats.mean(perThread));
        recorder.record("contended", params, "thread_max", "kops/s", Stats.max(perThread));
        recorder.record("contended", params, "jain", "1", outcome.jain());
        recorder.record("contended", params, "in_a_row", "acquisitions", outcome.inARow());
        recorder.record("contended", params, "switches", "1/s", outcome.switchesPerSecond());
        recorder.record("contended", params, "allocated", "B/acquisition", outcome.allocatedPerAcquisition());
    }
}
