// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static io.panalock.bench.report.Html.el;

import io.panalock.bench.compare.Quantity;
import io.panalock.bench.machine.Machine;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.Stats;
import io.panalock.bench.text.Names;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/** What was measured on: in short at the head of the page, in full at its foot. */
final class Machines {
    private static final double NOISY = 0.10;
    private static final int MAX_FACTS = 12;

    private Machines() {}

    static Html header(List<Subject> machines) {
        Html cards = el("div").cls("machines");
        for (Subject machine : machines) {
            Map<String, Object> m = machine.results().machine();
            Map<String, Object> run = machine.results().run();
            Html name = el("h2", machine.name());
            if (machine.emulated()) {
                name.text(" ").add(el("span", "emulated").cls("badge"));
            }
            Html card = el("div").cls("machine").add(name);
            card.add(el("p", join(" \u00b7 ", m.get("arch"), m.get("cpus") == null ? null : Machine.cpus(m),
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
            warnings.add("Other programs were running: " + Machine.load(m) + ".");
        }
        if (machine.results().run().get(Machine.OTHERS) instanceof Number percent && percent.intValue() > Machine.MUCH_PERCENT) {
            warnings.add("While this ran, other programs used " + percent + " % of the CPUs.");
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

    static Html details(List<Subject> machines) {
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

    private static String show(Object value) {
        return switch (value) {
            case null -> "";
            case Boolean yes -> yes ? "yes" : "no";
            case List<?> list -> list.stream().limit(MAX_FACTS).map(Machines::show).collect(Collectors.joining(", "));
            case Map<?, ?> map -> map.values().stream().map(Machines::show).collect(Collectors.joining(" "));
            default -> String.valueOf(value);
        };
    }

    private static String join(String separator, Object... parts) {
        return Arrays.stream(parts).filter(Objects::nonNull).map(String::valueOf).collect(Collectors.joining(separator));
    }

    private static String prefixed(String prefix, Object value) {
        return value == null ? null : prefix + value;
    }

    private static String date(Object started) {
        return started == null ? null : String.valueOf(started).replace("T", " ").replace("Z", " UTC");
    }
}
