// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static io.panalock.bench.report.Html.el;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.machine.Machine;
import io.panalock.bench.report.Figure.Form;
import io.panalock.bench.report.Figure.Panel;
import io.panalock.bench.report.Figure.Point;
import io.panalock.bench.report.Figure.Ratio;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.Stats;
import io.panalock.bench.text.Cell;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.jr.ob.JSON;

/** The page: page.html filled with headings, tables and sentences, and the data from which page.js draws the charts. */
public final class Page {
    private static final String ECHARTS = "/META-INF/resources/webjars/echarts/";
    private static final Pattern PLACEHOLDER = Pattern.compile("\\{\\{([a-z]+)}}");
    private static final double NOISY = 0.10;
    private static final int MAX_FACTS = 12;

    /** Charts with more lines take the whole width. */
    private static final int FEW_SERIES = 8;

    /** Experiments with a place of their own on the page, or none. */
    private static final Set<String> NOT_DRAWN = Set.of("claim", "claim-point");

    private static final List<String> FIRST = List.of("call", "pair", "contended");

    private final List<Subject> machines;
    private final List<Subject> publications;
    private final String programVersion;
    private final List<Map<String, Object>> data = new ArrayList<>();
    private final Map<String, List<String>> glance = new LinkedHashMap<>();

    /** @param inputs results by the name of their file, in the order to show */
    public Page(Map<String, Results> inputs, String programVersion) {
        if (inputs.isEmpty()) {
            throw new IllegalArgumentException("a report needs results");
        }
        this.machines = named(inputs);
        this.programVersion = programVersion;
        Set<String> experiments = new LinkedHashSet<>();
        inputs.values().forEach(r -> r.all().forEach(result -> experiments.add(result.experiment())));
        this.publications = References.of(experiments);
    }

    /** Machines of one name are told apart by a letter. */
    private static List<Subject> named(Map<String, Results> inputs) {
        List<Subject> subjects = new ArrayList<>();
        for (Map.Entry<String, Results> each : inputs.entrySet()) {
            String letter = inputs.size() == 1 ? "" : String.valueOf((char) ('A' + subjects.size() % 26));
            subjects.add(Subject.machine(letter, each.getValue()));
        }
        return subjects;
    }

    /** The whole page as HTML. */
    public String html() {
        List<Html> sections = experiments().stream()
                .map(this::section)
                .filter(Optional::isPresent)
                .map(Optional::get)
                .toList();
        StringBuilder body = new StringBuilder();
        body.append(header()).append(atAGlance()).append(scales());
        sections.forEach(body::append);
        claims().ifPresent(body::append);
        body.append(machineDetails()).append(footer());
        return fill(resource("page.html"), Map.of(
                "title", Html.escape(title()),
                "style", resource("page.css"),
                "body", body.toString(),
                "data", json(Map.of("figures", data)),
                "echarts", echarts(),
                "script", resource("page.js")));
    }

    private String title() {
        return "Panalock on " + machines.stream().map(s -> Subject.cpu(s.results())).distinct().collect(Collectors.joining(", "));
    }

    // ---- head of the page

    private Html header() {
        Html cards = el("div").cls("machines");
        for (Subject machine : machines) {
            Map<String, Object> m = machine.results().machine();
            Map<String, Object> run = machine.results().run();
            Html name = el("h2", machine.name());
            if (machine.emulated()) {
                name.text(" ").add(el("span", "emulated").cls("badge"));
            }
            Html card = el("div").cls("machine").add(name);
            card.add(el("p", join(" \u00b7 ", m.get("arch"), m.get("cpus") == null ? null : m.get("cpus") + " CPUs",
                    prefixed("Linux ", m.get("kernel")), prefixed("JDK ", m.get("jdk")))));
            card.add(el("p", join(" \u00b7 ", date(run.get("started")), prefixed("panalock ", m.get("library_version")),
                    run.get("command") == null ? null : run.get("command") + (Boolean.TRUE.equals(run.get("quick")) ? " --quick" : ""))));
            warnings(machine).forEach(w -> card.add(el("p", w).cls("warning")));
            cards.add(card);
        }
        return el("header").add(el("h1", "Panalock benchmark report"), cards);
    }

    private static List<String> warnings(Subject machine) {
        List<String> warnings = new ArrayList<>();
        Map<String, Object> m = machine.results().machine();
        if (machine.emulated()) {
            warnings.add("Emulated: times and rates measured here mean nothing and are not shown.");
        }
        if (Boolean.FALSE.equals(machine.results().run().get("complete"))) {
            warnings.add("The run was stopped before it was complete.");
        }
        if (Machine.busy(m)) {
            warnings.add("Other programs were running: the load was " + m.get("load") + " on " + m.get("cpus") + " CPUs.");
        }
        if (m.get("cpu_quota") != null) {
            warnings.add("The CPU time was limited by a quota: " + m.get("cpu_quota") + ".");
        }
        double noise = typicalNoise(machine.results());
        if (noise > NOISY && !machine.emulated()) {
            warnings.add(String.format(Locale.ROOT,
                    "Noisy: half of the figures vary by more than %.0f %% between repeats.", 100 * noise));
        }
        return warnings;
    }

    private static double typicalNoise(Results results) {
        double[] relative = results.all().stream()
                .flatMap(r -> r.metrics().values().stream())
                .filter(m -> m.hasSpread() && m.value() > 0 && Quantity.of(m.unit()).kind().dependsOnSpeed())
                .mapToDouble(m -> m.spread() / m.value())
                .toArray();
        return relative.length == 0 ? 0 : Stats.median(relative);
    }

    private Html atAGlance() {
        Html list = el("ul");
        glance.forEach((start, sentences) -> {
            Html item = el("li").add(el("b", start));
            if (sentences.size() == 1) {
                item.text(" " + sentences.getFirst());
            } else {
                item.add(el("ul").addAll(sentences.stream().map(s -> el("li", s)).toList()));
            }
            list.add(item);
        });
        boolean nothing = glance.values().stream().allMatch(List::isEmpty);
        return el("section")
                .attr("aria-labelledby", "glance")
                .add(el("h2", "At a glance").attr("id", "glance"))
                .add(nothing ? el("p", "Nothing here competes with anything else.") : list)
                .add(el("p", "Figures are medians of the repeats, \u00b1 half the distance between their 10th and 90th"
                                + " percentile. Two figures are called different when they are further apart than both"
                                + " their spreads.")
                        .cls("note"));
    }

    private Html scales() {
        Html choices = el("fieldset").cls("scales").attr("id", "scales").add(el("legend", "Show figures"));
        String[][] all = {
            {"absolute", "as measured", "Medians as measured, with their spread."},
            {"peer", "relative to the peer",
                "Divided by the peer measured in the same run: the same call through JNI, or ReentrantLock in Java and pthread_mutex in C."},
            {"jni", "in JNI calls", "In the machine's own empty JNI calls: how many it takes, or for rates how much happens during one."},
            {"floor", "in floors",
                "In the machine's own floor: one bare atomic operation where one thread works alone, moving a cache line between CPUs where several work."},
        };
        Html explanations = el("p").cls("note").attr("aria-live", "polite");
        for (String[] each : all) {
            Html input = el("input").attr("type", "radio").attr("name", "scale").attr("value", each[0]);
            if (each[0].equals("absolute")) {
                input.attr("checked");
            }
            choices.add(el("label").add(input, el("span", each[1])));
            explanations.add(el("span", each[2]).cls("as-" + each[0]));
        }
        return el("div").cls("controls").attr("hidden").add(choices, explanations);
    }

    // ---- experiments

    private List<String> experiments() {
        Set<String> found = new LinkedHashSet<>();
        machines.forEach(s -> s.results().all().forEach(r -> found.add(r.experiment())));
        found.removeAll(NOT_DRAWN);
        List<String> ordered = new ArrayList<>(FIRST);
        ordered.retainAll(found);
        found.stream().filter(e -> !FIRST.contains(e) && !e.equals("floor")).forEach(ordered::add);
        if (found.contains("floor")) {
            ordered.add("floor");
        }
        return ordered;
    }

    private Optional<Html> section(String experiment) {
        Predicate has = s -> s.results().all().stream().anyMatch(r -> r.experiment().equals(experiment));
        List<Subject> subjects = new ArrayList<>(machines.stream().filter(has::test).toList());
        boolean onlyEmulated = subjects.stream().allMatch(Subject::emulated);
        publications.stream().filter(has::test).forEach(subjects::add);
        Figures figures = new Figures(experiment, subjects);
        List<Figure> all = figures.all();
        Kind kind = figures.kind();
        String id = Ids.of("experiment " + experiment);
        Html section = el("section").attr("aria-labelledby", id).add(el("h2", kind.title()).attr("id", id));
        if (!kind.lead().isEmpty()) {
            section.add(el("p", kind.lead()).cls("lead"));
        }
        if (onlyEmulated) {
            section.add(el("p", "Measured on emulated machines only, so times and rates are not shown.").cls("note"));
        }
        subjects.stream().filter(Subject::isPublished).forEach(s -> section.add(
                el("p").cls("note").add(el("b", "Published figures, " + s.name() + ": ")).text(s.published())));
        if (all.isEmpty() && !onlyEmulated) {
            return Optional.empty();
        }
        boolean first = true;
        Html more = el("details").cls("more").add(el("summary", "More figures"));
        boolean anyMore = false;
        Html halves = null;
        for (Figure figure : all) {
            boolean talks = !experiment.equals("floor");
            Html html = figure(figure, kind, talks);
            if (figure.form() == Form.TABLE || allZero(figure)) {
                more.add(html);
                anyMore = true;
            } else if (figure.panels().size() == 1 && figure.form() != Form.BARS && all.size() > 1
                    && figure.series().size() <= FEW_SERIES) {
                if (halves == null) {
                    halves = el("div").cls("halves");
                    section.add(halves);
                }
                halves.add(html);
            } else {
                halves = null;
                section.add(html);
            }
            if (first && talks) {
                lookAt(kind, figure);
            }
            first = false;
        }
        return Optional.of(anyMore ? section.add(more) : section);
    }

    private interface Predicate {
        boolean test(Subject subject);
    }

    private static boolean allZero(Figure figure) {
        return figure.panels().stream()
                .flatMap(p -> p.points().values().stream())
                .flatMap(m -> m.values().stream())
                .allMatch(p -> p.value().value() == 0);
    }

    /** What goes to the top of the page. */
    private void lookAt(Kind kind, Figure figure) {
        Findings findings = new Findings(figure, kind.seriesCompete());
        List<String> sentences = new ArrayList<>();
        List<Panel> ours = figure.panels().stream().filter(p -> !p.subject().isPublished()).toList();
        for (String facet : new LinkedHashSet<>(ours.stream().map(Panel::facet).toList())) {
            List<String> parts = new ArrayList<>();
            List<Panel> here = ours.stream().filter(p -> p.facet().equals(facet)).toList();
            for (Panel panel : here) {
                String tag = panel.subject().tag();
                findings.leaders(panel).ifPresent(leaders -> parts.add((tag.isEmpty() ? "" : "on " + tag + " ") + "fastest is " + leaders));
            }
            for (Panel panel : here.subList(1, here.size())) {
                findings.against(panel, here.getFirst()).ifPresent(words ->
                        parts.add(panel.subject().tag() + " against " + here.getFirst().subject().tag() + ": " + words));
            }
            if (!parts.isEmpty()) {
                sentences.add((facet.isEmpty() ? "" : facet + ": ") + String.join("; ", parts) + ".");
            }
        }
        if (!sentences.isEmpty()) {
            glance.put(kind.title() + ":", sentences);
        }
    }

    private Html figure(Figure figure, Kind kind, boolean talks) {
        boolean drawn = figure.form() != Form.TABLE && !allZero(figure);
        Tables tables = new Tables(figure, machines.size() > 1);
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
                html.add(legend(figure, styles));
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

    private static Html legend(Figure figure, List<Style> styles) {
        Html legend = el("div").cls("legend").attr("role", "group").attr("aria-label", "Series; press to hide or show");
        for (int s = 0; s < figure.series().size(); s++) {
            Style style = styles.get(s);
            legend.add(el("button")
                    .attr("type", "button")
                    .attr("aria-pressed", "true")
                    .attr("data-series", s)
                    .add(el("span").cls("swatch hue" + style.hue() + " " + style.symbol() + (style.dashed() ? " dashed" : "")))
                    .text(figure.series().get(s).isEmpty() ? "others" : figure.series().get(s)));
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

    // ---- claims

    private Optional<Html> claims() {
        Html body = el("div");
        boolean some = false;
        for (Subject machine : machines) {
            List<Result> claims = machine.results().all().stream()
                    .filter(r -> r.experiment().equals("claim"))
                    .toList();
            if (claims.isEmpty()) {
                continue;
            }
            some = true;
            Html head = el("tr");
            List.of("claim", "found", "bound", "verdict").forEach(h -> head.add(el("th", h).attr("scope", "col")));
            Html rows = el("tbody");
            for (Result claim : claims) {
                Metric figure = claim.metrics().get("figure");
                boolean hidden = machine.emulated() && figure != null && Quantity.of(figure.unit()).kind() != Quantity.Kind.BYTES;
                String verdict = hidden ? "not judged on an emulated machine" : String.valueOf(claim.params().get("verdict"));
                rows.add(el("tr").add(
                        el("th", String.valueOf(claim.params().get("sentence"))).attr("scope", "row"),
                        el("td", figure == null || hidden ? "" : (Cell.format(figure) + " " + (figure.unit().equals("1") ? "" : figure.unit())).strip()),
                        el("td", String.valueOf(claim.params().get("bound"))),
                        el("td", verdict).cls(verdict.equals("falls short") ? "short" : "")));
            }
            body.add(el("div").cls("scroll").attr("role", "region").attr("tabindex", "0")
                    .attr("aria-label", "Table: claims, " + machine.name())
                    .add(el("table").cls("claims").add(
                            el("caption", "Claims checked on " + machine.name()), el("thead").add(head), rows)));
        }
        return some
                ? Optional.of(el("section").attr("aria-labelledby", "claims")
                        .add(el("h2", "Claims").attr("id", "claims"), body))
                : Optional.empty();
    }

    // ---- foot of the page

    private Html machineDetails() {
        Set<String> keys = new LinkedHashSet<>();
        machines.forEach(s -> keys.addAll(s.results().machine().keySet()));
        Html head = el("tr").add(el("th", "").attr("scope", "col"));
        machines.forEach(s -> head.add(el("th", s.name()).attr("scope", "col")));
        Html rows = el("tbody");
        for (String key : keys) {
            Html row = el("tr").add(el("th", Names.key(key)).attr("scope", "row"));
            machines.forEach(s -> row.add(el("td", show(s.results().machine().get(key)))));
            rows.add(row);
        }
        return el("section").attr("aria-labelledby", "machines").add(
                el("h2", machines.size() == 1 ? "The machine" : "The machines").attr("id", "machines"),
                el("div").cls("scroll").attr("role", "region").attr("tabindex", "0").attr("aria-label", "Table: machines")
                        .add(el("table").cls("facts").add(
                                el("caption", "What was measured on"), el("thead").add(head), rows)));
    }

    private Html footer() {
        return el("footer").add(el("p", "Made by panalock " + programVersion
                + ". The charts are drawn by Apache ECharts (Apache License 2.0), which is part of this file. Nothing is loaded"
                + " from elsewhere."));
    }

    private static String show(Object value) {
        return switch (value) {
            case null -> "";
            case Boolean yes -> yes ? "yes" : "no";
            case List<?> list -> list.stream().limit(MAX_FACTS).map(Page::show).collect(Collectors.joining(", "));
            case Map<?, ?> map -> map.values().stream().map(Page::show).collect(Collectors.joining(" "));
            default -> String.valueOf(value);
        };
    }

    private static String join(String separator, Object... parts) {
        return java.util.Arrays.stream(parts).filter(java.util.Objects::nonNull).map(String::valueOf).collect(Collectors.joining(separator));
    }

    private static String prefixed(String prefix, Object value) {
        return value == null ? null : prefix + value;
    }

    private static String date(Object started) {
        return started == null ? null : String.valueOf(started).replace("T", " ").replace("Z", " UTC");
    }

    // ---- data for the charts

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
        return value == 0 || !Double.isFinite(value) ? 0 : new java.math.BigDecimal(value)
                .round(new java.math.MathContext(6)).doubleValue();
    }

    /** JSON that may stand inside a script element: no way to end it, nothing that JavaScript reads differently. */
    static String json(Object tree) {
        return JSON.std.asString(tree)
                .replace("&", "\\u0026")
                .replace("<", "\\u003c")
                .replace(">", "\\u003e")
                .replace("\u2028", "\\u2028")
                .replace("\u2029", "\\u2029");
    }

    /** One pass: what is filled in is not searched for placeholders. */
    private static String fill(String template, Map<String, String> values) {
        Matcher matcher = PLACEHOLDER.matcher(template);
        StringBuilder out = new StringBuilder();
        while (matcher.find()) {
            String value = values.get(matcher.group(1));
            if (value == null) {
                throw new IllegalStateException("page.html names " + matcher.group());
            }
            matcher.appendReplacement(out, Matcher.quoteReplacement(value));
        }
        return matcher.appendTail(out).toString();
    }

    private static String echarts() {
        String version = text("/META-INF/maven/org.webjars.npm/echarts/pom.properties").lines()
                .filter(line -> line.startsWith("version="))
                .map(line -> line.substring("version=".length()).strip())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("ECharts without a version"));
        return text(ECHARTS + version + "/dist/echarts.min.js");
    }

    private static String resource(String name) {
        return text("/io/panalock/bench/report/" + name);
    }

    private static String text(String path) {
        try (InputStream in = Page.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new IllegalStateException("the program's jar has no " + path);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
