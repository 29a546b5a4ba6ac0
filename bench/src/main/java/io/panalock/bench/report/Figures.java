// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.report.Figure.Form;
import io.panalock.bench.report.Figure.Panel;
import io.panalock.bench.report.Figure.Point;
import io.panalock.bench.report.Figure.Ratio;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.text.Names;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;

/** Makes the figures of one experiment. */
final class Figures {
    /** A distribution needs so many percentiles. */
    private static final int ENOUGH_PERCENTILES = 3;

    /** Bytes. */
    private static final double SET_UP = 0.01;

    private final String experiment;
    private final List<Subject> subjects;
    private final Kind kind;

    /** @param subjects all whose results have the experiment; emulated ones show only what does not depend on speed */
    Figures(String experiment, List<Subject> subjects) {
        this.experiment = experiment;
        this.subjects = subjects;
        this.kind = Kind.of(experiment, subjects.stream().flatMap(s -> own(s).stream()).toList());
    }

    Kind kind() {
        return kind;
    }

    private List<Result> own(Subject subject) {
        return subject.results().all().stream()
                .filter(r -> r.experiment().equals(experiment))
                .toList();
    }

    List<Figure> all() {
        List<Figure> figures = new ArrayList<>();
        metrics().forEach((metric, unit) -> {
            Figure figure = kind.x() == null ? bars(metric, unit) : lines(metric, unit);
            if (!figure.panels().isEmpty()) {
                figures.add(figure);
            }
        });
        percentiles().filter(f -> !f.panels().isEmpty()).ifPresent(distribution -> {
            // In front of its percentiles one by one, which are not worth bars of their own.
            int first = figures.indexOf(figures.stream().filter(Figures::isPercentile).findFirst().orElseThrow());
            figures.add(kind.x() == null ? 0 : first, distribution);
            figures.removeIf(f -> f.form() == Form.BARS && isPercentile(f));
        });
        return figures;
    }

    private static boolean isPercentile(Figure figure) {
        return figure.metric().equals("max") || Names.percentile(figure.metric()) != null;
    }

    /** Metrics and units, in the order of the results. */
    private Map<String, String> metrics() {
        Map<String, String> metrics = new LinkedHashMap<>();
        for (Subject subject : subjects) {
            for (Result result : own(subject)) {
                result.metrics().forEach((name, metric) -> {
                    if (kind.shows(result, name) && visible(subject, metric)) {
                        metrics.putIfAbsent(name, metric.unit());
                    }
                });
            }
        }
        return metrics;
    }

    private static boolean visible(Subject subject, Metric metric) {
        return !subject.emulated() || !Quantity.dependsOnClock(metric.unit());
    }

    private Figure bars(String metric, String unit) {
        Grid grid = new Grid();
        forAll(metric, unit, (subject, result) -> kind.facets().apply(result).forEach(facet -> grid.put(
                subject, facet, kind.series().apply(result), kind.category().apply(result), point(subject, result, metric))));
        return grid.figure(form(metric, Form.BARS), metric, Names.metric(metric), unit, "");
    }

    private Figure lines(String metric, String unit) {
        Grid grid = new Grid();
        Set<Double> xs = kind.xs(subjects.stream()
                .flatMap(s -> own(s).stream())
                .filter(r -> r.metrics().containsKey(metric) && kind.shows(r, metric))
                .toList());
        xs.forEach(x -> grid.key(number(x)));
        forAll(metric, unit, (subject, result) -> {
            if (result.params().get(kind.x()) instanceof Number x) {
                kind.facets().apply(result).forEach(facet -> grid.put(
                        subject, facet, kind.series().apply(result), number(x.doubleValue()), point(subject, result, metric)));
            }
        });
        return grid.figure(form(metric, Form.LINES), metric, Names.metric(metric), unit, Names.key(kind.x()));
    }

    private Form form(String metric, Form drawn) {
        return kind.tablesOnly().contains(metric) ? Form.TABLE : drawn;
    }

    /** The distribution at the most threads (or whatever the axis is) that every series reached. */
    private Optional<Figure> percentiles() {
        Map<Double, String> ranks = new TreeMap<>();
        String unit = null;
        for (Map.Entry<String, String> each : metrics().entrySet()) {
            String rank = each.getKey().equals("max") ? "100" : Names.percentile(each.getKey());
            if (rank != null && (unit == null || unit.equals(each.getValue()))) {
                unit = each.getValue();
                ranks.put(Double.parseDouble(rank), each.getKey());
            }
        }
        if (ranks.size() < ENOUGH_PERCENTILES) {
            return Optional.empty();
        }
        String shown = unit;
        Grid grid = new Grid();
        ranks.values().forEach(name -> grid.key(percentileKey(name)));
        double most = kind.x() == null ? Double.NaN : kind.xs(subjects.stream()
                        .filter(s -> !s.isPublished())
                        .flatMap(s -> own(s).stream())
                        .filter(r -> ranks.values().stream().anyMatch(r.metrics()::containsKey))
                        .toList())
                .stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
        ranks.values().forEach(metric -> forAll(metric, shown, (subject, result) -> {
            if (kind.x() == null || result.params().get(kind.x()) instanceof Number x && x.doubleValue() == most) {
                String series = kind.x() == null
                        ? String.join(" ", kind.category().apply(result), kind.series().apply(result)).strip()
                        : kind.series().apply(result);
                kind.facets().apply(result).forEach(facet ->
                        grid.put(subject, facet, series, percentileKey(metric), point(subject, result, metric)));
            }
        }));
        String where = kind.x() == null ? "" : ", " + number(most) + " " + Names.key(kind.x());
        return Optional.of(grid.figure(Form.PERCENTILES, "distribution", "Distribution" + where, shown, "share that is shorter"));
    }

    private static String percentileKey(String metric) {
        return metric.equals("max") ? "max" : Names.percentile(metric) + " %";
    }

    private interface Visitor {
        void visit(Subject subject, Result result);
    }

    private void forAll(String metric, String unit, Visitor visitor) {
        for (Subject subject : subjects) {
            for (Result result : own(subject)) {
                Metric value = result.metrics().get(metric);
                if (value != null && value.unit().equals(unit) && kind.shows(result, metric) && visible(subject, value)) {
                    visitor.visit(subject, result);
                }
            }
        }
    }

    /** Objects have 16 bytes and more: so little for each call is what was allocated once, before all calls. */
    private static Metric withoutSetUp(Metric metric) {
        boolean none = metric.unit().startsWith("B/") && Math.abs(metric.value()) < SET_UP;
        return none ? new Metric(0, metric.unit(), metric.hasSpread() ? 0 : Double.NaN, metric.repeats()) : metric;
    }

    private Point point(Subject subject, Result result, String metric) {
        Metric value = withoutSetUp(result.metrics().get(metric));
        OptionalDouble noise = subject.noise().relative(result, metric);
        Quantity quantity = Quantity.of(value.unit());
        Optional<Ratio> peer = Optional.empty();
        Map<String, Object> peerParams = kind.peer().apply(result);
        if (peerParams != null && quantity.kind().dependsOnSpeed()) {
            peer = subject.results().find(experiment, peerParams)
                    .filter(p -> p != result && p.metrics().containsKey(metric))
                    .filter(p -> p.metrics().get(metric).value() > 0)
                    .map(p -> Ratio.of(value, noise, p.metrics().get(metric), subject.noise().relative(p, metric),
                            kind.peerLabel().apply(p)));
        }
        return new Point(value, noise, peer,
                subject.jniCall().flatMap(jni -> relation(value, quantity, jni)),
                subject.floor(kind.floor()).flatMap(floor -> relation(value, quantity, floor)));
    }

    /** How many of those fit into a time, or how much of a rate happens during one. */
    private static Optional<Ratio> relation(Metric value, Quantity quantity, Metric unitOfTime) {
        double ns = Quantity.of(unitOfTime.unit()).nanoseconds(unitOfTime.value()).orElse(0.0);
        if (!quantity.kind().dependsOnSpeed() || ns <= 0) {
            return Optional.empty();
        }
        double ratio = quantity.kind() == Quantity.Kind.TIME
                ? value.value() * quantity.factor() / ns
                : value.value() * quantity.factor() * ns / 1e9;
        double spread = ratio * Math.hypot(value.relativeSpread(), unitOfTime.relativeSpread());
        return Optional.of(new Ratio(ratio, spread, "", Optional.empty()));
    }

    static String number(double x) {
        return x == Math.rint(x) && Math.abs(x) < 1e15 ? String.valueOf((long) x) : String.valueOf(x);
    }

    /** Points by machine, facet, series and key, each in the order in which it came up. */
    private final class Grid {
        private record Where(Subject subject, String facet) {}

        private final Set<String> keys = new LinkedHashSet<>();
        private final Set<String> series = new LinkedHashSet<>();
        private final Set<String> facets = new LinkedHashSet<>();
        private final Map<Where, Map<String, Map<String, Point>>> points = new LinkedHashMap<>();

        void key(String key) {
            keys.add(key);
        }

        void put(Subject subject, String facet, String name, String key, Point point) {
            keys.add(key);
            series.add(name);
            facets.add(facet);
            points.computeIfAbsent(new Where(subject, facet), w -> new LinkedHashMap<>())
                    .computeIfAbsent(name, n -> new LinkedHashMap<>())
                    .putIfAbsent(key, point);
        }

        Figure figure(Form form, String metric, String title, String unit, String xName) {
            List<String> allKeys = List.copyOf(keys);
            List<String> allSeries = new ArrayList<>(series);
            if (allSeries.size() > 1 && allSeries.remove("")) {
                allSeries.add("");
            }
            List<Panel> panels = new ArrayList<>();
            for (Subject subject : subjects) {
                for (String facet : facets) {
                    Map<String, Map<String, Point>> here = points.get(new Where(subject, facet));
                    if (here != null) {
                        Map<Integer, Map<Integer, Point>> numbered = new TreeMap<>();
                        here.forEach((name, byKey) -> {
                            Map<Integer, Point> row = new TreeMap<>();
                            byKey.forEach((key, point) -> row.put(allKeys.indexOf(key), point));
                            numbered.put(allSeries.indexOf(name), row);
                        });
                        panels.add(new Panel(subject, facet, numbered));
                    }
                }
            }
            return new Figure(Ids.of(experiment + "-" + metric), metric, form, title, unit, xName, allKeys, allSeries, panels,
                    kind.peerName(), kind.floor());
        }
    }
}
