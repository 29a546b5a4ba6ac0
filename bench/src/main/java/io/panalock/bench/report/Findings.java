// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.report.Figure.Form;
import io.panalock.bench.report.Figure.Panel;
import io.panalock.bench.report.Figure.Point;
import io.panalock.bench.report.Figure.Ratio;
import io.panalock.bench.text.Cell;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What a figure says, in words. Two figures differ when they are further apart than both their noises; nothing else is
 * called a difference.
 */
final class Findings {
    private final Figure figure;
    private final boolean seriesCompete;

    Findings(Figure figure, boolean seriesCompete) {
        this.figure = figure;
        this.seriesCompete = seriesCompete || figure.form() == Form.PERCENTILES;
    }

    /** One thing that competes, at every place where it was measured. */
    private record Rival(String name, List<Ratio> better, List<Ratio> worse, List<String> same, List<String> unknown,
            List<String> betterAt, List<String> worseAt) {
        Rival(String name) {
            this(name, new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>(), new ArrayList<>(),
                    new ArrayList<>());
        }

        void add(String at, Ratio ratio, int direction) {
            if (ratio.differs().isEmpty()) {
                unknown.add(at);
            } else if (!ratio.differs().get()) {
                same.add(at);
            } else if ((ratio.value() > 1) == (direction >= 0)) {
                better.add(ratio);
                betterAt.add(at);
            } else {
                worse.add(ratio);
                worseAt.add(at);
            }
        }
    }

    /** Sentences about one panel: who is better than the peer, who is worse, who is neither. */
    List<String> sentences(Panel panel) {
        return sentences(panel, Integer.MAX_VALUE);
    }

    /** The same, naming no more than so many in each. */
    List<String> sentences(Panel panel, int most) {
        Map<String, Map<String, Rival>> byPeer = new LinkedHashMap<>();
        forAll(panel, (rival, at, point) -> ratio(panel, rival, at, point).ifPresent(ratio -> byPeer
                .computeIfAbsent(ratio.to(), to -> new LinkedHashMap<>())
                .computeIfAbsent(rival, Rival::new)
                .add(at, ratio, figure.quantity().kind().better())));
        List<String> sentences = new ArrayList<>();
        byPeer.forEach((peer, rivals) -> sentences.addAll(sentences(peer, List.copyOf(rivals.values()), most)));
        return sentences;
    }

    private interface Visitor {
        void visit(String rival, String at, Point point);
    }

    private void forAll(Panel panel, Visitor visitor) {
        panel.points().forEach((s, row) -> row.forEach((k, point) -> {
            String series = figure.series().get(s);
            String key = figure.keys().get(k);
            visitor.visit(seriesCompete ? series : key, seriesCompete ? key : series, point);
        }));
    }

    /** To the peer; where the experiment names none, to the rival that stands first. */
    private Optional<Ratio> ratio(Panel panel, String rival, String at, Point point) {
        if (!figure.peerName().isEmpty() || figure.form() == Form.TABLE) {
            return point.peer();
        }
        List<String> rivals = seriesCompete ? figure.series() : figure.keys();
        int first = rivals.indexOf(rivals.stream().filter(r -> at(panel, r, at).isPresent()).findFirst().orElse(rival));
        if (rivals.get(first).equals(rival)) {
            return Optional.empty();
        }
        return at(panel, rivals.get(first), at)
                .filter(p -> p.value().value() > 0)
                .map(p -> Ratio.of(point.value(), point.noise(), p.value(), p.noise(), rivals.get(first)));
    }

    private Optional<Point> at(Panel panel, String rival, String at) {
        int series = figure.series().indexOf(seriesCompete ? rival : at);
        int key = figure.keys().indexOf(seriesCompete ? at : rival);
        return panel.at(series, key);
    }

    private List<String> sentences(String peer, List<Rival> rivals, int most) {
        List<String> better = new ArrayList<>();
        List<String> worse = new ArrayList<>();
        List<String> both = new ArrayList<>();
        List<String> same = new ArrayList<>();
        List<String> unknown = new ArrayList<>();
        for (Rival r : rivals) {
            if (!r.better.isEmpty() && !r.worse.isEmpty()) {
                both.add(r.name + " (" + range(r.better) + at(r.betterAt) + ", " + range(r.worse) + at(r.worseAt) + ")");
            } else if (!r.better.isEmpty()) {
                better.add(r.name + " (" + range(r.better) + where(r, r.betterAt) + ")");
            } else if (!r.worse.isEmpty()) {
                worse.add(r.name + " (" + range(r.worse) + where(r, r.worseAt) + ")");
            } else if (!r.same.isEmpty()) {
                same.add(r.name);
            } else {
                unknown.add(r.name);
            }
        }
        List<String> sentences = new ArrayList<>();
        String[] words = words();
        add(sentences, words[0] + " than " + peer + ": ", better, most);
        add(sentences, words[1] + " than " + peer + ": ", worse, most);
        add(sentences, "Mixed, against " + peer + ": ", both, most);
        add(sentences, "Not different from " + peer + " beyond the noise: ", same, most);
        add(sentences, "No spread is known, so nothing can be said against " + peer + ": ", unknown, most);
        return sentences;
    }

    private static void add(List<String> sentences, String start, List<String> items, int most) {
        if (!items.isEmpty()) {
            int left = items.size() - most;
            sentences.add(start + String.join(", ", left > 0 ? items.subList(0, most) : items)
                    + (left > 0 ? " and " + left + " more" : "") + ".");
        }
    }

    private String[] words() {
        return switch (figure.quantity().kind()) {
            case TIME, RATE -> new String[] {"Faster", "Slower"};
            case BYTES -> new String[] {"Less memory", "More memory"};
            case OTHER -> new String[] {"Higher", "Lower"};
        };
    }

    private String range(List<Ratio> ratios) {
        double least = ratios.stream().mapToDouble(Ratio::value).min().orElseThrow();
        double most = ratios.stream().mapToDouble(Ratio::value).max().orElseThrow();
        String low = times(least);
        String high = times(most);
        return (low.equals(high) ? low : low + "\u2013" + high) + "\u00a0\u00d7";
    }

    static String times(double ratio) {
        return Cell.number(ratio);
    }

    private String at(List<String> places) {
        return places.stream().allMatch(String::isEmpty) ? "" : " at " + places(places);
    }

    /** Where it differs, or where it does not, whichever is said sooner. */
    private String where(Rival r, List<String> apart) {
        List<String> others = new ArrayList<>(r.same);
        others.addAll(r.unknown);
        others.removeIf(String::isEmpty);
        return others.isEmpty()
                ? ""
                : others.size() < apart.size() ? "; within the noise at " + places(others) : at(apart);
    }

    /** With the axis' name, when the places are numbers on one. */
    private String places(List<String> places) {
        String list = String.join(", ", places);
        if (figure.form() != Form.LINES) {
            return list;
        }
        String name = figure.xName();
        return list + " " + (list.equals("1") && name.endsWith("s") ? name.substring(0, name.length() - 1) : name);
    }

    /** Who is in front, place by place; nothing where neither way is better or nobody competes. */
    Optional<String> leaders(Panel panel) {
        int direction = figure.quantity().kind().better();
        if (direction == 0) {
            return Optional.empty();
        }
        Map<Integer, Map<String, Point>> byPlace = new TreeMap<>();
        forAll(panel, (rival, at, point) -> byPlace
                .computeIfAbsent((seriesCompete ? figure.keys() : figure.series()).indexOf(at), k -> new LinkedHashMap<>())
                .put(rival, point));
        if (!seriesCompete) {
            // Layouts of one lock compete with each other too: one place, everybody's best.
            Map<String, Point> best = new LinkedHashMap<>();
            byPlace.forEach((s, row) -> row.forEach((rival, point) -> best.put(
                    (rival + " " + figure.series().get(s)).strip(), point)));
            byPlace.clear();
            byPlace.put(-1, best);
        }
        Map<String, List<String>> placesByLeader = new LinkedHashMap<>();
        Set<String> close = new LinkedHashSet<>();
        for (Map.Entry<Integer, Map<String, Point>> each : byPlace.entrySet()) {
            if (each.getValue().size() < 2) {
                continue;
            }
            Map.Entry<String, Point> first = each.getValue().entrySet().stream()
                    .max(Comparator.comparingDouble(e -> direction * e.getValue().value().value()))
                    .orElseThrow();
            placesByLeader
                    .computeIfAbsent(first.getKey(), k -> new ArrayList<>())
                    .add(each.getKey() < 0 ? "" : figure.keys().get(each.getKey()));
            each.getValue().forEach((rival, point) -> {
                if (!rival.equals(first.getKey()) && !differ(point, first.getValue())) {
                    close.add(rival);
                }
            });
        }
        if (placesByLeader.isEmpty()) {
            return Optional.empty();
        }
        close.removeAll(placesByLeader.keySet());
        String leaders = placesByLeader.entrySet().stream()
                .map(e -> placesByLeader.size() == 1 ? e.getKey() + figureOf(panel, e.getKey()) : e.getKey() + at(e.getValue()))
                .collect(Collectors.joining("; "));
        String near = close.isEmpty()
                ? ""
                : (placesByLeader.size() + byPlace.size() > 2 ? "; sometimes within the noise of it: " : "; within the noise of it: ")
                        + (close.size() > 3 ? close.size() + " others" : String.join(", ", close));
        boolean once = byPlace.values().stream().flatMap(row -> row.values().stream()).anyMatch(p -> p.noise().isEmpty());
        return Optional.of(leaders + near + (once ? "; some were measured once, so nothing is sure" : ""));
    }

    /** The leader's own figures, when it leads everywhere. */
    private String figureOf(Panel panel, String leader) {
        List<Double> values = new ArrayList<>();
        panel.points().forEach((s, row) -> row.forEach((k, point) -> {
            String name = seriesCompete
                    ? figure.series().get(s)
                    : (figure.keys().get(k) + " " + figure.series().get(s)).strip();
            if (name.equals(leader)) {
                values.add(point.value().value());
            }
        }));
        String low = Cell.number(values.stream().mapToDouble(Double::doubleValue).min().orElse(0));
        String high = Cell.number(values.stream().mapToDouble(Double::doubleValue).max().orElse(0));
        return ", " + (low.equals(high) ? low : low + "\u2013" + high) + "\u00a0" + figure.unit();
    }

    private static boolean differ(Point a, Point b) {
        OptionalDouble noiseA = a.noise();
        OptionalDouble noiseB = b.noise();
        return Math.abs(a.value().value() - b.value().value())
                > noiseA.orElse(0) * Math.abs(a.value().value()) + noiseB.orElse(0) * Math.abs(b.value().value());
    }

    /** How all figures of one panel stand to those of another machine's panel of the same facet. */
    Optional<String> against(Panel panel, Panel other) {
        List<Ratio> all = new ArrayList<>();
        panel.points().forEach((s, row) -> row.forEach((k, point) -> other.at(s, k)
                .filter(p -> p.value().value() > 0 && point.value().value() > 0)
                .ifPresent(p -> all.add(Ratio.of(point.value(), point.noise(), p.value(), p.noise(), "")))));
        if (all.isEmpty() || !figure.quantity().kind().dependsOnSpeed()) {
            return Optional.empty();
        }
        List<Ratio> apart = all.stream().filter(r -> r.differs().orElse(false)).toList();
        return Optional.of(apart.isEmpty()
                ? "no difference beyond the noise in " + count(all.size())
                : range(apart) + (figure.quantity().kind() == Quantity.Kind.TIME ? " the time" : " the rate") + ", beyond the noise in " + apart.size() + " of " + count(all.size()));
    }

    private static String count(int figures) {
        return figures + (figures == 1 ? " figure" : " figures");
    }
}
