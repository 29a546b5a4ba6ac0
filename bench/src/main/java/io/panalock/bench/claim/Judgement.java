// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.text.Cell;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A claim and what was found.
 *
 * @param claim the claim
 * @param verdict judged by the median
 * @param figure the median and spread of the repeats, or null when it cannot be judged
 * @param repeats how many there were
 * @param reason why it cannot be judged, or null
 */
public record Judgement(Claim claim, Verdict verdict, Metric figure, int repeats, String reason) {
    static Judgement of(Claim claim, double[] repeats) {
        Metric figure = Metric.of(repeats, claim.unit());
        Verdict verdict = claim.bound().holds(figure.value()) ? Verdict.HOLDS : Verdict.FALLS_SHORT;
        return new Judgement(claim, verdict, figure, repeats.length, null);
    }

    static Judgement cannot(Claim claim, String reason) {
        return new Judgement(claim, Verdict.CANNOT_BE_JUDGED, null, 0, reason);
    }

    /** True when the bound lies within the spread, so that more repeats might turn the verdict. */
    boolean close() {
        return figure != null
                && figure.hasSpread()
                && figure.spread() > 0
                && Math.abs(figure.value() - claim.bound().limit()) <= figure.spread();
    }

    /** One line for people. */
    public String line() {
        String found = figure == null ? reason : Cell.format(figure) + (figure.unit().equals("1") ? "" : " " + figure.unit());
        return String.format("  %-11s  %-34s %-20s %-8s %s",
                verdict == Verdict.CANNOT_BE_JUDGED ? "not judged" : verdict, claim.id(), found.strip(), claim.bound(),
                claim.sentence());
    }

    public Result toResult(String group) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("group", group);
        params.put("id", claim.id());
        params.put("sentence", claim.sentence());
        params.put("bound", claim.bound().toString());
        params.put("verdict", verdict.toString());
        params.put("repeats", repeats);
        if (reason != null) {
            params.put("reason", reason);
        }
        return new Result("claim", params, figure == null ? Map.of() : Map.of("figure", figure));
    }
}
