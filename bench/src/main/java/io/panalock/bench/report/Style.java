// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How a series looks: always the same for the same name, and never by colour alone.
 *
 * @param hue number of a colour of page.css
 * @param dashed C, or a second series that would look like another
 * @param symbol as ECharts calls it
 */
record Style(int hue, boolean dashed, String symbol) {
    private static final List<String> SYMBOLS = List.of("circle", "rect", "triangle", "diamond");
    private static final int HUES = 10;

    /** The longest prefix of a series' name decides. */
    private static final Map<String, Style> KNOWN = Map.ofEntries(
            Map.entry("HYBRID", new Style(0, false, "rect")),
            Map.entry("HYBRID WORD", new Style(0, true, "circle")),
            Map.entry("HYBRID BYTE", new Style(0, true, "triangle")),
            Map.entry("FFM", new Style(1, false, "circle")),
            Map.entry("FFM critical", new Style(2, false, "triangle")),
            Map.entry("JNI", new Style(3, false, "diamond")),
            Map.entry("JNI, copy", new Style(3, true, "diamond")),
            Map.entry("FFM, handle not constant", new Style(1, true, "circle")),
            Map.entry("JNA", new Style(7, false, "triangle")),
            Map.entry("jnr-ffi", new Style(9, false, "circle")),
            Map.entry("PURE", new Style(4, false, "rect")),
            Map.entry("plain Java", new Style(6, false, "rect")),
            Map.entry("ReentrantLock", new Style(5, false, "circle")),
            Map.entry("synchronized", new Style(6, false, "triangle")),
            Map.entry("pthread_mutex", new Style(7, false, "diamond")),
            Map.entry("C pthread_mutex", new Style(7, true, "diamond")),
            Map.entry("C WIDE", new Style(8, true, "rect")),
            Map.entry("C WORD", new Style(8, true, "circle")),
            Map.entry("C BYTE", new Style(8, true, "triangle")),
            Map.entry("Panalock", new Style(8, false, "triangle")),
            Map.entry("WORD", new Style(10, false, "circle")),
            Map.entry("BYTE", new Style(11, false, "triangle")),
            Map.entry("WIDE", new Style(12, false, "rect")),
            Map.entry("", new Style(5, false, "diamond")));

    /** Styles for the series of one chart, no two alike. */
    static List<Style> of(List<String> series) {
        List<Style> styles = new ArrayList<>();
        Set<Style> taken = new HashSet<>();
        int next = 0;
        for (String name : series) {
            Style style = known(name);
            if (style == null || taken.contains(style)) {
                do {
                    style = new Style(next % HUES, next >= HUES, SYMBOLS.get((next + next / HUES) % SYMBOLS.size()));
                    next++;
                } while (taken.contains(style) && next < 4 * HUES);
            }
            taken.add(style);
            styles.add(style);
        }
        return styles;
    }

    private static Style known(String name) {
        if (name.isEmpty()) {
            return KNOWN.get("");
        }
        return KNOWN.entrySet().stream()
                .filter(e -> !e.getKey().isEmpty()
                        && (name.equals(e.getKey()) || name.startsWith(e.getKey() + " ") || name.startsWith(e.getKey() + ",")))
                .max((a, b) -> Integer.compare(a.getKey().length(), b.getKey().length()))
                .map(Map.Entry::getValue)
                .orElse(null);
    }
}
