// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * One JMH benchmark with fixed parameters, and what its result is called.
 *
 * @param experiment as in results
 * @param params as in results
 * @param benchmark class and method
 * @param jmhParams values of its {@code @Param} fields
 * @param unit of its score
 */
public record JmhPoint(
        String experiment, Map<String, Object> params, String benchmark, Map<String, String> jmhParams, String unit) {

    /** Targets of the calls, in the order of the table. */
    public static final List<String> TARGETS = List.of("blank", "int1", "int4", "int10", "pointer");

    /** How a call is made, in the order of the table. */
    public static final List<String> WAYS = List.of("jni", "ffm", "critical");

    public static Map<String, Object> callParams(String target, String via) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("target", target);
        params.put("via", via);
        return params;
    }

    public static JmhPoint call(String target, String via) {
        return new JmhPoint("call", callParams(target, via), CallBenchmark.class.getName() + "." + target + "_" + via,
                Map.of(), "ns/call");
    }

    public static List<JmhPoint> calls(List<String> targets) {
        List<JmhPoint> points = new ArrayList<>();
        points.add(call("nothing", "java"));
        for (String target : targets) {
            for (String way : WAYS) {
                points.add(call(target, way));
            }
        }
        return points;
    }

    public static Map<String, Object> pairParams(String backend, String layout, String place) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("side", "java");
        params.put("lock", "qspinlock");
        params.put("backend", backend);
        params.put("layout", layout);
        params.put("place", place);
        return params;
    }

    public static JmhPoint pair(String backend, String layout, String place) {
        return new JmhPoint("pair", pairParams(backend, layout, place), PanalockPairBenchmark.class.getName() + ".pair",
                Map.of("backend", backend.toUpperCase(Locale.ROOT), "layout", layout.toUpperCase(Locale.ROOT), "place", place),
                "ns/pair");
    }

    /** Peers of the pairs: the name in results, the method of {@link PeerPairBenchmark}. */
    private static final Map<String, String> PEERS = new LinkedHashMap<>();

    static {
        PEERS.put("reentrantlock", "reentrantlock");
        PEERS.put("synchronized", "synchronizedBlock");
        PEERS.put("pthread-mutex-ffm", "pthreadMutexFfm");
        PEERS.put("pthread-mutex-jni", "pthreadMutexJni");
    }

    public static List<JmhPoint> peerPairs() {
        List<JmhPoint> points = new ArrayList<>();
        PEERS.forEach((lock, method) -> points.add(new JmhPoint("pair", Map.of("side", "java", "lock", lock),
                PeerPairBenchmark.class.getName() + "." + method, Map.of(), "ns/pair")));
        return points;
    }

    /** For progress: the parameters' values. */
    public String label() {
        return String.join(" ", params.values().stream().map(String::valueOf).toList());
    }
}
