// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.compare;

import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a unit says about a figure.
 *
 * @param kind what is measured
 * @param factor the figure times this is in nanoseconds (times), per second (rates), or as it is
 */
public record Quantity(Kind kind, double factor) {
    /** What is measured, and which way is better. */
    public enum Kind {
        TIME(-1),
        RATE(1),
        /** Memory: fewer bytes are better; does not depend on the machine's speed. */
        BYTES(-1),
        /** Indexes, counts, whatever else. Neither way is better by itself. */
        OTHER(0);

        private final int better;

        Kind(int better) {
            this.better = better;
        }

        /** 1 when more is better, -1 when less is, 0 when neither. */
        public int better() {
            return better;
        }

        /** True when a faster machine has better figures. */
        public boolean dependsOnSpeed() {
            return this == TIME || this == RATE;
        }
    }

    private static final Map<String, Double> TIMES =
            Map.of("ns", 1.0, "us", 1e3, "\u00b5s", 1e3, "microseconds", 1e3, "ms", 1e6, "s", 1e9);
    private static final Map<String, Double> PREFIXES = Map.of("", 1.0, "k", 1e3, "K", 1e3, "M", 1e6, "G", 1e9);
    private static final Pattern RATE = Pattern.compile("([kKMG]?)[A-Za-z]*/s");

    /** Reads units such as {@code ns/call}, {@code us}, {@code Mops/s}, {@code B/acquisition}. */
    public static Quantity of(String unit) {
        Double time = TIMES.get(unit.split("/", 2)[0]);
        if (time != null) {
            return new Quantity(Kind.TIME, time);
        }
        Matcher rate = RATE.matcher(unit);
        if (rate.matches()) {
            return new Quantity(Kind.RATE, PREFIXES.get(rate.group(1)));
        }
        return new Quantity(unit.equals("B") || unit.startsWith("B/") ? Kind.BYTES : Kind.OTHER, 1);
    }

    /** True when an emulator makes figures of this unit meaningless: times, rates, and what happens so often per second. */
    public static boolean dependsOnClock(String unit) {
        return of(unit).kind().dependsOnSpeed() || unit.endsWith("/s");
    }

    /** How long one operation takes on average; nothing when the figure is neither a time nor a rate. */
    public Optional<Double> nanoseconds(double figure) {
        return switch (kind) {
            case TIME -> Optional.of(figure * factor);
            case RATE -> figure > 0 ? Optional.of(1e9 / (figure * factor)) : Optional.empty();
            case BYTES, OTHER -> Optional.empty();
        };
    }
}
