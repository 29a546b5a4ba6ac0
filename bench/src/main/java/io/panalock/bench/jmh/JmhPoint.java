// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One JMH benchmark and what its result is called.
 *
 * @param experiment as in results
 * @param params as in results
 * @param benchmark class and method
 * @param unit of its score
 */
public record JmhPoint(String experiment, Map<String, Object> params, String benchmark, String unit) {

    /** Targets of the calls, in the order of the table. */
    public static final List<String> TARGETS = List.of("blank", "int1", "int4", "int10", "mix", "pointer", "struct",
            "string", "errno", "upcall", "array16", "array1024");

    /** How a call is made, in the order of the table. */
    public static final List<String> WAYS =
            List.of("jni", "jni_copy", "ffm", "critical", "nonconst", "jna_direct", "jna_interface", "jnr");

    /** What is built into the JDK, and called the way its makers mean it. */
    public static final List<String> JDK_WAYS = List.of("jni", "ffm", "critical");

    public static Map<String, Object> callParams(String target, String via) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("target", target);
        params.put("via", via);
        return params;
    }

    private static final List<Class<?>> CALLS = List.of(CallBenchmark.class, DataCallBenchmark.class);

    /** Empty when there is no such call: critical calls do not call back, jnr-ffi passes no structs, … */
    public static Optional<JmhPoint> call(String target, String via) {
        String method = target + "_" + via.replace("_", "");
        return CALLS.stream()
                .filter(c -> Arrays.stream(c.getDeclaredMethods()).anyMatch(m -> m.getName().equals(method)))
                .map(c -> new JmhPoint("call", callParams(target, via), c.getName() + "." + method, "ns/call"))
                .findFirst();
    }

    /** JMH alone, then every such call that there is. */
    public static List<JmhPoint> calls(List<String> targets, List<String> ways) {
        List<JmhPoint> points = new ArrayList<>();
        call("nothing", "java").ifPresent(points::add);
        for (String target : targets) {
            for (String way : ways) {
                call(target, way).ifPresent(points::add);
            }
        }
        return points;
    }

    /** For progress: the parameters' values. */
    public String label() {
        return String.join(" ", params.values().stream().map(String::valueOf).toList());
    }
}
