// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.contend.Outcome;
import io.panalock.bench.peer.CPeers;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** What claims about locks measure. */
final class LockPoints {
    private static final int PAIRS = 50_000;
    private static final int DOMAIN_SLOTS = 1024;
    private static final double NS_PER_MS = 1e6;

    private LockPoints() {}

    /** Uncontended pairs of a lock. */
    record Pair(String lock) implements Point.Windowed {
        @Override
        public String batch() {
            return "uncontended pairs";
        }

        @Override
        public Map<String, Object> params() {
            return Map.of("pair", lock);
        }

        @Override
        public String unit(String metric) {
            return "ns/pair";
        }

        @Override
        public double window(Bench bench) {
            return (double) bench.lockForPairs(lock).pairs(PAIRS) / PAIRS;
        }
    }

    /** A contended point of a lock: {@code throughput}, {@code jain}, {@code allocated}; or {@code longest}. */
    record Contended(String lock, ContendedPoint point) implements Point.Whole {
        @Override
        public String batch() {
            return (lock.startsWith("c-") ? "C, " : "Java, ") + point.threads() + " threads, " + point.insideNs()
                    + " ns inside, " + point.outsideNs() + " ns outside, "
                    + point.mode().name().toLowerCase(Locale.ROOT);
        }

        @Override
        public Map<String, Object> params() {
            Map<String, Object> params = new LinkedHashMap<>();
            params.put("contended", lock);
            params.putAll(point.params());
            return params;
        }

        @Override
        public String unit(String metric) {
            return switch (metric) {
                case "throughput" -> "Mops/s";
                case "longest" -> "ms";
                case "allocated" -> "B/acquisition";
                default -> "1";
            };
        }

        @Override
        public Map<String, Double> measure(Bench bench) {
            Outcome outcome = bench.lockForContention(lock).contend(point, bench.warmNs(), bench.windowNs());
            return point.latency()
                    ? Map.of("longest", outcome.longestNs() / NS_PER_MS)
                    : Map.of("throughput", outcome.mops(), "jain", outcome.jain(), "allocated", outcome.allocatedPerAcquisition());
        }
    }

    /** Java objects that an uncontended pair allocates: metric {@code allocated}. */
    record Allocation(String lock) implements Point.Whole {
        @Override
        public String batch() {
            return "allocations";
        }

        @Override
        public Map<String, Object> params() {
            return Map.of("allocation", lock);
        }

        @Override
        public String unit(String metric) {
            return "B/pair";
        }

        @Override
        public Map<String, Double> measure(Bench bench) {
            return Map.of("allocated", (double) bench.lockForPairs(lock).allocatedByPairs(PAIRS) / PAIRS);
        }
    }

    /** A size that does not vary: metric {@code bytes}. */
    record Size(String what) implements Point.Whole {
        @Override
        public String batch() {
            return "sizes";
        }

        @Override
        public Map<String, Object> params() {
            return Map.of("size", what);
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
            int bytes = switch (what) {
                case "WORD", "BYTE", "WIDE" -> CPeers.lockBytes(Locks.LAYOUTS.indexOf(what.toLowerCase(Locale.ROOT)));
                case "domain" -> Math.toIntExact(CPeers.domainBytes(DOMAIN_SLOTS));
                default -> throw new IllegalArgumentException(what);
            };
            return Map.of("bytes", (double) bytes);
        }
    }
}
