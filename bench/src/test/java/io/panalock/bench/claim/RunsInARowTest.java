// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.panalock.bench.contend.Locks;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RunsInARowTest {
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
        assertThat(RunsInARow.differences(run(2, 4, 0), run(3, 6, 0))).containsExactly(0);
    }

    @Test
    void aRatioThatDiffersIsGivenInPerCent() {
        assertThat(RunsInARow.differences(run(2, 4, 0), run(2.4, 4, 0))).hasSize(1);
        assertThat(RunsInARow.differences(run(2, 4, 0), run(2.4, 4, 0))[0]).isCloseTo(20, within(1e-9));
    }

    @Test
    void whatTheSpreadSaysIsNoDifference() {
        assertThat(RunsInARow.differences(run(2, 4, 0.2), run(2.4, 4, 0.2))).containsExactly(0);
    }

    @Test
    void tenComparisonsAreMadeOfFiveRunsOrOfEleven() {
        for (int runs : new int[] {5, 11}) {
            Map<String, double[]> judged = RunsInARow.judged(Collections.nCopies(runs, run(2, 4, 0.01)), 1);
            assertThat(judged.get("worst")).as("a run and the next").hasSize(runs - 1).containsOnly(0);
            assertThat(judged.get("alarms")).containsExactly(0);
            assertThat(judged.get("missed")).containsExactly(1);
        }
        assertThatThrownBy(() -> RunsInARow.judged(Collections.nCopies(3, run(2, 4, 0.01)), 0)).hasMessageContaining("comparisons");
    }

    @Test
    void aRunThatIsSlowerRaisesAnAlarmAgainstEveryOther() {
        List<Results> runs = new ArrayList<>(Collections.nCopies(4, run(2, 4, 0.01)));
        runs.add(run(3, 4, 0.01));
        assertThat(RunsInARow.judged(runs, 0).get("alarms")).containsExactly(4);
    }

    @Test
    void theBackendThatBecameSlowerIsNamed() {
        assertThat(RunsInARow.finds(run(2, 4, 0.01), run(2.3, 4, 0.01))).isTrue();
        assertThat(RunsInARow.finds(run(2, 4, 0.01), run(2, 4, 0.01))).isFalse();
        assertThat(RunsInARow.finds(run(2, 4, 0.01), run(2, 4.6, 0.01))).as("the peer").isFalse();
    }
}
