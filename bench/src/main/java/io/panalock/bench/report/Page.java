// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static io.panalock.bench.report.Html.el;

import io.panalock.bench.report.Figure.Form;
import io.panalock.bench.report.Figure.Panel;
import io.panalock.bench.result.Results;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The page: page.html filled with headings, tables and sentences, and the data from which page.js draws the charts. */
public final class Page {

    /** Charts with more lines take the whole width. */
    private static final int FEW_SERIES = 8;

    private static final int FEW_NAMES = 5;

    /** Experiments with a place of their own on the page, or none. */
    private static final Set<String> NOT_DRAWN = Set.of("claim", "claim-point");

    private static final List<String> FIRST = List.of("call", "pair", "contended");

    private final List<Subject> machines;
    private final List<Subject> publications;
    private final String programVersion;
    private final Drawing drawing;
    private final Map<String, List<String>> glance = new LinkedHashMap<>();

    /** @param inputs results by the name of their file, in the order to show */
    public Page(Map<String, Results> inputs, String programVersion) {
        if (inputs.isEmpty()) {
            throw new IllegalArgumentException("a report needs results");
        }
        this.machines = named(inputs);
        this.drawing = new Drawing(machines.size() > 1);
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
        body.append(Machines.header(machines)).append(atAGlance()).append(scales());
        sections.forEach(body::append);
        ClaimsTable.of(machines).ifPresent(body::append);
        body.append(Machines.details(machines)).append(footer());
        return Template.fill(Template.resource("page.html"), Map.of(
                "title", Html.escape(title()),
                "style", Template.resource("page.css"),
                "body", body.toString(),
                "data", Template.json(Map.of("figures", drawing.data())),
                "echarts", Template.echarts(),
                "script", Template.resource("page.js")));
    }

    private String title() {
        return "Panalock on " + machines.stream().map(s -> Subject.cpu(s.results())).distinct().collect(Collectors.joining(", "));
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
            Html html = drawing.figure(figure, kind, talks);
            if (figure.form() == Form.TABLE || Drawing.allZero(figure)) {
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
                String on = tag.isEmpty() ? "" : "on " + tag + " ";
                if (figure.peerName().isEmpty()) {
                    findings.leaders(panel).ifPresent(leaders -> parts.add(on + "fastest is " + leaders));
                } else { // like with like: each with its own peer
                    findings.sentences(panel, FEW_NAMES).forEach(s -> parts.add(on + s.substring(0, s.length() - 1)));
                }
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

    private Html footer() {
        return el("footer").add(el("p", "Made by panalock " + programVersion
                + ". The charts are drawn by Apache ECharts (Apache License 2.0), which is part of this file. Nothing is loaded"
                + " from elsewhere."));
    }
}
