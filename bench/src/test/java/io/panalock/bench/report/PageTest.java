// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.bench.Synthetic;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tools.jackson.jr.ob.JSON;

class PageTest {
    /** What a reader sees: the page without ECharts, scripts and style. */
    private static String visible(String page) {
        return page.replaceAll("(?s)<script.*?</script>|<style>.*?</style>", "");
    }

    private static String words(String page) {
        return visible(page).replaceAll("(?s)<[^>]*>", " ").replaceAll("\\s+", " ");
    }

    @Test
    void thePageIsOneFileUnderThreeMegabytes() {
        String page = Fixtures.page(Fixtures.quiet(), Fixtures.arm(), Fixtures.emulated());
        assertThat(page.getBytes(StandardCharsets.UTF_8).length).isLessThan(3_000_000);
        assertThat(visible(page)).doesNotContain("src=", "<link", "http:", "https:", "@import");
        assertThat(page).contains("default-src 'none'");
    }

    @Test
    void theHeadSaysMachineDateAndVersion() {
        assertThat(words(Fixtures.page(Fixtures.quiet())))
                .contains("Example CPU 9000", "2026-03-01 12:00:00 UTC", "panalock 0.1.0", "JDK 25.0.3", "0.0-test");
    }

    @Test
    void everyFigureIsInATable() {
        String page = Fixtures.page(Fixtures.quiet());
        Results results = Fixtures.quiet();
        for (Result result : results.all()) {
            result.metrics().forEach((name, metric) -> assertThat(page)
                    .as("%s %s", result, name)
                    .contains(">" + io.panalock.bench.text.Cell.format(metric)));
        }
    }

    @Test
    void machinesStandSideBySideAndAreCompared() {
        String page = words(Fixtures.page(Fixtures.quiet(), Fixtures.arm()));
        assertThat(page).contains("A \u00b7 Example CPU 9000", "B \u00b7 Example Arm N9").containsPattern("B against A: 1\\.[5-9]");
    }

    @Test
    void timesOfAnEmulatedMachineAreNotShown() {
        String page = Fixtures.page(Fixtures.emulated());
        assertThat(words(page)).contains("emulated", "not shown").doesNotContain("fastest");
        Results results = Fixtures.emulated();
        for (String experiment : List.of("call", "pair")) {
            results.all().stream().filter(r -> r.experiment().equals(experiment)).forEach(r -> assertThat(page)
                    .doesNotContain(">" + io.panalock.bench.text.Cell.format(r.metrics().get("time")) + "<"));
        }
        assertThat(page).doesNotContain("contended-throughput\"").contains("contended-jain");
    }

    @Test
    void anEmulatedMachineBesideARealOneHasNoTimesEither() {
        String page = Fixtures.page(Fixtures.quiet(), Fixtures.emulated());
        assertThat(words(page)).contains("B \u00b7 implementer 0x00 part 0x051 emulated").doesNotContain("B against A");
    }

    @Test
    void anUnknownExperimentGetsATableAndAChart() {
        String page = Fixtures.page(Fixtures.unknown());
        assertThat(words(page)).contains("Copying");
        Map<String, Object> copying = figure(page, "copying-time");
        assertThat(copying.get("form")).isEqualTo("lines");
        assertThat(copying.get("xName")).isEqualTo("size");
        assertThat(copying.get("keys")).isEqualTo(List.of("64", "4096"));
    }

    @Test
    void publishedFiguresStandBesideOurs() {
        String page = Fixtures.page(Fixtures.unknown());
        assertThat(words(page)).contains("Published: Intel Sapphire Rapids", "Convert ringbuf.c to rqspinlock", "raw_spinlock");
        for (String id : List.of("ringbuf-throughput", "locktest-total", "rcuscale-average", "lockdep-unregister-elapsed")) {
            assertThat((List<?>) figure(page, id).get("panels")).as(id).hasSize(2);
        }
        assertThat((List<?>) figure(page, "tokens-per-pass").get("panels")).as("8 and 64 processes, published").hasSize(3);
        assertThat(words(Fixtures.page(Fixtures.quiet()))).doesNotContain("Published");
    }

    @Test
    void everyPublishedFileCanBeRead() {
        Set<String> experiments =
                References.index().stream().map(e -> (String) ((Map<?, ?>) e).get("experiment")).collect(Collectors.toSet());
        assertThat(experiments).hasSize(5);
        assertThat(References.of(experiments)).hasSize(5).allSatisfy(subject -> {
            assertThat(subject.results().all()).isNotEmpty();
            assertThat(subject.published()).isNotEmpty();
        });
    }

    @Test
    void publishedFiguresHaveTheUnitsOfOurs() {
        assertThat(published("tokens", Map.of("via", "exclusive", "processes", 64), "per_pass").value()).isEqualTo(1.70214835);
        assertThat(published("tokens", Map.of("via", "wake_all"), "switches_per_pass").value()).isEqualTo(11.250961);
        assertThat(published("locktest", Map.of("variant", "wfe", "threads", 224), "thread_min").value()).isEqualTo(33.4);
        assertThat(published("ringbuf", Map.of("lock", "rqspinlock", "producers", 2), "throughput"))
                .isEqualTo(new Metric(2.801, "M/s", 0.014));
        assertThat(published("rcuscale", Map.of("mode", "shazptr"), "p99").unit()).isEqualTo("µs");
        assertThat(published("lockdep-unregister", Map.of("mode", "rcu"), "elapsed").value()).isEqualTo(1.039);
    }

    private static Metric published(String experiment, Map<String, Object> params, String metric) {
        return References.of(Set.of(experiment)).getFirst().results().metric(experiment, params, metric).orElseThrow();
    }

    @Test
    void namesCannotBreakOutOfThePage() {
        String page = Fixtures.page(Fixtures.hostile());
        assertThat(visible(page)).doesNotContain("<img", "<!-- {{");
        assertThat(Pattern.compile("</script>").matcher(page).results().count()).isEqualTo(3);
        assertThat(figures(page)).isNotEmpty();
        assertThat(words(page)).contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&lt;!-- {{data}} &amp; &quot;&#39;");
    }

    @Test
    void wordsFollowFromTheFigures() {
        assertThat(words(page("reentrantlock", 10, 0.1, 5, 0.1))).contains("Faster than ReentrantLock: HYBRID (0.50\u00a0\u00d7)");
        assertThat(words(page("reentrantlock", 10, 0.1, 20, 0.1))).contains("Slower than ReentrantLock: HYBRID (2.00\u00a0\u00d7)");
        assertThat(words(page("reentrantlock", 10, 0.1, 10.1, 0.1))).contains("Not different from ReentrantLock beyond the noise: HYBRID");
        assertThat(words(page("reentrantlock", 10, 4, 5, 4))).contains("Not different from ReentrantLock beyond the noise: HYBRID");
        assertThat(words(page("reentrantlock", 10, Double.NaN, 5, Double.NaN))).contains("HYBRID. Figures are medians", "nothing can be said against ReentrantLock: HYBRID");
        assertThat(words(page("reentrantlock", 10, 0.1, 5, 0.1))).doesNotContain("nothing is sure");
    }

    private static String page(String peer, double its, double itsSpread, double ours, double ourSpread) {
        Results results = new Results(Map.of("cpu", "X"), Map.of());
        results.add(new Result("pair", Synthetic.params("side", "java", "lock", peer),
                Map.of("time", new Metric(its, "ns/pair", itsSpread))));
        results.add(new Result("pair",
                Synthetic.params("side", "java", "lock", "qspinlock", "backend", "hybrid", "layout", "wide", "place", "pool"),
                Map.of("time", new Metric(ours, "ns/pair", ourSpread))));
        return Fixtures.page(results);
    }

    @Test
    void aNoisyOrInterruptedRunSaysSo() {
        Results results = new Synthetic(3).noise(8).machine("load", "7.5").run("complete", false).results();
        assertThat(words(Fixtures.page(results))).contains("Noisy: half of the figures", "the load was 7.5 on 8 CPUs", "stopped before");
        assertThat(words(Fixtures.page(Fixtures.quiet()))).doesNotContain("Noisy", "the load was", "stopped before");
    }

    @Test
    void claimsAndTheirVerdictsAreShown() {
        assertThat(words(Fixtures.page(Fixtures.unknown()))).contains("An example costs less than 2 ns. 1.50 \u00b1 0.10 ns &lt; 2 holds");
    }

    @Test
    void resultsWithoutAnyResultMakeAPage() {
        assertThat(words(Fixtures.page(new Results(Map.of(), Map.of())))).contains("unknown CPU");
    }

    @Test
    void noResultsAreRefused() {
        assertThatThrownBy(() -> new Page(Map.of(), "")).isInstanceOf(IllegalArgumentException.class);
    }

    @SuppressWarnings("unchecked")
    private static List<Object> figures(String page) {
        String start = "<script type=\"application/json\" id=\"data\">";
        int from = page.indexOf(start) + start.length();
        return (List<Object>) JSON.std.mapFrom(page.substring(from, page.indexOf("</script>", from))).get("figures");
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> figure(String page, String id) {
        return figures(page).stream()
                .map(f -> (Map<String, Object>) f)
                .filter(f -> f.get("id").equals(id) || String.valueOf(f.get("id")).startsWith("x-" + id))
                .findFirst()
                .orElseThrow();
    }
}
