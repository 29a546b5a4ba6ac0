// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static io.panalock.bench.report.Html.el;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.report.Figure.Form;
import io.panalock.bench.report.Figure.Panel;
import io.panalock.bench.report.Figure.Point;
import io.panalock.bench.report.Figure.Ratio;
import io.panalock.bench.text.Names;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A figure on the page: caption, legend, places for its charts and what page.js draws there, words, table. */
final class Drawing {
    private final boolean manySubjects;
    private final List<Map<String, Object>> data = new ArrayList<>();

    /** @param manySubjects panels say whose figures they show */
    Drawing(boolean manySubjects) {
        this.manySubjects = manySubjects;
    }

    /** From which page.js draws the charts of all figures so far. */
    List<Map<String, Object>> data() {
        return data;
    }

    Html figure(Figure figure, Kind kind, boolean talks) {
        boolean drawn = figure.form() != Form.TABLE && !allZero(figure);
        Tables tables = new Tables(figure, manySubjects);
        int better = figure.quantity().kind().better();
        Html html = el("figure").attr("id", figure.id());
        Html caption = el("figcaption").add(el("h3", figure.title()));
        caption.add(el("p").cls("unit")
                .add(el("span", Names.unit(figure.metric(), figure.unit())).cls("as-absolute"))
                .add(relation(figure, Point::peer, "peer", "\u00d7 " + figure.peerName()))
                .add(relation(figure, Point::jni, "jni", figure.quantity().kind() == Quantity.Kind.RATE
                        ? "during one JNI call" : "\u00d7 an empty JNI call"))
                .add(relation(figure, Point::floor, "floor", figure.quantity().kind() == Quantity.Kind.RATE
                        ? "during " + figure.floor().words() : "\u00d7 " + figure.floor().words()))
                .text(better == 0 ? "" : better > 0 ? " \u00b7 more is better" : " \u00b7 less is better"));
        html.add(caption);
        List<Style> styles = Style.of(figure.series());
        if (drawn) {
            if (figure.series().size() > 1) {
                html.add(legend(figure, styles, shownAtFirst(figure)));
            }
            Html panels = el("div").cls("panels" + (figure.panels().size() == 1 ? " one" : ""));
            for (int p = 0; p < figure.panels().size(); p++) {
                Panel panel = figure.panels().get(p);
                Html box = el("div").cls("panel");
                String name = tables.name(panel);
                tables.heading("h4", panel).ifPresent(box::add);
                String label = figure.title() + (name.isEmpty() ? "" : ", " + name) + ": chart. The table below has its figures.";
                box.add(el("div").cls("chart").attr("id", figure.id() + "-" + p).attr("role", "img").attr("aria-label", label));
                panels.add(box);
            }
            html.add(panels);
            data.add(data(figure, styles));
        }
        if (talks) {
            words(figure, kind, tables).ifPresent(html::add);
        }
        return html.add(el("details").cls("table").add(el("summary", "Table: " + figure.title()), tables.table()));
    }

    private static Html relation(Figure figure, Function<Point, Optional<Ratio>> relation, String scale, String words) {
        return el("span", figure.has(relation) ? words : Names.unit(figure.metric(), figure.unit()) + (figure.quantity().kind().dependsOnSpeed() ? ", as measured" : "")).cls("as-" + scale);
    }

    private static Set<Integer> shownAtFirst(Figure figure) {
        return figure.form() == Form.BARS
                ? IntStream.range(0, figure.series().size()).boxed().collect(Collectors.toSet())
                : Selection.of(figure.series());
    }

    private static Html legend(Figure figure, List<Style> styles, Set<Integer> shown) {
        Html legend = el("div").cls("legend").attr("role", "group").attr("aria-label", "Series; press to hide or show");
        for (int s = 0; s < figure.series().size(); s++) {
            Style style = styles.get(s);
            legend.add(el("button")
                    .attr("type", "button")
                    .attr("aria-pressed", String.valueOf(shown.contains(s)))
                    .attr("data-series", s)
                    .add(el("span").cls("swatch hue" + style.hue() + " " + style.symbol() + (style.dashed() ? " dashed" : "")))
                    .text(figure.series().get(s).isEmpty() ? "others" : figure.series().get(s)));
        }
        if (shown.size() < figure.series().size()) {
            legend.add(el("button", "show all " + figure.series().size()).attr("type", "button").cls("all"));
        }
        return legend;
    }

    private static Optional<Html> words(Figure figure, Kind kind, Tables tables) {
        Findings findings = new Findings(figure, kind.seriesCompete());
        Html all = el("div");
        boolean some = false;
        for (Panel panel : figure.panels()) {
            List<String> sentences = findings.sentences(panel);
            if (!sentences.isEmpty()) {
                some = true;
                Html list = el("ul");
                sentences.forEach(s -> list.add(el("li", s)));
                Html about = el("div");
                tables.heading("h5", panel).ifPresent(about::add);
                all.add(about.add(list));
            }
        }
        return some
                ? Optional.of(el("div").cls("words").add(el("h4", "What differs by more than the noise"), all))
                : Optional.empty();
    }

    static boolean allZero(Figure figure) {
        return figure.panels().stream()
                .flatMap(p -> p.points().values().stream())
                .flatMap(m -> m.values().stream())
                .allMatch(p -> p.value().value() == 0);
    }

    private static Map<String, Object> data(Figure figure, List<Style> styles) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("id", figure.id());
        map.put("form", figure.form().name().toLowerCase(Locale.ROOT));
        map.put("title", figure.title());
        map.put("unit", figure.unit().equals("1") ? "" : figure.unit());
        // A thousandth of a byte is nothing; a log axis would make it something.
        map.put("linear", figure.quantity().kind() == Quantity.Kind.BYTES);
        map.put("xName", figure.xName());
        map.put("keys", figure.keys());
        List<Object> series = new ArrayList<>();
        for (int s = 0; s < figure.series().size(); s++) {
            Style style = styles.get(s);
            series.add(Map.of("name", figure.series().get(s), "hue", style.hue(), "dashed", style.dashed(), "symbol", style.symbol()));
        }
        map.put("series", series);
        Set<Integer> shown = shownAtFirst(figure);
        map.put("hidden", IntStream.range(0, figure.series().size()).filter(s -> !shown.contains(s)).boxed().toList());
        List<String> scales = new ArrayList<>(List.of("absolute"));
        if (figure.has(Point::peer)) {
            scales.add("peer");
        }
        if (figure.has(Point::jni)) {
            scales.add("jni");
        }
        if (figure.has(Point::floor)) {
            scales.add("floor");
        }
        map.put("scales", scales);
        List<Object> panels = new ArrayList<>();
        for (Panel panel : figure.panels()) {
            List<Object> points = new ArrayList<>();
            panel.points().forEach((s, row) -> row.forEach((k, point) -> {
                Map<String, Object> p = new LinkedHashMap<>();
                p.put("s", s);
                p.put("k", k);
                p.put("absolute", pair(point.value().value(), point.value().hasSpread() ? point.value().spread() : 0));
                point.peer().ifPresent(r -> p.put("peer", pair(r.value(), r.spread())));
                point.jni().ifPresent(r -> p.put("jni", pair(r.value(), r.spread())));
                point.floor().ifPresent(r -> p.put("floor", pair(r.value(), r.spread())));
                points.add(p);
            }));
            panels.add(points);
        }
        map.put("facets", figure.panels().stream().map(Panel::facet).toList());
        map.put("panels", panels);
        return map;
    }

    private static List<Double> pair(double value, double spread) {
        return List.of(rounded(value), rounded(spread));
    }

    /** Six digits are more than any chart shows. */
    private static double rounded(double value) {
        return value == 0 || !Double.isFinite(value) ? 0 : new BigDecimal(value)
                .round(new MathContext(6)).doubleValue();
    }
}
