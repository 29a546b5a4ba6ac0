// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Which lines a chart draws at first: all of a few; of many those that answer what most readers ask (our default lock, and
 * what they use today, in Java and in C). The others are one press away, and always in the table.
 */
final class Selection {
    /** So many lines can be told apart. */
    private static final int FEW = 8;

    private static final int AT_FIRST = 6;
    private static final List<String> ASKED_FOR =
            List.of("HYBRID WIDE", "ReentrantLock", "C WIDE, inline", "C pthread_mutex", "synchronized", "PURE WIDE", "HYBRID");

    private Selection() {}

    /** Their numbers. */
    static Set<Integer> of(List<String> series) {
        if (series.size() <= FEW) {
            return new LinkedHashSet<>(IntStream.range(0, series.size()).boxed().toList());
        }
        Set<Integer> shown = new LinkedHashSet<>();
        for (String name : ASKED_FOR) {
            int at = series.indexOf(name);
            if (at >= 0 && shown.size() < AT_FIRST) {
                shown.add(at);
            }
        }
        for (int s = 0; s < series.size() && shown.size() < AT_FIRST; s++) {
            shown.add(s);
        }
        return shown;
    }
}
