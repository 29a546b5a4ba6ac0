// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Benchmark;

class JmhPointTest {
    private static List<JmhPoint> all() {
        return JmhPoint.calls(JmhPoint.TARGETS, JmhPoint.WAYS);
    }

    @Test
    void everyPointNamesABenchmarkThatExists() throws ReflectiveOperationException {
        for (JmhPoint point : all()) {
            int dot = point.benchmark().lastIndexOf('.');
            Class<?> type = Class.forName(point.benchmark().substring(0, dot));
            String name = point.benchmark().substring(dot + 1);
            assertThat(type.getMethods())
                    .as(point.benchmark())
                    .anyMatch(m -> m.getName().equals(name) && m.isAnnotationPresent(Benchmark.class));
        }
    }

    /** JDK 25 silently ignores an annotation processor on the class path, and builds a jar without benchmarks. */
    @Test
    void theAnnotationProcessorHasRun() throws IOException {
        try (var list = getClass().getResourceAsStream("/META-INF/BenchmarkList")) {
            assertThat(list).isNotNull();
            String text = new String(list.readAllBytes(), StandardCharsets.UTF_8);
            for (JmhPoint point : all()) {
                int dot = point.benchmark().lastIndexOf('.');
                assertThat(text).contains(point.benchmark().substring(0, dot), point.benchmark().substring(dot + 1));
            }
        }
    }

    /** A benchmark that no point names is never measured. */
    @Test
    void everyBenchmarkIsAPoint() {
        List<String> benchmarks = new ArrayList<>();
        for (Class<?> type : List.of(CallBenchmark.class, DataCallBenchmark.class)) {
            for (var method : type.getDeclaredMethods()) {
                if (method.isAnnotationPresent(Benchmark.class)) {
                    benchmarks.add(type.getName() + "." + method.getName());
                }
            }
        }
        assertThat(all().stream().map(JmhPoint::benchmark)).containsExactlyInAnyOrderElementsOf(benchmarks);
    }

    @Test
    void everyTargetIsCalledInTheWaysOfTheJdk() {
        for (String target : JmhPoint.TARGETS) {
            for (String way : JmhPoint.JDK_WAYS) {
                // A critical call must not call back.
                assertThat(JmhPoint.call(target, way).isPresent())
                        .as(target + " " + way)
                        .isEqualTo(!(target.equals("upcall") && way.equals("critical")));
            }
        }
    }

    @Test
    void noTwoPointsHaveTheSameParameters() {
        assertThat(all().stream().map(p -> p.experiment() + p.params())).doesNotHaveDuplicates();
    }
}
