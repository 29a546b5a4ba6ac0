// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.bench.Progress;
import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.Point.Quantity;
import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.result.Recorder;
import io.panalock.bench.result.Results;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ClaimsTest {
    private static final Map<String, Object> MACHINE = Map.of("membarrier_private_expedited", true, "cpus", 2);

    /** Gives figures from a script instead of measuring. */
    private static final class Scripted extends Bench {
        final Map<String, IntToDoubleFunction> byLock = new HashMap<>();
        int rounds;

        Scripted() {
            super(false, 1, 1, 5, 3);
        }

        @Override
        Map<Point, Map<String, double[]>> round(List<Point> points) {
            Map<Point, Map<String, double[]>> metrics = new LinkedHashMap<>();
            for (Point point : points) {
                String lock = ((LockPoints.Pair) point).lock();
                metrics.put(point, Map.of("time", new double[] {byLock.get(lock).applyAsDouble(rounds)}));
            }
            rounds++;
            return metrics;
        }
    }

    private static Claim claim(String subject, Bound bound, Need need) {
        return new Claim(subject, "a sentence", new Quantity(new LockPoints.Pair(subject), "time"),
                new Quantity(new LockPoints.Pair("peer"), "time"), bound, need, true);
    }

    private static List<Judgement> check(Scripted bench, Map<String, Object> machine, Claim... claims) {
        Recorder recorder = new Recorder(new Results(Map.of(), Map.of()));
        ClaimRunner runner = new ClaimRunner(bench, machine, recorder, () -> true);
        try (Progress progress = Progress.start(new PrintStream(PrintStream.nullOutputStream()), "test", 1)) {
            return runner.check(List.of(claims), progress);
        }
    }

    @Test
    void aClaimIsJudgedByTheMedianOfInterleavedRatios() {
        Scripted bench = new Scripted();
        // The machine slows down threefold while this runs: the ratio does not notice.
        bench.byLock.put("peer", i -> 10 * (1 + i));
        bench.byLock.put("fast", i -> 4 * (1 + i));
        bench.byLock.put("slow", i -> (i == 2 ? 4 : 8) * (1 + i));
        List<Judgement> judged = check(bench, MACHINE, claim("fast", Bound.atMost(0.5), Need.NOTHING),
                claim("slow", Bound.atMost(0.5), Need.NOTHING));
        assertThat(judged.get(0).verdict()).isEqualTo(Verdict.HOLDS);
        assertThat(judged.get(0).figure().value()).isEqualTo(0.4);
        assertThat(judged.get(0).repeats()).isEqualTo(5);
        assertThat(judged.get(1).verdict()).isEqualTo(Verdict.FALLS_SHORT);
        assertThat(judged.get(1).figure().value()).isEqualTo(0.8);
    }

    @Test
    void aBoundWithinTheSpreadIsMeasuredAgainUpToThreeTimes() {
        Scripted bench = new Scripted();
        bench.byLock.put("peer", i -> 10);
        bench.byLock.put("close", i -> i % 2 == 0 ? 9 : 11);
        bench.byLock.put("clear", i -> 5);
        List<Judgement> judged = check(bench, MACHINE, claim("close", Bound.atMost(1), Need.NOTHING),
                claim("clear", Bound.atMost(1), Need.NOTHING));
        assertThat(bench.rounds).isEqualTo(4 * 5);
        assertThat(judged.get(0).repeats()).isEqualTo(4 * 5);
        assertThat(judged.get(0).verdict()).isNotEqualTo(Verdict.CANNOT_BE_JUDGED);
        assertThat(judged.get(1).repeats()).isEqualTo(5);
    }

    @Test
    void lackingHardwareCannotBeJudgedAndIsNotMeasured() {
        Scripted bench = new Scripted();
        Map<String, Object> poor = Map.of("membarrier_private_expedited", false, "cpus", 1);
        List<Judgement> judged = check(bench, poor, claim("a", Bound.atMost(1), Need.MEMBARRIER),
                claim("b", Bound.atMost(1), Need.TWO_CPUS), claim("c", Bound.atMost(1), Need.MEMBARRIER_AND_TWO_CPUS));
        assertThat(judged).allMatch(j -> j.verdict() == Verdict.CANNOT_BE_JUDGED && j.figure() == null);
        assertThat(judged.get(0).line()).contains("not judged", "membarrier is refused");
        assertThat(bench.rounds).isZero();
    }

    @Test
    void whatWasJudgedBeforeAStopIsKept() {
        Scripted bench = new Scripted();
        bench.byLock.put("peer", i -> 10);
        bench.byLock.put("a", i -> 5);
        ClaimRunner runner =
                new ClaimRunner(bench, MACHINE, new Recorder(new Results(Map.of(), Map.of())), () -> true);
        Claim stops = new Claim("size", "a sentence", new Quantity(new LockPoints.Size("WORD"), "bytes"), null, Bound.atMost(4),
                Need.NOTHING, true);
        try (Progress progress = Progress.start(new PrintStream(PrintStream.nullOutputStream()), "test", 1)) {
            assertThatThrownBy(() -> runner.check(List.of(claim("a", Bound.atMost(1), Need.NOTHING), stops), progress))
                    .isInstanceOf(ClassCastException.class);
        }
        assertThat(runner.soFar()).singleElement().satisfies(j -> assertThat(j.claim().id()).isEqualTo("a"));
    }

    @Test
    void theLimitItselfHolds() {
        assertThat(Bound.atMost(2).holds(2)).isTrue();
        assertThat(Bound.atMost(2).holds(2.0001)).isFalse();
        assertThat(Bound.atLeast(2).holds(2)).isTrue();
        assertThat(Bound.atLeast(2).holds(1.9999)).isFalse();
        assertThat(Bound.atLeast(1.15)).hasToString("≥ 1.15");
        assertThat(Bound.atMost(524288)).hasToString("≤ 524288");
    }

    @Test
    void bothSidesOfAClaimAreMeasuredInTurns() {
        Quantity pair = new Quantity(new LockPoints.Pair("a"), "time");
        Quantity size = new Quantity(new LockPoints.Size("WORD"), "bytes");
        assertThatThrownBy(() -> new Claim("x", "y", pair, size, Bound.atMost(1), Need.NOTHING, true))
                .hasMessageContaining("in turns");
    }

    @Test
    void idsAreUniqueAndLocksExist() {
        Claims.groups().forEach((group, claims) -> {
            assertThat(claims.stream().map(Claim::id)).as(group).doesNotHaveDuplicates();
            List<Quantity> quantities = new ArrayList<>();
            claims.forEach(c -> {
                quantities.add(c.subject());
                if (c.peer() != null) {
                    quantities.add(c.peer());
                }
            });
            quantities.stream()
                    .flatMap(q -> switch (q.point()) {
                        case LockPoints.Pair p -> Stream.of(p.lock());
                        case LockPoints.Contended p -> Stream.of(p.lock());
                        case LockPoints.Allocation p -> Stream.of(p.lock());
                        default -> Stream.of();
                    })
                    .distinct()
                    .forEach(id -> assertThat(Locks.open(id).id()).isEqualTo(id));
        });
    }

    @Test
    void everyGroupHasAQuickSubset() {
        Claims.groups().forEach((group, claims) -> assertThat(claims.stream().filter(Claim::quick)).as(group).isNotEmpty());
    }

    @Test
    void contendedClaimsOfTheBridgeCoverEveryPoint() {
        List<Claim> claims = Claims.groups().get("bridge");
        for (String lock : List.of("c-wide", "hybrid-wide")) {
            for (String section : List.of("empty", "100", "100-500")) {
                for (int threads : new int[] {2, 4, 16, 64}) {
                    for (String what : List.of("rate", "jain", "longest")) {
                        String id = what + "-" + lock + "-" + section + "-" + threads;
                        assertThat(claims).as(id).anyMatch(c -> c.id().equals(id));
                    }
                }
            }
        }
        assertThat(claims).filteredOn(c -> c.id().startsWith("longest")).allMatch(c ->
                ((LockPoints.Contended) c.subject().point()).point().mode() == ContendedPoint.Mode.LATENCY);
    }

    @Test
    void aJudgementBecomesAResult() {
        Scripted bench = new Scripted();
        bench.byLock.put("peer", i -> 10);
        bench.byLock.put("a", i -> 5);
        var result = check(bench, MACHINE, claim("a", Bound.atMost(1), Need.NOTHING)).getFirst().toResult("bridge");
        assertThat(result.experiment()).isEqualTo("claim");
        assertThat(result.params())
                .containsEntry("group", "bridge")
                .containsEntry("id", "a")
                .containsEntry("bound", "≤ 1")
                .containsEntry("verdict", "holds");
        assertThat(result.metrics().get("figure").value()).isEqualTo(0.5);
    }
}
