// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.JavaLock;
import io.panalock.bench.contend.Lock;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.contend.Outcome;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.peer.CPeers;
import io.panalock.bench.result.Recorder;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.Stats;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Measures a {@link RunPlan}. */
final class RunJob {
    private static final int WINDOWS = 40;
    private static final int PAIRS = 50_000;
    private static final long PING_PONG_NS = 100_000_000;

    private final RunPlan plan;
    private final PrintStream out;
    private final Recorder recorder;

    RunJob(RunPlan plan, Results results, PrintStream out) {
        this.plan = plan;
        this.out = out;
        this.recorder = new Recorder(results);
    }

    void run() {
        floors();
        jmh("calls", plan.calls());
        jmh("locks", plan.pairs());
        contended();
    }

    private void floors() {
        CPeers.Floors floors = CPeers.floors();
        recorder.record("floor", Map.of("what", "atomic"), "time", "ns", floors.atomicNs());
        recorder.record("floor", Map.of("what", "clock"), "time", "ns", floors.clockNs());
        CPeers.pingPong(0, 1, PING_PONG_NS)
                .ifPresent(ns -> recorder.record("floor", Map.of("what", "cache-line"), "time", "ns", ns));
    }

    /** Every other round goes backwards, so that a drift of the machine's speed hits first and last alike. */
    private void jmh(String title, List<JmhPoint> points) {
        boolean withC = points == plan.pairs();
        try (Progress progress = Progress.start(out, title, points.size() * plan.rounds())) {
            for (int round = 0; round < plan.rounds(); round++) {
                if (withC) {
                    cPairs();
                }
                for (JmhPoint point : inOrder(points, round)) {
                    progress.at(point.label());
                    recorder.record(
                            point.experiment(), point.params(), "time", point.unit(), plan.jmh().measure(point));
                    progress.step();
                }
            }
        }
    }

    private static <T> List<T> inOrder(List<T> points, int round) {
        List<T> ordered = new ArrayList<>(points);
        if (round % 2 == 1) {
            Collections.reverse(ordered);
        }
        return ordered;
    }

    private void cPairs() {
        List<Lock> locks = plan.cPairs().stream().map(Locks::open).toList();
        Map<Lock, double[]> windows = new LinkedHashMap<>();
        for (int w = 0; w < WINDOWS; w++) {
            for (Lock lock : locks) {
                windows.computeIfAbsent(lock, l -> new double[WINDOWS])[w] = (double) lock.pairs(PAIRS) / PAIRS;
            }
        }
        windows.forEach((lock, ns) -> recorder.record("pair", lock.params(), "time", "ns/pair", ns));
    }

    private void contended() {
        List<Lock> locks = plan.contended().stream().map(Locks::open).toList();
        int steps = locks.size() * (1 + plan.points().size() * plan.rounds());
        try (Progress progress = Progress.start(out, "contended", steps)) {
            for (Lock lock : locks) {
                progress.at("warm-up " + lock.id());
                if (lock instanceof JavaLock java) {
                    java.warmUpContended();
                } else {
                    lock.calibrate();
                }
                progress.step();
            }
            for (int round = 0; round < plan.rounds(); round++) {
                for (ContendedPoint point : plan.points()) {
                    for (Lock lock : inOrder(locks, round)) {
                        progress.at(lock.id() + " " + point.threads() + " threads");
                        record(lock, point, lock.contend(point, plan.warmMs() * 1_000_000L, plan.windowMs() * 1_000_000L));
                        progress.step();
                    }
                }
            }
        }
    }

    private void record(Lock lock, ContendedPoint point, Outcome outcome) {
        Map<String, Object> params = new LinkedHashMap<>(lock.params());
        params.putAll(point.params());
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
        recorder.record("contended", params, "allocated", "B/acquisition", outcome.allocatedPerAcquisition());
    }
}
