// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static io.panalock.bench.report.Html.el;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.text.Cell;
import java.util.List;
import java.util.Optional;

/** Claims that were checked, by machine. */
final class ClaimsTable {
    private ClaimsTable() {}

    static Optional<Html> of(List<Subject> machines) {
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
}
