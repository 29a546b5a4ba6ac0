// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.panalock.bench.contend.Locks;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TwoRunsTest {
    private static Results run(double hybrid, double reentrant, double spread) {
        Results results = new Results(Map.of(), Map.of());
        results.add(new Result("pair", Locks.panalockParams("hybrid", "wide", "pool"),
                Map.of("time", new Metric(hybrid, "ns/pair", spread))));
        results.add(new Result("pair", Map.of("side", "java", "lock", Locks.REENTRANT_LOCK),
                Map.of("time", new Metric(reentrant, "ns/pair", spread))));
        return results;
    }

    @Test
    void aMachineThatIsSlowerAltogetherMakesNoDifference() {
        assertThat(TwoRuns.differences(run(2, 4, 0), run(3, 6, 0))).containsExactly(0);
    }

    @Test
    void aRatioThatDiffersIsGivenInPerCent() {
        assertThat(TwoRuns.differences(run(2, 4, 0), run(2.4, 4, 0))).hasSize(1);
        assertThat(TwoRuns.differences(run(2, 4, 0), run(2.4, 4, 0))[0]).isCloseTo(20, within(1e-9));
    }

    @Test
    void whatTheSpreadSaysIsNoDifference() {
        assertThat(TwoRuns.differences(run(2, 4, 0.2), run(2.4, 4, 0.2))).containsExactly(0);
    }

    @Test
    void theSlowdownIsPlantedInOneBackendOnly() {
        Results planted = TwoRuns.planted(run(2, 4, 0.1));
        assertThat(planted.all().get(0).metrics().get("time").value()).isCloseTo(2.3, within(1e-9));
        assertThat(planted.all().get(1).metrics().get("time").value()).isEqualTo(4);
    }
}
