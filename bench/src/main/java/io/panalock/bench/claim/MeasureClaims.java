// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.Point.Quantity;
import java.util.List;

/** Group {@code measure}: what the benchmark program says of itself. */
public final class MeasureClaims implements ClaimGroup {
    private static final double WORST = 10;
    private static final double MEDIAN = 3;

    @Override
    public String name() {
        return "measure";
    }

    @Override
    public List<Claim> claims() {
        return List.of(
                claim("repeat-worst", "worst", WORST,
                        "a run and the next: each ratio to its in-run peer differs by at most 10 %, or by what the spread says"),
                claim("repeat-median", "median", MEDIAN, "a run and the next: half of the ratios differ by at most 3 %, or by what the spread says"),
                claim("compare-finds", "missed", 0, "compare finds it when one backend does 15 % more in its loop"),
                claim("compare-silent", "alarms", 0, "compare raises no alarm in ten comparisons of a build with itself"),
                new Claim("page-bytes", "the report of a run with every lock at every number of threads is at most 3 MB",
                        new Quantity(new PageSize(), "bytes"), null, Bound.atMost(3_000_000), Need.NOTHING, true));
    }

    private static Claim claim(String id, String metric, double most, String sentence) {
        return new Claim(id, sentence, new Quantity(new RunsInARow(), metric), null, Bound.atMost(most), Need.TWO_CPUS, true);
    }
}
