// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.ContendedPoint.Mode;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.jmh.JmhRun;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code run} measures and for how long.
 *
 * @param jmh settings of every JMH benchmark
 * @param rounds how often calls and pairs are measured, interleaved: all points once, then all points again
 * @param contendedRounds the same for contended points; without several nothing is known of their noise
 * @param calls JMH points
 * @param collectorMs windows of calls beside a working collector
 * @param pairs ids of locks, in Java and in C
 * @param contended ids of locks, in Java and in C
 * @param points of the contended experiment
 * @param timed ids of the locks whose latency is measured
 * @param latency points of the contended experiment, latency
 * @param warmMs all threads run this long before the window opens
 * @param windowMs the window
 */
record RunPlan(
        JmhRun jmh,
        int rounds,
        int contendedRounds,
        List<JmhPoint> calls,
        int collectorMs,
        List<String> pairs,
        List<String> contended,
        List<ContendedPoint> points,
        List<String> timed,
        List<ContendedPoint> latency,
        int warmMs,
        int windowMs) {
    /** Work inside and outside the lock, in ns. */
    record Section(int insideNs, int outsideNs) {}

    static final List<Section> SECTIONS = List.of(new Section(0, 0), new Section(100, 0), new Section(100, 500));
    static final List<Integer> THREADS = List.of(2, 4, 16, 64);

    private static final String HYBRID = Locks.panalock("hybrid", "wide", "pool");
    private static final String PURE = Locks.panalock("pure", "wide", "pool");

    static RunPlan full() {
        List<JmhPoint> calls = new ArrayList<>(JmhPoint.calls(JmhPoint.TARGETS, JmhPoint.JDK_WAYS));
        for (JmhPoint point : JmhPoint.calls(List.of("blank"), JmhPoint.WAYS)) {
            if (!calls.contains(point)) {
                calls.add(point);
            }
        }
        List<String> pairs = new ArrayList<>(Locks.allPanalock());
        pairs.addAll(Locks.javaPeers());
        pairs.addAll(unspun(Locks.inC()));
        List<String> contended = new ArrayList<>();
        Locks.BACKENDS.forEach(backend -> contended.add(Locks.panalock(backend, "wide", "pool")));
        contended.addAll(List.of(Locks.panalock("hybrid", "word", "pool"), Locks.REENTRANT_LOCK, Locks.STAMPED_LOCK,
                Locks.SYNCHRONIZED, Locks.MUTEX_FFM, "c-wide", "c-word", "c-pthread-mutex", "c-pthread-adaptive"));
        contended.retainAll(available(contended));
        return new RunPlan(new JmhRun(2, 150, 4, 50), 2, 3, calls, 80, pairs, contended,
                points(THREADS, SECTIONS, Mode.THROUGHPUT),
                List.of(HYBRID, PURE, Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED, "c-wide", "c-pthread-mutex"),
                points(List.of(2, 16), SECTIONS.subList(1, 2), Mode.LATENCY), 15, 100);
    }

    static RunPlan quick() {
        List<String> pairs = new ArrayList<>();
        Locks.BACKENDS.forEach(backend -> pairs.add(Locks.panalock(backend, "wide", "pool")));
        pairs.addAll(List.of(Locks.panalock("hybrid", "word", "arena"), Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED,
                Locks.MUTEX_FFM));
        pairs.addAll(unspun(Locks.inC()));
        List<String> contended =
                List.of(HYBRID, PURE, Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED, "c-wide", "c-pthread-mutex");
        // Three JVMs a call: one alone may have compiled it unluckily, and its own repeats would not show that.
        return new RunPlan(new JmhRun(3, 100, 3, 40), 3, 3,
                JmhPoint.calls(List.of("blank", "pointer", "string"), JmhPoint.JDK_WAYS), 40, pairs, contended,
                points(List.of(2, 16), SECTIONS.subList(0, 2), Mode.THROUGHPUT), contended,
                points(List.of(16), SECTIONS.subList(1, 2), Mode.LATENCY), 15, 80);
    }

    /** A policy says how to wait; without contention nobody does. */
    private static List<String> unspun(List<String> ids) {
        return ids.stream().filter(id -> !id.endsWith("-spin") || id.equals("c-pthread-spin")).toList();
    }

    private static List<String> available(List<String> ids) {
        return ids.stream().filter(id -> !Locks.notBuilt().contains(id)).toList();
    }

    static List<ContendedPoint> points(List<Integer> threads, List<Section> sections, Mode mode) {
        return points(threads, sections, mode, false);
    }

    static List<ContendedPoint> points(List<Integer> threads, List<Section> sections, Mode mode, boolean pinned) {
        List<ContendedPoint> points = new ArrayList<>();
        for (Section section : sections) {
            for (int n : threads) {
                points.add(new ContendedPoint(n, section.insideNs, section.outsideNs, mode, pinned));
            }
        }
        return points;
    }

    /** The same, each thread on a CPU of its own as far as there are enough. */
    RunPlan pinned(boolean pinned) {
        return new RunPlan(jmh, rounds, contendedRounds, calls, collectorMs, pairs, contended, pinned(points, pinned), timed,
                pinned(latency, pinned), warmMs, windowMs);
    }

    private static List<ContendedPoint> pinned(List<ContendedPoint> points, boolean pinned) {
        return points.stream()
                .map(p -> new ContendedPoint(p.threads(), p.insideNs(), p.outsideNs(), p.mode(), pinned))
                .toList();
    }
}
