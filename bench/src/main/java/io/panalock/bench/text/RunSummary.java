// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.text;

import io.panalock.bench.contend.Locks;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Ratio;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.Stats;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** What the figures of {@code run} mean, in sentences that are true for these figures and for no others. */
public final class RunSummary {
    /** Differences below this are "about the same" even when they could be told apart. */
    private static final double SAME = 0.05;

    private static final double NOISY = 0.10;

    /** A ratio whose spread is a larger part of it than this says nothing. */
    private static final double SCATTERED = 0.25;

    private static final Map<String, Object> HYBRID =
            Map.of("side", "java", "backend", "hybrid", "layout", "wide", "place", "pool");

    private final Results results;
    private final RunReport report;
    private final List<String> sentences = new ArrayList<>();

    public RunSummary(Results results) {
        this.results = results;
        this.report = new RunReport(results);
        calls();
        pairs();
        contended();
        noise();
    }

    public List<String> sentences() {
        return List.copyOf(sentences);
    }

    @Override
    public String toString() {
        String newLine = System.lineSeparator();
        return sentences.isEmpty() ? "" : "What this means here:" + newLine + "  " + String.join(newLine + "  ", sentences);
    }

    private void calls() {
        Optional<Metric> jni = call("jni");
        Optional<Metric> ffm = call("ffm");
        Optional<Metric> critical = call("critical");
        if (jni.isPresent() && ffm.isPresent()) {
            sentences.add("An FFM call " + costs(ffm.get(), jni.get(), "a JNI call") + ".");
        }
        if (ffm.isPresent() && critical.isPresent()) {
            double saved = ffm.get().value() - critical.get().value();
            double spread = Math.hypot(spread(ffm.get()), spread(critical.get()));
            sentences.add(scattered(Ratio.of(critical.get(), ffm.get()))
                    ? "What marking it critical changes cannot be seen in these figures; it is only allowed for calls that never wait."
                    : about(critical.get(), ffm.get())
                            ? "Marking a call critical makes no difference beyond the noise here, and is only allowed for calls"
                                    + " that never wait."
                            : "Marking it critical " + (saved > 0 ? "saves " : "costs ") + Cell.number(Math.abs(saved))
                                    + (spread > 0 ? " ± " + Cell.number(spread) : "")
                                    + " ns, and is only allowed for calls that never wait.");
        }
    }

    private static double spread(Metric metric) {
        return metric.hasSpread() ? metric.spread() : 0;
    }

    private Optional<Metric> call(String via) {
        return results.metric("call", JmhPoint.callParams("blank", via), "time");
    }

    private void pairs() {
        Optional<Metric> hybrid = results.metric("pair", Locks.panalockParams("hybrid", "wide", "pool"), "time");
        if (hybrid.isEmpty()) {
            return;
        }
        String subject = "One uncontended lock and unlock in Java ";
        List<Metric> calls = new ArrayList<>();
        JmhPoint.JDK_WAYS.forEach(way -> call(way).ifPresent(calls::add));
        calls.stream().min((a, b) -> Double.compare(a.value(), b.value())).ifPresent(cheapest -> {
            String so = about(hybrid.get(), cheapest)
                    ? "."
                    : hybrid.get().value() < cheapest.value()
                            ? ", so it pays to take locks in Java and to wait in C."
                            : ", so taking locks in Java does not pay by itself.";
            sentences.add(subject + costs(hybrid.get(), cheapest, "the cheapest call to C") + so);
        });
        results.metric("pair", Map.of("side", "java", "lock", Locks.REENTRANT_LOCK), "time")
                .ifPresent(reentrant -> sentences.add((calls.isEmpty() ? subject : "It ") + costs(hybrid.get(), reentrant, "a ReentrantLock") + "."));
    }

    private void contended() {
        for (RunReport.Section section : report.sections()) {
            clause(section, HYBRID, "HYBRID", "ReentrantLock");
            clause(section, Map.of("side", "c", "lock", "wide"), "the C lock", "pthread_mutex");
        }
    }

    private void clause(RunReport.Section section, Map<String, Object> lock, String name, String peerName) {
        List<String> times = new ArrayList<>();
        for (long threads : report.threads(section)) {
            Optional<Result> own = report.contended(lock, section, threads);
            Optional<Result> peer = report.contended(RunReport.peerOf(lock), section, threads);
            if (own.isPresent() && peer.isPresent()) {
                Ratio ratio = Ratio.of(throughput(own.get()), throughput(peer.get()));
                times.add(Cell.withSpread(ratio) + " times with " + threads + (threads == 1 ? " thread" : " threads") + certainty(ratio));
            }
        }
        if (!times.isEmpty()) {
            sentences.add("Contended, " + section.label() + ": against " + peerName + ", " + name + " does "
                    + String.join(", ", times) + ".");
        }
    }

    private static Metric throughput(Result result) {
        return result.metrics().get("throughput");
    }

    private static String certainty(Ratio ratio) {
        return ratio.same() ? scattered(ratio) ? " (scatters too much to say)" : " (the same within the noise)" : ratio.differs().isEmpty() ? " (measured once)" : "";
    }

    private void noise() {
        double[] relative = results.all().stream()
                .flatMap(r -> r.metrics().entrySet().stream())
                .filter(e -> (e.getKey().equals("time") || e.getKey().equals("throughput"))
                        && e.getValue().hasSpread()
                        && e.getValue().value() > 0)
                .mapToDouble(e -> e.getValue().spread() / e.getValue().value())
                .toArray();
        if (relative.length > 0 && Stats.median(relative) > NOISY) {
            sentences.add(String.format(Locale.ROOT,
                    "These figures are noisy: half of them vary by more than %.0f %% between repeats; close other programs"
                            + " and run again before you rely on small differences.",
                    100 * Stats.median(relative)));
        }
    }

    /** "costs the same as X within the noise", "costs about what X costs", "costs 0.57 ± 0.02 times what X costs". */
    private static String costs(Metric own, Metric other, String what) {
        String figures = " (" + Cell.format(own) + " against " + Cell.format(other) + " ns)";
        Ratio ratio = Ratio.of(own, other);
        return ratio.same() && scattered(ratio)
                ? "cannot be told from " + what + ": the figures scatter too much" + figures
                : ratio.same()
                ? "costs the same as " + what + ", within the noise" + figures
                : about(own, other)
                        ? "costs about what " + what + " costs" + figures
                        : "costs " + Cell.withSpread(ratio) + " times what " + what + " costs" + certainty(ratio) + figures;
    }

    /** True when "the same" would only mean that nothing can be seen. */
    private static boolean scattered(Ratio ratio) {
        return ratio.spread() > SCATTERED * ratio.value();
    }

    /** True when the difference is small, or smaller than the noise of the two. */
    private static boolean about(Metric a, Metric b) {
        Ratio ratio = Ratio.of(a, b);
        return ratio.same() || Math.abs(ratio.value() - 1) <= SAME;
    }
}
