// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf;

import io.panalock.bench.claim.Bench;
import io.panalock.bench.claim.Bound;
import io.panalock.bench.claim.Claim;
import io.panalock.bench.result.Stats;
import io.panalock.bench.ringbuf.RingPeer.Samples;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the resilient lock costs a ring's producers, against the plain one: part of the group {@code rqspinlock}. */
public final class RingClaims {
    private static final List<Integer> PRODUCERS = List.of(1, 2, 3, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52);
    private static final List<Integer> QUICK = List.of(1, 2, 16);
    private static final double ALONE = 0.97;
    private static final double SEVERAL = 0.93;

    private RingClaims() {}

    public static List<Claim> claims() {
        List<Claim> claims = new ArrayList<>();
        for (int n : PRODUCERS) {
            double limit = n == 1 ? ALONE : SEVERAL;
            claims.add(new Claim(
                    "ringbuf-" + n,
                    "ring buffer in C, " + n + (n == 1 ? " producer" : " producers") + ": records a second with rqspinlock ≥ "
                            + limit + " × with qspinlock; each arrives once, intact, in order",
                    new io.panalock.bench.claim.Point.Quantity(new Ring("rqspinlock", n), "throughput"),
                    new io.panalock.bench.claim.Point.Quantity(new Ring("qspinlock", n), "throughput"),
                    Bound.atLeast(limit),
                    Claim.Need.TWO_CPUS,
                    QUICK.contains(n)));
        }
        return claims;
    }

    /** Records a second that the consumer of such a ring sees, in C; a repeat that loses one fails. */
    private record Ring(String lock, int producers) implements io.panalock.bench.claim.Point.Whole {
        private static final int SAMPLES = 4;

        @Override
        public String batch() {
            return "ring buffer, " + producers + " producers";
        }

        @Override
        public Map<String, Object> params() {
            Map<String, Object> params = new LinkedHashMap<>();
            params.put("ringbuf", lock);
            params.put("producers", producers);
            return params;
        }

        @Override
        public String unit(String metric) {
            return "M/s";
        }

        /** More and shorter repeats than usual: the two locks take turns more often. */
        @Override
        public int repeats(Bench bench) {
            return bench.windowedRepeats();
        }

        @Override
        public Map<String, Double> measure(Bench bench) {
            Samples samples = Contender.open("c", lock)
                    .measure(new RingPeer.Point(producers, bench.warmNs(), bench.windowNs() / SAMPLES / 2, SAMPLES));
            return Map.of("throughput", Stats.mean(samples.hits()), "drops", Stats.mean(samples.drops()));
        }
    }
}
