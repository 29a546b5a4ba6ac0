// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * What one game cost.
 *
 * @param passes how often the token was passed on
 * @param elapsedNs from the first write to the last player's end
 * @param cpuNs of the players, user and system
 * @param switches context switches of the players
 * @param migrations from CPU to CPU; -1: not known
 * @param self passes whose reader was the writer
 * @param least of one player
 * @param most of one player
 * @param jain fairness of the players' passes
 */
record Outcome(
        long passes, long elapsedNs, long cpuNs, long switches, long migrations, long self, long least, long most, double jain) {

    /** Counts what the players have counted. */
    static Outcome of(long[] passes, long self, long elapsedNs, long cpuNs, long switches) {
        long sum = 0;
        long least = Long.MAX_VALUE;
        long most = 0;
        double squares = 0;
        for (long p : passes) {
            sum += p;
            least = Math.min(least, p);
            most = Math.max(most, p);
            squares += (double) p * p;
        }
        double jain = squares > 0 ? (double) sum * sum / (passes.length * squares) : 0;
        return new Outcome(sum, elapsedNs, cpuNs, switches, -1, self, least, most, jain);
    }

    /** From the answer of panalock-bench-c. */
    static Outcome parse(long passes, String answer) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String word : answer.split(" ")) {
            int split = word.indexOf('=');
            if (split > 0) {
                values.put(word.substring(0, split), word.substring(split + 1));
            }
        }
        return new Outcome(
                passes,
                Long.parseLong(values.get("elapsed_ns")),
                Long.parseLong(values.get("cpu_ns")),
                Long.parseLong(values.get("switches")),
                Long.parseLong(values.get("migrations")),
                Long.parseLong(values.get("self")),
                Long.parseLong(values.get("least")),
                Long.parseLong(values.get("most")),
                Double.parseDouble(values.get("jain")));
    }

    /** As panalock-bench-c answers. */
    String line() {
        return String.format(
                Locale.ROOT,
                "tokens elapsed_ns=%d cpu_ns=%d switches=%d migrations=%d self=%d least=%d most=%d jain=%.4f",
                elapsedNs, cpuNs, switches, migrations, self, least, most, jain);
    }

    double perPassUs() {
        return elapsedNs / 1e3 / passes;
    }

    double switchesPerPass() {
        return (double) switches / passes;
    }

    /** Per cent. */
    double selfShare() {
        return 100.0 * self / passes;
    }
}
