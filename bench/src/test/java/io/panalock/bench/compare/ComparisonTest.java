// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.bench.Synthetic;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ComparisonTest {
    private static final double THRESHOLD = 0.10;

    private static Comparison compare(long seed, UnaryOperator<Synthetic> before, UnaryOperator<Synthetic> after) {
        return new Comparison(
                before.apply(new Synthetic(1000 + 2 * seed)).results(),
                after.apply(new Synthetic(1001 + 2 * seed)).results(),
                THRESHOLD);
    }

    /** Of a hundred comparisons. */
    private static long regressions(UnaryOperator<Synthetic> before, UnaryOperator<Synthetic> after) {
        return LongStream.range(0, 100).filter(seed -> compare(seed, before, after).regressed()).count();
    }

    @Test
    void tenComparisonsOfABuildWithItselfFindNothing() {
        assertThat(LongStream.range(0, 10).mapToObj(seed -> compare(seed, s -> s, s -> s)))
                .noneMatch(Comparison::regressed)
                .allSatisfy(c -> assertThat(c.lines()).hasSizeGreaterThan(300));
    }

    @ParameterizedTest
    @ValueSource(strings = {"hybrid", "ffm", "ffm_critical", "jni", "pure"})
    void fifteenPercentInOneBackendAreFound(String backend) {
        for (long seed = 0; seed < 10; seed++) {
            Comparison comparison = compare(seed, s -> s, s -> s.slow(backend, 1.15));
            assertThat(comparison.regressed()).as("seed %d", seed).isTrue();
            assertThat(comparison.worseGroups())
                    .extracting(Comparison.Group::owner)
                    .as("seed %d", seed)
                    .contains(backend)
                    .allMatch(owner -> owner.equals(backend));
        }
    }

    @Test
    void falseAlarmsAreRareAndMissesToo() {
        assertThat(regressions(s -> s, s -> s)).as("false alarms").isLessThanOrEqualTo(1);
        assertThat(regressions(Synthetic::quick, Synthetic::quick)).as("false alarms, quick").isLessThanOrEqualTo(1);
        assertThat(regressions(s -> s.noise(4), s -> s.noise(4))).as("false alarms, noisy").isLessThanOrEqualTo(2);
        assertThat(regressions(s -> s.quick().noise(4), s -> s.quick().noise(4))).as("false alarms, quick and noisy").isLessThanOrEqualTo(4);
        assertThat(regressions(s -> s.quick().noise(15), s -> s.quick().noise(15))).as("false alarms, useless").isLessThanOrEqualTo(10);
        assertThat(regressions(s -> s, s -> s.slow("hybrid", 1.15))).as("found").isGreaterThanOrEqualTo(98);
        assertThat(regressions(Synthetic::quick, s -> s.quick().slow("hybrid", 1.35))).as("found, quick").isGreaterThanOrEqualTo(90);
    }

    @Test
    void aSlowerMachineIsNoRegression() {
        for (long seed = 0; seed < 10; seed++) {
            assertThat(compare(seed, s -> s, s -> s.slowMachine(1.4)).regressed()).as("seed %d", seed).isFalse();
        }
    }

    @Test
    void aBackendThatBecameSlowerOnAFasterMachineIsFound() {
        assertThat(compare(3, s -> s.slowMachine(1.4), s -> s.slow("pure", 1.2)).worseGroups())
                .extracting(Comparison.Group::owner)
                .contains("pure");
    }

    @Test
    void fasterIsSaidAndIsNoRegression() {
        Comparison comparison = compare(5, s -> s.slow("hybrid", 1.3), s -> s);
        assertThat(comparison.regressed()).isFalse();
        assertThat(comparison.groups()).anyMatch(g -> g.owner().equals("hybrid") && g.verdict() == Verdict.FASTER);
    }

    @Test
    void aHigherThresholdToleratesMore() {
        Results before = new Synthetic(1).results();
        Results after = new Synthetic(2).slow("jni", 1.3).results();
        assertThat(new Comparison(before, after, 0.10).regressed()).isTrue();
        assertThat(new Comparison(before, after, 0.60).regressed()).isFalse();
    }

    @Test
    void aSinglePointThatBecameTwiceAsSlowIsFound() {
        Results before = new Synthetic(1).results();
        Results after = new Synthetic(2).results();
        Map<String, Object> point = Synthetic.params(
                "side", "java", "lock", "qspinlock", "backend", "hybrid", "layout", "word", "place", "pool");
        Metric time = after.metric("pair", point, "time").orElseThrow();
        after.put(new Result("pair", point, Map.of("time", new Metric(2 * time.value(), time.unit(), time.spread()))));
        assertThat(new Comparison(before, after, THRESHOLD).worseLines())
                .singleElement()
                .satisfies(line -> assertThat(line.before().params()).isEqualTo(point));
    }

    @Test
    void memoryThatWasNotAllocatedBeforeIsFound() {
        Results before = new Results(Map.of(), Map.of());
        Results after = new Results(Map.of(), Map.of());
        Map<String, Object> point = Synthetic.params("lock", "qspinlock");
        before.add(new Result("contended", point, Map.of("allocated", new Metric(0, "B/acquisition", 0))));
        after.add(new Result("contended", point, Map.of("allocated", new Metric(24, "B/acquisition", 0))));
        Comparison comparison = new Comparison(before, after, THRESHOLD);
        assertThat(comparison.regressed()).isTrue();
        assertThat(comparison.lines()).singleElement().extracting(Comparison.Line::verdict).isEqualTo(Verdict.MORE_BYTES);
    }

    @Test
    void peersIndexesAndExtremesAreShownButNotJudged() {
        Comparison comparison = compare(1, s -> s, s -> s.slow("reentrantlock", 3));
        assertThat(comparison.regressed()).isFalse();
        assertThat(comparison.lines())
                .filteredOn(l -> "reentrantlock".equals(l.before().params().get("lock")) && l.metric().equals("throughput"))
                .isNotEmpty()
                .allMatch(l -> l.verdict() == Verdict.PEER);
        assertThat(comparison.lines())
                .filteredOn(l -> l.metric().equals("jain") || l.metric().equals("max") || l.metric().equals("thread_min"))
                .isNotEmpty()
                .allMatch(l -> l.verdict() == Verdict.NOT_JUDGED);
    }

    @Test
    void emulatedTimesAreNotJudged() {
        Comparison comparison = compare(1, s -> s, s -> s.machine("emulated", true).slow("hybrid", 5));
        assertThat(comparison.regressed()).isFalse();
        assertThat(new ComparisonText(comparison).toString()).contains("emulated machine");
    }

    @Test
    void aBusyMachineIsNamed() {
        Comparison comparison = compare(1, s -> s, s -> s.machine("load", "19.5"));
        assertThat(new ComparisonText(comparison).toString()).contains("new", "the load was 19.5 on 8 CPUs");
        assertThat(new ComparisonText(compare(1, s -> s, s -> s)).toString()).doesNotContain("the load was");
    }

    @Test
    void pointsOfOneFileOnlyAreCounted() {
        Comparison comparison = compare(1, s -> s, Synthetic::quick);
        assertThat(comparison.unmatched()).isPositive();
        assertThat(new ComparisonText(comparison).toString()).contains("in one file only");
    }

    @Test
    void figuresMeasuredOnceCanStillBeCompared() {
        Results before = new Results(Map.of(), Map.of());
        Results after = new Results(Map.of(), Map.of());
        Map<String, Object> point = Synthetic.params("producers", 4, "lock", "rqspinlock");
        before.add(new Result("ringbuf", point, Map.of("throughput", Metric.single(10, "M/s"))));
        after.add(new Result("ringbuf", point, Map.of("throughput", Metric.single(5, "M/s"))));
        assertThat(new Comparison(before, after, THRESHOLD).regressed()).isTrue();
    }

    @Test
    void theTextNamesWhatBecameSlower() {
        String text = new ComparisonText(compare(0, s -> s, s -> s.slow("pure", 1.25))).toString();
        assertThat(text).contains("PURE became worse, slower", "REGRESSION", "new/old", "against peers", "PURE WIDE, 2 threads, 100 ns inside")
                .doesNotContain("spin_then_park", "qspinlock hybrid");
    }

    @Test
    void aChangeIsTheFiguresOwnAndTheVerdictSaysWhichWayIsBetter() {
        Comparison comparison = compare(0, s -> s, s -> s.slow("pure", 1.6));
        assertThat(comparison.worseGroups()).extracting(Comparison.Group::metric).contains("time", "throughput");
        assertThat(comparison.worseGroups()).allSatisfy(g -> assertThat(g.change())
                .as(g.metric())
                .isBetween(g.metric().equals("throughput") ? -0.5 : 0.4, g.metric().equals("throughput") ? -0.3 : 0.8));
        assertThat(comparison.worseLines()).filteredOn(l -> l.metric().equals("throughput")).allMatch(l -> l.change() < 0 && l.ratio() < 1);
        assertThat(new ComparisonText(comparison).summary()).anyMatch(l -> l.startsWith("PURE became worse, slower: contended throughput -"));
        Comparison faster = compare(0, s -> s.slow("pure", 1.6), s -> s);
        assertThat(faster.regressed()).isFalse();
        assertThat(new ComparisonText(faster).summary()).anyMatch(l -> l.startsWith("PURE became better, faster: contended throughput +"))
                .anyMatch(l -> l.startsWith("PURE became better, faster: pair time -"));
    }

    @Test
    void aNegativeThresholdIsRefused() {
        Results results = new Results(Map.of(), Map.of());
        assertThatThrownBy(() -> new Comparison(results, results, -0.1)).isInstanceOf(IllegalArgumentException.class);
    }
}
