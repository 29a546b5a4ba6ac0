// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.jmh.JmhRun;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code run} measures and for how long.
 *
 * @param jmh settings of every JMH benchmark
 * @param rounds how often everything is measured, interleaved: all points once, then all points again
 * @param calls JMH points
 * @param pairs JMH points, Java pairs
 * @param cPairs ids of locks in C
 * @param contended ids of locks, in C and in Java
 * @param points of the contended experiment
 * @param warmMs all threads run this long before the window opens
 * @param windowMs the window
 */
record RunPlan(
        JmhRun jmh,
        int rounds,
        List<JmhPoint> calls,
        List<JmhPoint> pairs,
        List<String> cPairs,
        List<String> contended,
        List<ContendedPoint> points,
        int warmMs,
        int windowMs) {
    /** Work inside and outside the lock, in ns. */
    record Section(int insideNs, int outsideNs) {
        String label() {
            return insideNs == 0 && outsideNs == 0
                    ? "empty section"
                    : insideNs + " ns inside" + (outsideNs == 0 ? "" : ", " + outsideNs + " ns outside");
        }
    }

    static final List<Section> SECTIONS = List.of(new Section(0, 0), new Section(100, 0), new Section(100, 500));
    static final List<Integer> THREADS = List.of(2, 4, 16, 64);
    static final List<String> C_PAIRS = List.of("c-word", "c-byte", "c-wide", "c-word-exported", "c-byte-exported",
            "c-wide-exported", "c-pthread-mutex", "c-pthread-spin", "c-bare");

    static RunPlan full() {
        List<JmhPoint> pairs = new ArrayList<>(JmhPoint.peerPairs());
        for (String backend : Locks.BACKENDS) {
            for (String layout : Locks.LAYOUTS) {
                for (String place : Locks.PLACES) {
                    pairs.add(JmhPoint.pair(backend, layout, place));
                }
            }
        }
        List<String> contended = new ArrayList<>();
        Locks.BACKENDS.forEach(backend -> contended.add(Locks.panalock(backend, "wide", "pool")));
        contended.addAll(List.of(Locks.panalock("hybrid", "word", "pool"), Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED,
                Locks.MUTEX_FFM, "c-wide", "c-word", "c-pthread-mutex"));
        return new RunPlan(new JmhRun(2, 80, 4, 50), 2, JmhPoint.calls(JmhPoint.TARGETS), pairs, C_PAIRS, contended,
                points(THREADS, SECTIONS), 15, 120);
    }

    static RunPlan quick() {
        List<JmhPoint> pairs = new ArrayList<>(JmhPoint.peerPairs().subList(0, 3));
        Locks.BACKENDS.forEach(backend -> pairs.add(JmhPoint.pair(backend, "wide", "pool")));
        pairs.add(JmhPoint.pair("hybrid", "word", "arena"));
        List<String> contended = List.of(Locks.panalock("hybrid", "wide", "pool"), Locks.panalock("pure", "wide", "pool"),
                Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED, "c-wide", "c-pthread-mutex");
        return new RunPlan(new JmhRun(2, 60, 4, 40), 1, JmhPoint.calls(List.of("blank", "pointer")), pairs, C_PAIRS,
                contended, points(List.of(2, 16), SECTIONS.subList(0, 2)), 15, 150);
    }

    private static List<ContendedPoint> points(List<Integer> threads, List<Section> sections) {
        List<ContendedPoint> points = new ArrayList<>();
        for (Section section : sections) {
            for (int n : threads) {
                points.add(new ContendedPoint(
                        n, section.insideNs, section.outsideNs, ContendedPoint.Mode.THROUGHPUT));
            }
        }
        return points;
    }
}
