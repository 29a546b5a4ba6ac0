// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.compare;

import io.panalock.bench.compare.Comparison.Group;
import io.panalock.bench.compare.Comparison.Line;
import io.panalock.bench.compare.Comparison.Part;
import io.panalock.bench.result.Result;
import io.panalock.bench.text.Cell;
import io.panalock.bench.text.Names;
import io.panalock.bench.text.Table;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A comparison as text for people, and as a tree for programs. */
public final class ComparisonText {
    private final Comparison comparison;

    public ComparisonText(Comparison comparison) {
        this.comparison = comparison;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Part part : comparison.parts()) {
            text.append(part.experiment()).append(", ").append(part.metric());
            text.append(part.lines().isEmpty() ? "" : " (" + part.lines().getFirst().old().unit() + ")");
            part.machineWide().ifPresent(change -> text.append("; peers: ").append(percent(change)));
            text.append(System.lineSeparator()).append(table(part)).append(System.lineSeparator());
        }
        summary().forEach(line -> text.append(line).append(System.lineSeparator()));
        return text.toString();
    }

    private static Table table(Part part) {
        Table table = new Table("", "old", "new", "new/old", "against peers", "noise", "verdict");
        for (Line line : part.lines()) {
            table.row(
                    Cell.words(label(line.before())),
                    Cell.figure(line.before(), line.metric()),
                    Cell.figure(line.after(), line.metric()),
                    Double.isNaN(line.ratio()) ? Cell.EMPTY : Cell.quotient(line.after(), line.before(), line.metric()),
                    Cell.words(Double.isNaN(line.change()) ? "" : percent(line.change())),
                    Cell.words(Double.isNaN(line.noise()) ? "" : noise(line.noise())),
                    Cell.words(line.verdict().toString()));
        }
        return table;
    }

    /** What to conclude. */
    public List<String> summary() {
        List<String> lines = new ArrayList<>();
        long better = comparison.lines().stream().filter(l -> l.verdict().better()).count();
        long worse = comparison.lines().stream().filter(l -> l.verdict().worse()).count();
        long same = comparison.lines().stream().filter(l -> l.verdict() == Verdict.WITHIN_NOISE).count();
        lines.add(better + " better, " + worse + " worse, " + same + " within noise"
                + (comparison.unmatched() == 0 ? "" : "; " + comparison.unmatched() + " points are in one file only"));
        lines.addAll(comparison.busy());
        if (comparison.emulated()) {
            lines.add("An emulated machine: times and rates are not judged.");
        }
        for (Group group : comparison.groups()) {
            if (group.verdict() != Verdict.WITHIN_NOISE) {
                lines.add(owner(group) + " became " + group.verdict() + ": " + group.experiment() + " " + group.metric()
                        + " " + percent(group.change()) + " against peers, median of " + group.figures()
                        + (group.figures() == 1 ? " figure" : " figures") + ", noise " + noise(group.noise()));
            }
        }
        for (Line line : comparison.worseLines()) {
            lines.add("worse beyond the threshold: " + line.before().experiment() + " " + line.metric() + ", "
                    + label(line.before()) + (Double.isNaN(line.change()) ? "" : " " + percent(line.change())));
        }
        String bound = String.format(Locale.ROOT, "%.0f %%", 100 * comparison.threshold());
        lines.add(comparison.regressed()
                ? "REGRESSION: worse (longer, fewer a second, or more bytes) by more than " + bound + " and by more than the noise"
                : "no regression beyond " + bound + " and the noise");
        return lines;
    }

    /** For {@code --json}. */
    public Map<String, Object> tree() {
        List<Object> lines = new ArrayList<>();
        for (Line line : comparison.lines()) {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("experiment", line.before().experiment());
            map.put("params", line.before().params());
            map.put("metric", line.metric());
            map.put("unit", line.old().unit());
            map.put("old", line.old().value());
            map.put("new", line.now().value());
            map.put("ratio", orNull(line.ratio()));
            map.put("change", orNull(line.change()));
            map.put("noise", orNull(line.noise()));
            map.put("verdict", word(line.verdict()));
            lines.add(map);
        }
        List<Object> groups = new ArrayList<>();
        for (Group group : comparison.groups()) {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("experiment", group.experiment());
            map.put("metric", group.metric());
            map.put("owner", group.owner());
            map.put("figures", group.figures());
            map.put("change", group.change());
            map.put("noise", group.noise());
            map.put("verdict", word(group.verdict()));
            groups.add(map);
        }
        Map<String, Object> tree = new LinkedHashMap<>();
        tree.put("schema", "panalock-comparison/1");
        tree.put("threshold", comparison.threshold());
        tree.put("regressed", comparison.regressed());
        tree.put("groups", groups);
        tree.put("lines", lines);
        return tree;
    }

    private static Object orNull(double value) {
        return Double.isFinite(value) ? value : null;
    }

    private static String label(Result result) {
        return Names.point(result.params());
    }

    private static String owner(Group group) {
        return group.owner().startsWith(Peers.IN_C)
                ? Peers.IN_C + Names.inC(group.owner().substring(Peers.IN_C.length()))
                : Names.value(group.owner());
    }

    /** {@code slower}, {@code within noise}, … */
    private static String word(Verdict verdict) {
        return verdict.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    private static String percent(double change) {
        return String.format(Locale.ROOT, "%+.1f %%", 100 * change);
    }

    private static String noise(double noise) {
        return String.format(Locale.ROOT, "\u00b1 %.1f %%", 100 * noise);
    }
}
