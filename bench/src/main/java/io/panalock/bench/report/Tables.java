// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static io.panalock.bench.report.Html.el;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.report.Figure.Form;
import io.panalock.bench.report.Figure.Panel;
import io.panalock.bench.report.Figure.Point;
import io.panalock.bench.report.Figure.Ratio;
import io.panalock.bench.text.Cell;
import io.panalock.bench.text.Names;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A figure's table. Every cell holds the figure in every scale; the page shows the one that is chosen, which works without
 * scripts too.
 */
final class Tables {
    private final Figure figure;
    private final boolean manySubjects;

    Tables(Figure figure, boolean manySubjects) {
        this.figure = figure;
        this.manySubjects = manySubjects;
    }

    Html table() {
        boolean lines = figure.form() != Form.BARS && !figure.xName().isEmpty();
        // One column for every value on the axis, or for every bar of a category.
        List<String> columns = lines ? figure.keys() : figure.series();
        List<String> rows = lines ? figure.series() : figure.keys();
        Html head = el("tr").add(el("th", lines ? figure.xName() : "").attr("scope", "col"));
        columns.forEach(c -> head.add(el("th", c.isEmpty() ? (columns.size() > 1 ? "other" : figure.title()) : c)
                .attr("scope", "col")));
        Html table = el("table")
                .add(el("caption", caption()))
                .add(el("thead").add(head));
        for (Panel panel : figure.panels()) {
            Html body = el("tbody");
            String name = name(panel);
            if (!name.isEmpty()) {
                body.add(el("tr").cls("group").add(
                        el("th", name).attr("scope", "rowgroup").attr("colspan", columns.size() + 1)));
            }
            for (int r = 0; r < rows.size(); r++) {
                List<Html> cells = new ArrayList<>();
                boolean some = false;
                for (int c = 0; c < columns.size(); c++) {
                    Optional<Point> point = lines ? panel.at(r, c) : panel.at(c, r);
                    some |= point.isPresent();
                    cells.add(point.map(this::cell).orElse(el("td")));
                }
                if (some) {
                    String row = rows.get(r);
                    body.add(el("tr").add(el("th", row.isEmpty() ? "measured" : row).attr("scope", "row")).addAll(cells));
                }
            }
            table.add(body);
        }
        return el("div")
                .cls("scroll")
                .attr("role", "region")
                .attr("aria-label", "Table: " + figure.title())
                .attr("tabindex", "0")
                .add(table);
    }

    private String caption() {
        String unit = Names.unit(figure.metric(), figure.unit());
        return figure.title() + (unit.isEmpty() ? "" : ", " + unit) + (Quantity.of(figure.unit()).kind().better() == 0
                ? ""
                : Quantity.of(figure.unit()).kind().better() > 0 ? "; more is better" : "; less is better");
    }

    /** Whose figures, and which of them; empty where there is only one panel of that sort. */
    String name(Panel panel) {
        return String.join(" \u00b7 ", names(panel).stream().filter(n -> !n.isEmpty()).toList());
    }

    List<String> names(Panel panel) {
        boolean published = panel.subject().isPublished();
        String who = published ? "Published: " + panel.subject().name() : manySubjects ? panel.subject().name() : "";
        return List.of(who, panel.facet());
    }

    /** A heading with a line for each name, so that panels stay in line; nothing where it would say nothing. */
    Optional<Html> heading(String tag, Panel panel) {
        List<String> names = names(panel);
        boolean whoMatters = figure.panels().stream().map(Panel::subject).distinct().count() > 1 || manySubjects;
        Html heading = el(tag);
        if (whoMatters) {
            heading.add(el("span", names.get(0).isEmpty() ? panel.subject().name() : names.get(0)).cls("who"));
        }
        if (!names.get(1).isEmpty()) {
            heading.add(el("span", names.get(1)));
        }
        return whoMatters || !names.get(1).isEmpty() ? Optional.of(heading) : Optional.empty();
    }

    private Html cell(Point point) {
        Html cell = el("td");
        boolean related = figure.quantity().kind().dependsOnSpeed();
        Html absolute = el("span", Cell.format(point.value()));
        if (!related) {
            return cell.add(absolute);
        }
        point.peer().ifPresent(peer -> absolute.add(el("small", Findings.times(peer.value()) + "\u00a0\u00d7").cls(
                peer.differs().orElse(false) ? "apart" : "near")));
        return cell.add(
                absolute.cls("as-absolute"),
                related(point, Point::peer, "as-peer"),
                related(point, Point::jni, "as-jni"),
                related(point, Point::floor, "as-floor"));
    }

    /** As measured when nothing in this figure has the relation: the chart does the same. */
    private Html related(Point point, Function<Point, Optional<Ratio>> relation, String scale) {
        String otherwise = figure.has(relation) ? "" : Cell.format(point.value());
        return el("span", relation.apply(point)
                        .map(r -> Findings.times(r.value()) + (r.spread() > 0 ? " \u00b1 " + Findings.times(r.spread()) : ""))
                        .orElse(otherwise))
                .cls(scale);
    }
}
