// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.locktest;

import io.panalock.bench.claim.Bench;
import io.panalock.bench.claim.Point;
import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.ContendedPoint.Mode;
import io.panalock.bench.peer.Broadcasts;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One run of locktest, for claims: metrics {@code total}, {@code min}, {@code max_over_mean}.
 *
 * @param lock id as in {@code Locks}
 * @param threads how many
 * @param load pauses inside the critical section
 * @param longRun 10 s, whatever the claims' windows are
 */
public record LocktestPoint(String lock, int threads, int load, boolean longRun) implements Point.Whole {
    private static final long LONG_NS = 10_000_000_000L;

    @Override
    public String batch() {
        return (lock.startsWith("c-") ? "C, " : "Java, ") + "locktest, " + threads + " threads, load " + load
                + (longRun ? ", 10 s" : "");
    }

    @Override
    public Map<String, Object> params() {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("locktest", lock);
        params.put("threads", threads);
        params.put("load", load);
        if (longRun) {
            params.put("seconds", LONG_NS / 1_000_000_000);
        }
        return params;
    }

    @Override
    public String unit(String metric) {
        return switch (metric) {
            case "total" -> "kops/s";
            case "min" -> "acquisitions";
            default -> "1";
        };
    }

    @Override
    public int repeats(Bench bench) {
        return longRun ? 1 : bench.repeats();
    }

    @Override
    public Map<String, Double> measure(Bench bench) {
        ContendedPoint point = new ContendedPoint(threads, 0, load, 0, Mode.THROUGHPUT, false);
        Tally t = Tally.of(bench.lockForContention(lock).contend(point, bench.warmNs(), longRun ? LONG_NS : bench.windowNs()));
        return Map.of("total", t.kops(), "min", (double) t.min(), "max_over_mean", t.maxOverMean());
    }

    /** A broadcast to so many waiters: metric {@code per_thread}, context switches. */
    public record Broadcast(int waiters) implements Point.Whole {
        @Override
        public String batch() {
            return "broadcast";
        }

        @Override
        public Map<String, Object> params() {
            return Map.of("broadcast", waiters);
        }

        @Override
        public String unit(String metric) {
            return "switches";
        }

        @Override
        public Map<String, Double> measure(Bench bench) {
            return Map.of("per_thread", (double) Broadcasts.switches(waiters) / waiters);
        }
    }
}
