// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.Point.Quantity;
import java.util.List;

/** Group {@code arm64}: what can be known about arm64 on any machine. Figures of real ones are the other groups'. */
public final class Arm64Claims implements ClaimGroup {
    private static final double MINUTES = 20;

    private static final Point SUITE = new SourceCheck(List.of("make", "test-arm64"), true);
    private static final Point LIBRARY = new SourceCheck(List.of("scripts/native-arm64.sh"), false);
    private static final Point LITMUS = new SourceCheck(List.of("scripts/check-litmus.sh"), false);

    @Override
    public String name() {
        return "arm64";
    }

    @Override
    public List<Claim> claims() {
        return List.of(
                claim("suite", SUITE, "failed", 0, false,
                        "make test-arm64 is green in a fresh clone: both suites, with and without LSE; the jar's run and report"),
                claim("suite-time", SUITE, "minutes", MINUTES, false, "it takes at most 20 minutes on two CPUs"),
                claim("disassembly", LIBRARY, "failed", 0, true,
                        "slow paths wait in WFE or WFET armed by an exclusive load, fast paths call nothing but an outline atomic"),
                claim("litmus", LITMUS, "failed", 0, true, "every litmus test is Never, and Sometimes without one of its barriers"));
    }

    private static Claim claim(String id, Point point, String metric, double most, boolean quick, String sentence) {
        return new Claim(id, sentence, new Quantity(point, metric), null, Bound.atMost(most), Need.SOURCES, quick);
    }
}
