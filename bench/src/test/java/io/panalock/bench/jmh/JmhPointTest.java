// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

class JmhPointTest {
    private static List<JmhPoint> all() {
        List<JmhPoint> points = new ArrayList<>(JmhPoint.calls(JmhPoint.TARGETS));
        points.addAll(JmhPoint.peerPairs());
        points.add(JmhPoint.pair("ffm_critical", "byte", "arena"));
        return points;
    }

    @Test
    void everyPointNamesABenchmarkThatExists() throws ReflectiveOperationException {
        for (JmhPoint point : all()) {
            int dot = point.benchmark().lastIndexOf('.');
            Class<?> type = Class.forName(point.benchmark().substring(0, dot));
            var method = type.getMethod(point.benchmark().substring(dot + 1));
            assertThat(method.isAnnotationPresent(Benchmark.class)).as(point.benchmark()).isTrue();
            for (var parameter : point.jmhParams().entrySet()) {
                Param param = type.getField(parameter.getKey()).getAnnotation(Param.class);
                assertThat(Arrays.asList(param.value())).contains(parameter.getValue());
            }
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

    @Test
    void noTwoPointsHaveTheSameParameters() {
        assertThat(all().stream().map(p -> p.experiment() + p.params())).doesNotHaveDuplicates();
    }
}
