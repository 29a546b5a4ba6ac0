// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.contend.JavaLock;
import io.panalock.bench.contend.Lock;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.contend.Outcome;
import io.panalock.bench.peer.CPeers;
import io.panalock.bench.result.Stats;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Measures points: once each, in turns. */
class Bench {
    private static final int WINDOWS = 25;
    private static final int PAIRS = 50_000;
    private static final int DOMAIN_SLOTS = 1024;
    /** Shorter windows mean that little time is wanted. */
    private static final long BRIEF_NS = 1_000_000_000;
    private static final double NS_PER_MS = 1e6;

    private final long warmNs;
    private final long windowNs;
    private final Map<String, Lock> forPairs = new HashMap<>();
    private final Map<String, Lock> forContention = new HashMap<>();

    Bench(long warmNs, long windowNs) {
        this.warmNs = warmNs;
        this.windowNs = windowNs;
    }

    /** One repeat of every point: its metrics, by name. All points belong to one batch. */
    Map<Point, Map<String, Double>> round(List<Point> points) {
        Map<Point, Map<String, Double>> metrics = new LinkedHashMap<>();
        List<Point.Pair> pairs = new ArrayList<>();
        for (Point point : points) {
            switch (point) {
                case Point.Pair pair -> pairs.add(pair);
                case Point.Contended contended -> metrics.put(point, contended(contended));
                case Point.Allocation allocation -> metrics.put(point, Map.of("allocated", allocated(allocation.lock())));
                case Point.Size size -> metrics.put(point, Map.of("bytes", bytes(size.what())));
                case Point.TwoRuns runs -> metrics.put(point, TwoRuns.measure(windowNs < BRIEF_NS));
            }
        }
        pairs(pairs, metrics);
        return metrics;
    }

    /** Windows of all locks in turns, so that whatever disturbs the machine hits all of them; each lock's median. */
    private void pairs(List<Point.Pair> points, Map<Point, Map<String, Double>> metrics) {
        double[][] windows = new double[points.size()][WINDOWS];
        for (int w = 0; w < WINDOWS; w++) {
            for (int i = 0; i < points.size(); i++) {
                Lock lock = forPairs.computeIfAbsent(points.get(i).lock(), Bench::openWarm);
                windows[i][w] = (double) lock.pairs(PAIRS) / PAIRS;
            }
        }
        for (int i = 0; i < points.size(); i++) {
            metrics.put(points.get(i), Map.of("time", Stats.median(windows[i])));
        }
    }

    private static Lock openWarm(String id) {
        Lock lock = Locks.open(id);
        lock.warmUp();
        return lock;
    }

    private static Lock openWarmContended(String id) {
        Lock lock = Locks.open(id);
        if (lock instanceof JavaLock java) {
            java.warmUpContended();
        } else {
            lock.calibrate();
        }
        return lock;
    }

    private Map<String, Double> contended(Point.Contended point) {
        Lock lock = forContention.computeIfAbsent(point.lock(), Bench::openWarmContended);
        Outcome outcome = lock.contend(point.point(), warmNs, windowNs);
        if (point.point().latency()) {
            return Map.of("longest", outcome.longestNs() / NS_PER_MS);
        }
        return Map.of("throughput", outcome.mops(), "jain", outcome.jain(), "allocated", outcome.allocatedPerAcquisition());
    }

    private double allocated(String id) {
        JavaLock lock = (JavaLock) forPairs.computeIfAbsent(id, Bench::openWarm);
        return (double) lock.allocatedByPairs(PAIRS) / PAIRS;
    }

    private static double bytes(String what) {
        return switch (what) {
            case "WORD", "BYTE", "WIDE" -> CPeers.lockBytes(Locks.LAYOUTS.indexOf(what.toLowerCase(Locale.ROOT)));
            case "domain" -> CPeers.domainBytes(DOMAIN_SLOTS);
            default -> throw new IllegalArgumentException(what);
        };
    }
}
