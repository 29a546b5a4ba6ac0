// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import io.panalock.Backend;
import io.panalock.bench.claim.Bench;
import io.panalock.bench.claim.Bound;
import io.panalock.bench.claim.Claim;
import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.ClaimGroup;
import io.panalock.bench.claim.Point;
import io.panalock.bench.claim.Point.Quantity;
import io.panalock.bench.tokens.TokensCommand.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Group {@code tokens}: the token pipe against the kernel's own, and against waking everybody. */
public final class TokenClaims implements ClaimGroup {
    private static final int PLAYERS = 64;
    private static final int PASSES = 1_000_000;
    private static final int BRIEF_PASSES = 60_000;
    private static final int WAKE_ALL_PASSES_DIVISOR = 4; // it is slow, and the same at any length

    private static final double SWITCHES = 1;
    private static final double TIME = 0.7;
    private static final double AGAINST_WAKE_ALL = 0.2;
    private static final double SELF_POINTS = 10;

    /** One repeat plays all three in turn, so that each ratio is of neighbours in time. */
    private record Compared(Kind kind) implements Point.Whole {
        @Override
        public String batch() {
            return "tokens-" + kind.param();
        }

        @Override
        public Map<String, Object> params() {
            return Map.of("what", "tokens", kind.param(), PLAYERS);
        }

        @Override
        public String unit(String metric) {
            return switch (metric) {
                case "self" -> "%";
                case "least" -> "1";
                default -> "×";
            };
        }

        @Override
        public Map<String, Double> measure(Bench bench) {
            int passes = bench.quick() ? BRIEF_PASSES : PASSES;
            Outcome pipe = kind.play("pipe", Backend.ofDefault(), PLAYERS, passes);
            Outcome ours = kind.play("exclusive", Backend.ofDefault(), PLAYERS, passes);
            Outcome all = kind.play("wake_all", Backend.ofDefault(), PLAYERS, passes / WAKE_ALL_PASSES_DIVISOR);
            Map<String, Double> metrics = new LinkedHashMap<>();
            metrics.put("switches", ours.switchesPerPass() / pipe.switchesPerPass());
            metrics.put("time", ours.perPassUs() / pipe.perPassUs());
            metrics.put("wake_all", ours.switchesPerPass() / all.switchesPerPass());
            metrics.put("self", ours.selfShare() - pipe.selfShare());
            metrics.put("least", (double) ours.least());
            return metrics;
        }
    }

    @Override
    public String name() {
        return "tokens";
    }

    @Override
    public List<Claim> claims() {
        List<Claim> all = new ArrayList<>();
        for (Kind kind : List.of(Kind.PROCESSES, Kind.C_THREADS, Kind.THREADS)) {
            String who = PLAYERS + " " + kind.words();
            all.add(claim(kind, "switches", Bound.atMost(SWITCHES), "context switches against pipe(2), " + who));
            all.add(claim(kind, "time", Bound.atMost(TIME), "time against pipe(2), " + who));
            all.add(claim(kind, "wake_all", Bound.atMost(AGAINST_WAKE_ALL), "context switches against wake-all, " + who));
            all.add(claim(kind, "self", Bound.atMost(SELF_POINTS), "passes to oneself, points above those of pipe(2), " + who));
            all.add(claim(kind, "least", Bound.atLeast(1), "passes of the player with the fewest, " + who));
        }
        return all;
    }

    private static Claim claim(Kind kind, String metric, Bound bound, String sentence) {
        String id = metric.replace('_', '-') + "-" + kind.param().replace('_', '-');
        return new Claim(id, sentence, new Quantity(new Compared(kind), metric), null, bound, Need.TWO_CPUS, true);
    }
}
