// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.text;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.contend.Locks;
import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Ratio;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RunReportTest {
    /** Results as run makes them, with a different figure everywhere. */
    private static Results results(double jni, double ffm, double critical, double hybrid, double reentrant, double spread) {
        Results results = new Results(Map.of(), Map.of());
        double[] calls = {jni, ffm, critical};
        double argument = 0;
        for (String target : JmhPoint.TARGETS) {
            for (int way = 0; way < calls.length; way++) {
                time(results, "call", JmhPoint.callParams(target, JmhPoint.JDK_WAYS.get(way)), calls[way] + argument, spread);
            }
            argument += 0.31;
        }
        double more = 0;
        for (String backend : Locks.BACKENDS) {
            for (String layout : List.of("wide", "word", "byte")) {
                for (String place : Locks.PLACES) {
                    time(results, "pair", Locks.panalockParams(backend, layout, place), hybrid + more, spread);
                    more += 0.17;
                }
            }
        }
        for (String peer : Locks.javaPeers()) {
            time(results, "pair", Map.of("side", "java", "lock", peer), reentrant + more, spread);
            more += 0.17;
        }
        time(results, "pair", Map.of("side", "java", "lock", Locks.REENTRANT_LOCK), reentrant, spread);
        time(results, "pair", Map.of("side", "c", "lock", "wide"), 2.3, spread);
        time(results, "pair", Map.of("side", "c", "lock", "wide-exported"), 5.1, spread);
        time(results, "pair", Map.of("side", "c", "lock", "pthread-mutex"), 6.8, spread);
        double rate = 10;
        for (int threads : new int[] {2, 16}) {
            for (Map<String, Object> lock : List.<Map<String, Object>>of(
                    Map.of("side", "java", "lock", "qspinlock", "backend", "hybrid", "layout", "wide", "place", "pool"),
                    Map.of("side", "java", "lock", Locks.REENTRANT_LOCK),
                    Map.of("side", "c", "lock", "wide"),
                    Map.of("side", "c", "lock", "pthread-mutex"))) {
                Map<String, Object> params = new LinkedHashMap<>(lock);
                params.put("threads", threads);
                params.put("inside_ns", 100);
                params.put("outside_ns", 0);
                params.put("mode", "throughput");
                Map<String, Metric> metrics = new LinkedHashMap<>();
                metrics.put("throughput", new Metric(rate, "Mops/s", spread));
                for (String metric :
                        List.of("thread_min", "thread_mean", "thread_max", "jain", "in_a_row", "switches")) {
                    metrics.put(metric, new Metric(rate += 0.01, "1", spread));
                }
                results.put(new Result("contended", params, metrics));
                Map<String, Object> timed = new LinkedHashMap<>(params);
                timed.put("mode", "latency");
                Map<String, Metric> percentiles = new LinkedHashMap<>();
                for (String metric : List.of("p50", "p90", "p99", "p99_9", "max")) {
                    percentiles.put(metric, new Metric(rate += 0.01, "µs", spread));
                }
                results.put(new Result("contended", timed, percentiles));
                rate = Math.floor(rate) + 7;
            }
        }
        double beside = 20;
        for (String via : JmhPoint.JDK_WAYS) {
            for (String collector : List.of("idle", "busy")) {
                time(results, "call-gc", Map.of("target", "blank", "via", via, "collector", collector), beside++, spread);
            }
            results.put(new Result("call-safepoint", Map.of("via", via, "wait_ms", 20),
                    Map.of("safepoint", new Metric(beside++, "ms", spread))));
        }
        return results;
    }

    private static void time(Results results, String experiment, Map<String, Object> params, double ns, double spread) {
        results.put(new Result(experiment, params, Map.of("time", new Metric(ns, "ns", spread))));
    }

    @Test
    void everyFigureInATableComesFromTheResults() {
        Results results = results(4.7, 4.5, 3.5, 2.6, 5.0, 0.1);
        int figures = 0;
        for (RunReport.Titled titled : new RunReport(results).tables()) {
            for (Cell cell : titled.table().cells()) {
                if (cell.sources().isEmpty()) {
                    assertThat(cell.text()).as("words, not a figure").doesNotContainPattern("\\d\\.\\d");
                    continue;
                }
                figures++;
                assertThat(results.all())
                        .containsAll(cell.sources().stream().map(Cell.Source::result).toList());
                List<Metric> from = cell.sources().stream().map(Cell.Source::value).toList();
                String expected = from.size() == 1
                        ? Cell.format(from.getFirst())
                        : cell.sources().get(0).equals(cell.sources().get(1))
                                ? "1.00"
                                : Cell.format(Ratio.of(from.get(0), from.get(1)));
                assertThat(cell.text()).isEqualTo(expected);
            }
        }
        assertThat(figures).isGreaterThan(80);
    }

    @Test
    void everyResultAppearsInATable() {
        Results results = results(4.7, 4.5, 3.5, 2.6, 5.0, 0.1);
        List<Result> shown = new RunReport(results).tables().stream()
                .flatMap(t -> t.table().cells().stream())
                .flatMap(c -> c.sources().stream())
                .map(Cell.Source::result)
                .toList();
        assertThat(shown).containsAll(results.all());
    }

    @Test
    void partialResultsGiveTheTablesThatTheyCan() {
        Results results = new Results(Map.of(), Map.of());
        assertThat(new RunReport(results).tables()).isEmpty();
        assertThat(new RunSummary(results).sentences()).isEmpty();
        time(results, "call", JmhPoint.callParams("blank", "ffm"), 4.5, Double.NaN);
        assertThat(new RunReport(results).toString()).contains("blank, FFM", "4.50").doesNotContain("±");
    }

    @Test
    void columnsAreAligned() {
        String text = new RunReport(results(4.7, 4.5, 3.5, 2.6, 5.0, 0.1)).toString();
        List<String> rows = text.lines().filter(l -> l.startsWith("blank, ")).limit(3).toList();
        assertThat(rows).hasSize(3);
        assertThat(rows.stream().map(String::length).distinct()).hasSize(1);
    }

    @Test
    void theSummarySaysWhatTheFiguresSay() {
        assertThat(new RunSummary(results(4.7, 4.6, 3.5, 2.6, 5.0, 0.01)).sentences())
                .anyMatch(s -> s.startsWith("An FFM call costs about what a JNI call costs"))
                .anyMatch(s -> s.startsWith("Marking it critical saves 1.10 ± 0.014 ns"))
                .anyMatch(s -> s.endsWith("so it pays to take locks in Java and to wait in C."))
                .anyMatch(s -> s.startsWith("It costs 0.52 ± 0.00 times what a ReentrantLock costs"))
                .noneMatch(s -> s.contains("noisy"));
        assertThat(new RunSummary(results(4.7, 9.4, 10.4, 12.6, 5.0, 0.01)).sentences())
                .anyMatch(s -> s.startsWith("An FFM call costs 2.00 ± 0.00 times what a JNI call costs"))
                .anyMatch(s -> s.startsWith("Marking it critical costs 1.00 ± 0.014 ns"))
                .anyMatch(s -> s.endsWith("so taking locks in Java does not pay by itself."))
                .anyMatch(s -> s.startsWith("It costs 2.52 ± 0.01 times what a ReentrantLock costs"));
    }

    @Test
    void differencesWithinTheNoiseAreNotCalledDifferences() {
        assertThat(new RunSummary(results(4.7, 5.3, 4.9, 2.6, 5.0, 0.4)).sentences())
                .anyMatch(s -> s.startsWith("An FFM call costs the same as a JNI call, within the noise (5.30 ± 0.40"))
                .anyMatch(s -> s.startsWith("Marking a call critical makes no difference beyond the noise"));
    }

    @Test
    void figuresThatScatterAreNotCalledTheSame() {
        assertThat(new RunSummary(results(4.7, 6.7, 3.9, 2.6, 5.0, 2)).sentences())
                .anyMatch(s -> s.startsWith("An FFM call cannot be told from a JNI call: the figures scatter too much (6.70 ± 2.00"))
                .anyMatch(s -> s.startsWith("What marking it critical changes cannot be seen"))
                .anyMatch(s -> s.contains("These figures are noisy"))
                .noneMatch(s -> s.contains("the same"));
    }

    @Test
    void ratiosToWhatWasNotMeasuredLeaveNoEmptyColumn() {
        Results results = new Results(Map.of(), Map.of());
        time(results, "call", JmhPoint.callParams("blank", "ffm"), 4.5, 0.1);
        assertThat(new RunReport(results).toString()).contains("ns/call").doesNotContain("vs JNI");
        time(results, "call", JmhPoint.callParams("blank", "jni"), 4.7, 0.1);
        assertThat(new RunReport(results).toString()).contains("vs JNI");
    }

    @Test
    void contendedSentencesNameTheRange() {
        assertThat(new RunSummary(results(4.7, 4.5, 3.5, 2.6, 5.0, 0.1)).sentences())
                .anyMatch(s -> s.equals("Contended, 100 ns inside: against ReentrantLock, HYBRID does 0.59 ± 0.01 times with 2 threads,"
                        + " 0.84 ± 0.00 times with 16 threads."));
    }

    @Test
    void aRatioCarriesItsSpreadAndWhatThatMeans() {
        assertThat(ratio(4, 0.1, 5, 0.1)).isEqualTo("0.80 ± 0.03");
        assertThat(ratio(4.9, 0.1, 5, 0.1)).isEqualTo("0.98 ± 0.03 ≈");
        assertThat(ratio(4, Double.NaN, 5, 0.1)).isEqualTo("0.80 ± 0.02 ?");
        assertThat(new RunReport(results(4.7, 4.7, 3.5, 2.6, 5.0, 0.5)).toString()).contains("≈: the same within the noise");
    }

    private static String ratio(double own, double ownSpread, double peer, double peerSpread) {
        return Cell.format(Ratio.of(new Metric(own, "ns", ownSpread), new Metric(peer, "ns", peerSpread)));
    }
}
