// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.contend.ContendedPoint;

/** Something that can be measured; points of one batch are measured in turns. */
public sealed interface Point {
    /** Points of the same batch are interleaved; both sides of a claim belong to one batch. */
    String batch();

    /** Uncontended pairs of a lock: metric {@code time}, ns. */
    record Pair(String lock) implements Point {
        @Override
        public String batch() {
            return "uncontended pairs";
        }
    }

    /** A contended point of a lock: {@code throughput}, {@code jain}, {@code allocated}; or {@code longest}, ms. */
    record Contended(String lock, ContendedPoint point) implements Point {
        @Override
        public String batch() {
            return (lock.startsWith("c-") ? "C, " : "Java, ") + point.threads() + " threads, " + point.insideNs()
                    + " ns inside, " + point.outsideNs() + " ns outside, "
                    + point.mode().name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** Java objects that an uncontended pair allocates: metric {@code allocated}, bytes. */
    record Allocation(String lock) implements Point {
        @Override
        public String batch() {
            return "allocations";
        }
    }

    /** A size in bytes that does not vary: metric {@code bytes}. */
    record Size(String what) implements Point {
        @Override
        public String batch() {
            return "sizes";
        }
    }

    /**
     * Two runs in a row: {@code worst} and {@code median} difference of a ratio, per cent; whether {@code compare}
     * {@code missed} a planted slowdown or raised {@code alarms}.
     */
    record TwoRuns() implements Point {
        @Override
        public String batch() {
            return "two runs in a row";
        }
    }

    /**
     * One metric of a point.
     *
     * @param point what is measured
     * @param metric which of its metrics
     */
    record Quantity(Point point, String metric) {}
}
