// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.compare;

import io.panalock.bench.machine.Machine;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Noise;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.Stats;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Two runs of the same experiments, figure by figure and lock by lock.
 *
 * <p>A change is the logarithm of new over old, turned so that more is worse, and shown as the figure's own: a rate that is halved
 * changes by -50 %. From every change the median change of the
 * peers in the same experiment is taken away: what hits ReentrantLock, pthread_mutex and the JNI call alike is the machine,
 * not Panalock.
 *
 * <p>The noise of a change comes from the spreads of both figures. Spreads within a run know nothing of what differs from
 * run to run (memory layout, the JIT compiler's choices), so three things widen them: {@link #RUN_TO_RUN}, the factor by
 * which the changes of the whole experiment scatter more than their spreads say, and for whole locks how much all locks,
 * peers among them, scatter around each other. One lock that became slower hardly moves the latter two,
 * because they come from medians.
 *
 * <p>A single figure counts as changed beyond {@link #FIGURE_NOISES} times its noise, all figures of one lock together
 * (their median) beyond {@link #GROUP_NOISES} times theirs: the former must stay silent over hundreds of figures.
 */
public final class Comparison {
    /** Relative; what two quiet runs of one build differ by however often each repeats. */
    static final double RUN_TO_RUN = 0.02;

    /** Relative; at least, of a figure that was measured once: one interruption may have made it what it is. */
    static final double MEASURED_ONCE = 0.10;

    static final double FIGURE_NOISES = 5;
    static final double GROUP_NOISES = 2.5;

    /** So many changes are needed before their scatter says something. */
    private static final int ENOUGH_TO_SCATTER = 8;

    /** So many locks are needed before their scatter says something. */
    private static final int ENOUGH_OWNERS = 5;

    /** So many peers are needed before their median is the machine's and not one peer's. */
    private static final int ENOUGH_PEERS = 3;

    /** Bytes per operation below this are the Java heap's own rounding. */
    private static final double ONE_BYTE = 1;

    /** Standard error of a median over that of a mean, and standard deviation over median absolute deviation. */
    private static final double MEDIAN_ERROR = 1.2533;

    private static final double MAD_TO_SIGMA = 1.4826;

    /** One interruption decides these, or they repeat what another metric says. */
    private static final Set<String> SHOWN_ONLY = Set.of("min", "max", "longest", "thread_min", "thread_mean", "thread_max");

    /**
     * One figure, before and after.
     *
     * @param before the point in the old results
     * @param after the same point in the new ones
     * @param change of the figure itself, less that of the peers: 0.1 is ten per cent more, which is worse for a time and
     *     better for a rate, see the verdict; NaN when that cannot be said
     * @param noise of the change, as a fraction; NaN when unknown
     */
    public record Line(Result before, Result after, String metric, double change, double noise, Verdict verdict) {
        public Metric old() {
            return before.metrics().get(metric);
        }

        public Metric now() {
            return after.metrics().get(metric);
        }

        /** The change as a logarithm, turned so that more is worse. */
        private double worsening() {
            return -Math.log1p(change) * better();
        }

        private int better() {
            return Quantity.of(old().unit()).kind().better();
        }

        /** New over old, as measured; NaN when the old figure is 0. */
        public double ratio() {
            return old().value() == 0 ? Double.NaN : now().value() / old().value();
        }
    }

    /** The median of all figures of one lock or kind of call; {@code change} as in {@link Line}. */
    public record Group(String experiment, String metric, String owner, int figures, double change, double noise,
            Verdict verdict) {}

    /**
     * One metric of one experiment.
     *
     * @param machineWide the median change of the peers, as in {@link Line}, taken away from every other change; empty when
     *     there are none
     */
    public record Part(String experiment, String metric, Optional<Double> machineWide, List<Line> lines,
            List<Group> groups) {}

    private record Matched(Result before, Result after, String metric, Quantity quantity, double raw, double spread) {
        boolean comparable() {
            return Double.isFinite(raw);
        }

        boolean peer() {
            return Peers.isPeer(before);
        }
    }

    private final Results old;
    private final Results now;
    private final double threshold;
    private final Noise oldNoise;
    private final Noise newNoise;
    private final boolean emulated;
    private final List<Part> parts = new ArrayList<>();
    private int onlyOld;
    private int onlyNew;

    /** @param threshold what is tolerated, as a fraction: 0.1 for ten per cent */
    public Comparison(Results old, Results now, double threshold) {
        if (!(threshold >= 0)) {
            throw new IllegalArgumentException("a threshold must not be negative");
        }
        this.old = old;
        this.now = now;
        this.threshold = threshold;
        this.oldNoise = Noise.ofMedians(old);
        this.newNoise = Noise.ofMedians(now);
        this.emulated = Machine.emulated(old.machine()) || Machine.emulated(now.machine());
        Map<List<String>, List<Matched>> matched = match();
        List<Matched> allPeers = matched.values().stream()
                .flatMap(List::stream)
                .filter(m -> m.peer() && m.comparable() && m.quantity.kind().dependsOnSpeed())
                .toList();
        List<Measured> measured = new ArrayList<>();
        matched.forEach((key, members) -> measured.add(part(key.get(0), key.get(1), members, allPeers)));
        double everywhere = apart(measured.stream().flatMap(m -> m.fromMiddle().stream()).toList());
        measured.forEach(m -> parts.add(m.withGroups(everywhere)));
    }

    /** A part before its locks are judged. */
    private record Measured(Part part, Map<String, List<Line>> byOwner, double shiftNoise) {
        Measured(Part part) {
            this(part, Map.of(), 0);
        }

        /** How far each lock's change is from that of the lock in the middle. */
        List<Double> fromMiddle() {
            List<Double> changes = byOwner.values().stream().map(Comparison::change).toList();
            return changes.isEmpty() ? changes : changes.stream().map(c -> c - median(changes)).toList();
        }

        Part withGroups(double everywhere) {
            double common = Math.hypot(shiftNoise, Math.max(everywhere, apart(fromMiddle())));
            List<Group> groups = new ArrayList<>();
            byOwner.forEach((owner, own) -> {
                if (own.getFirst().verdict != Verdict.PEER) {
                    groups.add(group(part.experiment, part.metric, owner, own, common));
                }
            });
            return new Part(part.experiment, part.metric, part.machineWide, part.lines, groups);
        }
    }

    /** How much locks scatter around each other, as a standard deviation; 0 when there are too few to say. */
    private static double apart(List<Double> fromMiddle) {
        return fromMiddle.size() < ENOUGH_OWNERS ? 0 : MAD_TO_SIGMA * deviation(fromMiddle);
    }

    private record Key(String experiment, Map<String, Object> params) {}

    private Map<List<String>, List<Matched>> match() {
        Map<Key, Result> after = new LinkedHashMap<>();
        now.all().forEach(r -> after.put(new Key(r.experiment(), r.params()), r));
        Map<List<String>, List<Matched>> matched = new LinkedHashMap<>();
        int both = 0;
        for (Result before : old.all()) {
            Result same = after.get(new Key(before.experiment(), before.params()));
            if (same == null) {
                onlyOld++;
                continue;
            }
            both++;
            if (before.experiment().equals("claim")) {
                continue; // a ratio with a verdict of its own
            }
            before.metrics().forEach((name, metric) -> {
                Metric other = same.metrics().get(name);
                if (other != null && other.unit().equals(metric.unit())) {
                    matched.computeIfAbsent(List.of(before.experiment(), name), k -> new ArrayList<>())
                            .add(matched(before, same, name));
                }
            });
        }
        onlyNew = now.all().size() - both;
        return matched;
    }

    private Matched matched(Result before, Result after, String metric) {
        double was = before.metrics().get(metric).value();
        double is = after.metrics().get(metric).value();
        Quantity quantity = Quantity.of(before.metrics().get(metric).unit());
        double raw = was > 0 && is > 0 ? -Math.log(is / was) * quantity.kind().better() : Double.NaN;
        double spread = Math.hypot(
                oldNoise.relative(before, metric).orElse(Double.NaN), newNoise.relative(after, metric).orElse(Double.NaN));
        return new Matched(before, after, metric, quantity, raw, spread);
    }

    private Measured part(String experiment, String metric, List<Matched> members, List<Matched> allPeers) {
        Quantity.Kind kind = members.getFirst().quantity.kind();
        if (kind == Quantity.Kind.BYTES) {
            return new Measured(new Part(
                    experiment, metric, Optional.empty(), members.stream().map(Comparison::bytes).toList(), List.of()));
        }
        if (!kind.dependsOnSpeed() || SHOWN_ONLY.contains(metric) || emulated) {
            List<Line> lines = members.stream()
                    .map(m -> new Line(m.before, m.after, metric, Double.NaN, m.spread, Verdict.NOT_JUDGED))
                    .toList();
            return new Measured(new Part(experiment, metric, Optional.empty(), lines, List.of()));
        }
        List<Matched> peers = members.stream()
                .filter(m -> m.peer() && m.comparable() && !"java".equals(m.before.params().get("via")))
                .toList();
        if (peers.size() < ENOUGH_PEERS) {
            peers = allPeers;
        }
        Optional<Double> shift =
                peers.isEmpty() ? Optional.empty() : Optional.of(median(peers.stream().map(Matched::raw).toList()));
        double wider = scatter(members, shift.orElse(0.0));
        double shiftNoise = peers.isEmpty()
                ? 0
                : MEDIAN_ERROR * median(peers.stream().map(m -> noise(m, wider)).toList()) / Math.sqrt(peers.size());
        List<Line> lines = new ArrayList<>();
        Map<String, List<Line>> byOwner = new LinkedHashMap<>();
        for (Matched m : members) {
            double change = m.raw - shift.orElse(0.0);
            double noise = Math.hypot(noise(m, wider), shiftNoise);
            Verdict verdict = m.peer()
                    ? Verdict.PEER
                    : m.comparable() ? speed(change, FIGURE_NOISES * noise) : Verdict.NOT_JUDGED;
            Line line = new Line(m.before, m.after, metric, Math.expm1(-change * kind.better()), noise, verdict);
            lines.add(line);
            if (m.comparable()) {
                byOwner.computeIfAbsent(Peers.owner(m.before), k -> new ArrayList<>()).add(line);
            }
        }
        return new Measured(
                new Part(experiment, metric, shift.map(s -> Math.expm1(-s * kind.better())), lines, List.of()), byOwner, shiftNoise);
    }

    private static double noise(Matched m, double wider) {
        double noise = wider * atLeast(m);
        return Double.isNaN(m.spread) ? Math.max(noise, MEASURED_ONCE) : noise;
    }

    private static double atLeast(Matched m) {
        return Double.isNaN(m.spread) ? RUN_TO_RUN : Math.hypot(RUN_TO_RUN, m.spread);
    }

    /** By what factor the changes scatter more than their spreads say; at least 1. */
    private static double scatter(List<Matched> members, double shift) {
        List<Double> inNoises = members.stream()
                .filter(Matched::comparable)
                .map(m -> (m.raw - shift) / atLeast(m))
                .toList();
        return inNoises.size() < ENOUGH_TO_SCATTER ? 1 : Math.max(1, MAD_TO_SIGMA * deviation(inNoises));
    }

    /** The median distance from the median. */
    private static double deviation(List<Double> values) {
        double middle = median(values);
        return median(values.stream().map(v -> Math.abs(v - middle)).toList());
    }

    private static double change(List<Line> lines) {
        return median(lines.stream().map(Line::worsening).toList());
    }

    private static Group group(String experiment, String metric, String owner, List<Line> lines, double common) {
        double change = change(lines);
        double own = MEDIAN_ERROR * median(lines.stream().map(Line::noise).toList()) / Math.sqrt(lines.size());
        double noise = Math.hypot(Math.hypot(RUN_TO_RUN, own), common);
        return new Group(experiment, metric, owner, lines.size(), Math.expm1(-change * lines.getFirst().better()), noise,
                speed(change, GROUP_NOISES * noise));
    }

    private static Verdict speed(double change, double noise) {
        return !(Math.abs(change) > noise) ? Verdict.WITHIN_NOISE : change > 0 ? Verdict.SLOWER : Verdict.FASTER;
    }

    private static Line bytes(Matched m) {
        double was = m.before.metrics().get(m.metric).value();
        double difference = m.after.metrics().get(m.metric).value() - was;
        double noise = Double.isNaN(m.spread) ? 0 : FIGURE_NOISES * m.spread * was;
        Verdict verdict = m.peer()
                ? Verdict.PEER
                : Math.abs(difference) < Math.max(ONE_BYTE, noise)
                        ? Verdict.WITHIN_NOISE
                        : difference > 0 ? Verdict.MORE_BYTES : Verdict.FEWER_BYTES;
        return new Line(m.before, m.after, m.metric, was > 0 ? difference / was : Double.NaN, m.spread, verdict);
    }

    private static double median(List<Double> values) {
        return Stats.median(values.stream().mapToDouble(Double::doubleValue).toArray());
    }

    public List<Part> parts() {
        return List.copyOf(parts);
    }

    public List<Line> lines() {
        return parts.stream().flatMap(p -> p.lines.stream()).toList();
    }

    public List<Group> groups() {
        return parts.stream().flatMap(p -> p.groups.stream()).toList();
    }

    /** Points that only one of the two results has. */
    public int unmatched() {
        return onlyOld + onlyNew;
    }

    public boolean emulated() {
        return emulated;
    }

    /** Warnings about how the figures came about. */
    public List<String> busy() {
        List<String> busy = new ArrayList<>();
        for (Results results : List.of(old, now)) {
            Map<String, Object> machine = results.machine();
            if (Machine.busy(machine)) {
                busy.add("The " + (results == old ? "old" : "new") + " figures come from a busy machine: "
                        + Machine.load(machine) + ". Do not rely on them.");
            }
        }
        return busy;
    }

    public double threshold() {
        return threshold;
    }

    /** Single figures that became worse beyond the noise and by more than the threshold. */
    public List<Line> worseLines() {
        return lines().stream()
                .filter(l -> l.verdict.worse() && (Double.isNaN(l.change) || Math.abs(l.change) > threshold))
                .toList();
    }

    /** Locks and kinds of call that became slower beyond the noise and by more than the threshold. */
    public List<Group> worseGroups() {
        return groups().stream()
                .filter(g -> g.verdict.worse() && Math.abs(g.change) > threshold)
                .toList();
    }

    public boolean regressed() {
        return !worseLines().isEmpty() || !worseGroups().isEmpty();
    }
}
