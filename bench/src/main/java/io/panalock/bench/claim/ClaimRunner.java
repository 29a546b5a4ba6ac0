// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.Progress;
import io.panalock.bench.claim.Point.Quantity;
import io.panalock.bench.machine.Machine;
import io.panalock.bench.result.Recorder;
import io.panalock.bench.result.Stats;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** Checks claims: measures what they need in interleaved repeats, again where the bound lies within the spread. */
public final class ClaimRunner {
    private static final int RERUNS = 3;

    private final Bench bench;
    private final Map<String, Object> machine;
    private final Recorder recorder;
    private final BooleanSupplier timeLeft;
    private final Map<Quantity, List<Double>> samples = new HashMap<>();
    /** Null: not yet. */
    private final Map<Claim, Judgement> judged = Collections.synchronizedMap(new LinkedHashMap<>());

    ClaimRunner(Bench bench, Map<String, Object> machine, Recorder recorder, BooleanSupplier timeLeft) {
        this.bench = bench;
        this.machine = machine;
        this.recorder = recorder;
        this.timeLeft = timeLeft;
    }

    /** The full check: 2 s a contended point. */
    public static ClaimRunner full(Map<String, Object> machine, Recorder recorder) {
        return new ClaimRunner(Bench.full(), machine, recorder, () -> true);
    }

    /** Points of 0.2 s; reruns end after 35 s. */
    public static ClaimRunner quick(Map<String, Object> machine, Recorder recorder) {
        long until = System.nanoTime() + 35_000_000_000L;
        return new ClaimRunner(Bench.brief(), machine, recorder, () -> System.nanoTime() < until);
    }

    /** Judges all claims, in their order. */
    public List<Judgement> check(List<Claim> claims, Progress progress) {
        judged.clear();
        claims.forEach(claim -> judged.put(claim, null));
        Map<String, List<Claim>> batches = new LinkedHashMap<>();
        for (Claim claim : claims) {
            Optional<String> lacking = lacking(claim);
            if (lacking.isPresent()) {
                judged.put(claim, Judgement.cannot(claim, lacking.get()));
            } else {
                batches.computeIfAbsent(claim.batch(), b -> new ArrayList<>()).add(claim);
            }
        }
        batches.forEach((name, members) -> run(name, members, progress));
        // All claims have been judged once before any is measured again, so that reruns can end when the time is up.
        for (int rerun = 0; rerun < RERUNS; rerun++) {
            for (Map.Entry<String, List<Claim>> batch : batches.entrySet()) {
                List<Claim> open = batch.getValue().stream()
                        .filter(claim -> judged.get(claim).close())
                        .toList();
                if (!open.isEmpty() && timeLeft.getAsBoolean()) {
                    progress.more(1);
                    run(batch.getKey(), open, progress);
                    batch.setValue(open);
                }
            }
        }
        return List.copyOf(judged.values());
    }

    /** What has been judged so far, from whatever thread. */
    public List<Judgement> soFar() {
        synchronized (judged) {
            return judged.values().stream().filter(Objects::nonNull).toList();
        }
    }

    private void run(String batch, List<Claim> claims, Progress progress) {
        progress.at(batch);
        measure(claims);
        claims.forEach(claim -> judged.put(claim, judge(claim)));
        progress.step();
    }

    /** How many steps of progress {@link #check} starts with. */
    public static int steps(List<Claim> claims) {
        return (int) claims.stream().map(Claim::batch).distinct().count();
    }

    private Optional<String> lacking(Claim claim) {
        boolean needsMembarrier =
                claim.need() == Claim.Need.MEMBARRIER || claim.need() == Claim.Need.MEMBARRIER_AND_TWO_CPUS;
        boolean needsCpus = claim.need() == Claim.Need.TWO_CPUS || claim.need() == Claim.Need.MEMBARRIER_AND_TWO_CPUS;
        if (needsMembarrier && !Machine.membarrier(machine)) {
            return Optional.of("membarrier is refused");
        }
        if (needsCpus && machine.get("cpus") instanceof Integer cpus && cpus < 2) {
            return Optional.of("one CPU only");
        }
        if (claim.need() == Claim.Need.SOURCES && SourceCheck.sources().isEmpty()) {
            return Optional.of("no checkout of the sources");
        }
        return Optional.empty();
    }

    private void measure(List<Claim> claims) {
        Set<Point> points = new LinkedHashSet<>();
        for (Claim claim : claims) {
            points.add(claim.subject().point());
            if (claim.peer() != null) {
                points.add(claim.peer().point());
            }
        }
        List<Point> ordered = List.copyOf(points);
        int rounds = ordered.stream().mapToInt(point -> point.repeats(bench)).max().orElse(0);
        for (int round = 0; round < rounds; round++) {
            bench.round(round % 2 == 0 ? ordered : ordered.reversed()).forEach((point, metrics) -> metrics.forEach(
                    (metric, value) -> keep(new Quantity(point, metric), value)));
        }
    }

    private void keep(Quantity quantity, double... values) {
        List<Double> all = samples.computeIfAbsent(quantity, q -> new ArrayList<>());
        Arrays.stream(values).forEach(all::add);
        recorder.record("claim-point", quantity.point().params(), quantity.metric(), quantity.unit(), values);
    }

    private Judgement judge(Claim claim) {
        Function<Quantity, double[]> values =
                q -> samples.get(q).stream().mapToDouble(Double::doubleValue).toArray();
        double[] own = values.apply(claim.subject());
        return Judgement.of(claim, claim.peer() == null ? own : Stats.ratios(own, values.apply(claim.peer())));
    }
}
