// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultsJsonTest {
    private static Results sample() {
        Map<String, Object> machine = new LinkedHashMap<>();
        machine.put("cpu", "A \"fast\" one \u00b5");
        machine.put("virtual", true);
        machine.put("caches", List.of(Map.of("level", "L1", "size", "32K")));
        Results results = new Results(machine, Map.of("command", "run", "quick", false));
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("lock", "qspinlock");
        params.put("threads", 16);
        Map<String, Metric> metrics = new LinkedHashMap<>();
        metrics.put("throughput", new Metric(123.456789, "Mops/s", 0.25));
        metrics.put("jain", Metric.single(1, "1"));
        results.add(new Result("contended", params, metrics));
        results.add(new Result("claim", Map.of("id", "x"), Map.of()));
        return results;
    }

    @Test
    void whatIsWrittenIsReadBack() {
        Results before = sample();
        Results after = ResultsJson.read(ResultsJson.write(before));
        assertThat(after.machine()).isEqualTo(before.machine());
        assertThat(after.run()).isEqualTo(before.run());
        assertThat(after.all()).isEqualTo(before.all());
    }

    @Test
    void writingTwiceGivesTheSameText() {
        String text = ResultsJson.write(sample());
        assertThat(ResultsJson.write(ResultsJson.read(text))).isEqualTo(text);
    }

    @Test
    void theDocumentedFieldsAreThere() {
        assertThat(ResultsJson.write(sample()))
                .contains("\"schema\" : \"panalock-results/1\"", "\"machine\" : {", "\"results\" : [", "\"experiment\"")
                .contains("\"value\" : 123.456789", "\"unit\" : \"Mops/s\"", "\"spread\" : 0.25", "\"spread\" : null");
    }

    @Test
    void anUnknownSchemaIsRefusedByName() {
        String text = ResultsJson.write(sample()).replace("panalock-results/1", "panalock-results/99");
        assertThatThrownBy(() -> ResultsJson.read(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("panalock-results/99")
                .hasMessageContaining(Results.SCHEMA);
    }

    @Test
    void damagedFilesAreExplained(@TempDir Path dir) throws IOException {
        Path file = dir.resolve("broken.json");
        Files.writeString(file, "{ \"schema\" :");
        assertThatThrownBy(() -> ResultsJson.load(file))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("broken.json")
                .hasMessageContaining("not JSON");
        Files.writeString(file, "{ \"schema\" : \"panalock-results/1\", \"machine\" : {}, \"run\" : {}, \"results\" : 3 }");
        assertThatThrownBy(() -> ResultsJson.load(file)).hasMessageContaining("results is missing or not an array");
    }

    @Test
    void savingMakesTheDirectoryAndLeavesNoHalfFile(@TempDir Path dir) throws IOException {
        Path file = dir.resolve("a/b/results.json");
        ResultsJson.save(sample(), file);
        ResultsJson.save(sample(), file);
        assertThat(ResultsJson.load(file).all()).hasSize(2);
        try (var siblings = Files.list(file.getParent())) {
            assertThat(siblings).containsExactly(file);
        }
    }

    @Test
    void repeatsAreMergedIntoOneResult() {
        Results results = new Results(Map.of(), Map.of());
        Recorder recorder = new Recorder(results);
        recorder.record("pair", Map.of("lock", "a"), "time", "ns", 1, 2, 3);
        recorder.record("pair", Map.of("lock", "b"), "time", "ns", 7);
        recorder.record("pair", Map.of("lock", "a"), "time", "ns", 4, 5);
        recorder.record("pair", Map.of("lock", "a"), "other", "x", 1);
        assertThat(results.all()).hasSize(2);
        assertThat(results.metric("pair", Map.of("lock", "a"), "time"))
                .contains(Metric.of(new double[] {1, 2, 3, 4, 5}, "ns"));
        assertThat(results.metric("pair", Map.of("lock", "b"), "time"))
                .hasValueSatisfying(m -> assertThat(m.hasSpread()).isFalse());
        assertThat(results.metric("pair", Map.of("lock", "c"), "time")).isEmpty();
    }

    @Test
    void aMetricIsFinite() {
        assertThatThrownBy(() -> Metric.single(Double.NaN, "ns")).isInstanceOf(IllegalArgumentException.class);
    }
}
