// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.text;

import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Ratio;
import io.panalock.bench.result.Result;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * One cell of a table. A figure names the results that it was made from, so that nothing can be printed that was not
 * measured.
 *
 * @param text as printed
 * @param sources none for words, one for a figure, two for a ratio (dividend, divisor)
 */
public record Cell(String text, List<Source> sources) {
    /** A metric of a result. */
    public record Source(Result result, String metric) {
        public Metric value() {
            Metric value = result.metrics().get(metric);
            if (value == null) {
                throw new IllegalArgumentException("no metric " + metric + " in " + result);
            }
            return value;
        }
    }

    public static final Cell EMPTY = words("");

    /** Behind a ratio: the two are the same within the noise. */
    public static final String SAME = " ≈";

    /** Behind a ratio: one of the two was measured once, so that nothing is known of its noise. */
    public static final String ONCE = " ?";

    private static final Map<String, String> SIGNS = new LinkedHashMap<>();

    static {
        SIGNS.put(" ± ", "±: half the distance between the 10th and the 90th percentile of the repeats");
        SIGNS.put(SAME, "≈: the same within the noise");
        SIGNS.put(ONCE, "?: measured once, noise unknown");
    }

    /** What the signs in a text mean. */
    static String signs(CharSequence text) {
        return String.join("; ", SIGNS.entrySet().stream()
                .filter(sign -> text.toString().contains(sign.getKey()))
                .map(Map.Entry::getValue)
                .toList());
    }

    public Cell {
        sources = List.copyOf(sources);
    }

    public static Cell words(String text) {
        return new Cell(text, List.of());
    }

    /** {@code 4.7 ± 0.1}. */
    public static Cell figure(Result result, String metric) {
        Source source = new Source(result, metric);
        return new Cell(format(source.value()), List.of(source));
    }

    /** {@code 0.96 ± 0.05}, with {@link #SAME} behind it where the noise is larger than the difference. */
    public static Cell ratio(Result result, Result to, String metric) {
        List<Source> sources = List.of(new Source(result, metric), new Source(to, metric));
        Metric value = sources.get(0).value();
        Metric divisor = sources.get(1).value();
        return new Cell(result == to ? formatRatio(1) : format(Ratio.of(value, divisor)), sources);
    }

    /** As in a table. */
    public static String format(Ratio ratio) {
        return withSpread(ratio)
                + (ratio.same() ? SAME : ratio.differs().isEmpty() ? ONCE : "");
    }

    /** {@code 0.96 ± 0.05}: as many digits of the spread as of the ratio. */
    static String withSpread(Ratio ratio) {
        String spread = String.format(Locale.ROOT, ratio.value() < 0.1 ? "%.4f" : "%.2f", ratio.spread());
        return formatRatio(ratio.value()) + (ratio.spread() > 0 ? " ± " + spread : "");
    }

    /** {@code 0.96}, for a table that says in another column what it is worth. */
    public static Cell quotient(Result result, Result to, String metric) {
        List<Source> sources = List.of(new Source(result, metric), new Source(to, metric));
        return new Cell(formatRatio(sources.get(0).value().value() / sources.get(1).value().value()), sources);
    }

    public static String format(Metric metric) {
        String value = number(metric.value());
        return metric.hasSpread() ? value + " ± " + number(metric.spread()) : value;
    }

    public static String formatRatio(double ratio) {
        return String.format(Locale.ROOT, ratio < 0.1 ? "%.4f" : "%.2f", ratio);
    }

    /** As many digits as can matter. */
    public static String number(double value) {
        double size = Math.abs(value);
        if (size > 0 && size < 0.1) {
            return new BigDecimal(value).round(new MathContext(2)).toPlainString();
        }
        return String.format(Locale.ROOT, size < 10 ? "%.2f" : size < 100 ? "%.1f" : "%.0f", value);
    }
}
