// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.text;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the keys of results are called, in tables and on the page. An unknown key is shown as it is. */
public final class Names {
    private static final Map<String, String> VALUES = Map.ofEntries(
            Map.entry("jni", "JNI"),
            Map.entry("ffm", "FFM"),
            Map.entry("critical", "FFM critical"),
            Map.entry("ffm_critical", "FFM critical"),
            Map.entry("jni_copy", "JNI, copy"),
            Map.entry("nonconst", "FFM, handle not constant"),
            Map.entry("jna", "JNA"),
            Map.entry("jna_direct", "JNA direct"),
            Map.entry("jna_interface", "JNA interface"),
            Map.entry("jnr", "jnr-ffi"),
            Map.entry("java", "plain Java"),
            Map.entry("hybrid", "HYBRID"),
            Map.entry("pure", "PURE"),
            Map.entry("word", "WORD"),
            Map.entry("byte", "BYTE"),
            Map.entry("wide", "WIDE"),
            Map.entry("reentrantlock", "ReentrantLock"),
            Map.entry("reentrantlock-fair", "ReentrantLock, fair"),
            Map.entry("stampedlock", "StampedLock"),
            Map.entry("pthread-mutex", "pthread_mutex"),
            Map.entry("pthread-adaptive", "pthread_mutex, adaptive"),
            Map.entry("pthread-spin", "pthread_spin"),
            Map.entry("pthread-adaptive-ffm", "pthread_mutex adaptive, FFM"),
            Map.entry("pthread-spin-ffm", "pthread_spin, FFM"),
            Map.entry("ck-fas", "Concurrency Kit fas"),
            Map.entry("ck-ticket", "Concurrency Kit ticket"),
            Map.entry("ck-mcs", "Concurrency Kit mcs"),
            Map.entry("pthread-mutex-ffm", "pthread_mutex, FFM"),
            Map.entry("pthread-mutex-jni", "pthread_mutex, JNI"),
            Map.entry("bare", "bare compare-and-swap"),
            Map.entry("int1", "1 int"),
            Map.entry("int4", "4 ints"),
            Map.entry("int10", "10 ints"),
            Map.entry("mix", "2 longs, 2 doubles"),
            Map.entry("struct", "struct by value"),
            Map.entry("array16", "array of 16 ints"),
            Map.entry("array1024", "array of 1024 ints"),
            Map.entry("call-gc", "calls beside a garbage collector"),
            Map.entry("call-safepoint", "safepoints while a call waits"),
            Map.entry("cache-line", "a cache line from one CPU to the other"),
            Map.entry("atomic", "one atomic operation"),
            Map.entry("clock", "reading the clock"),
            Map.entry("nr_prod", "producers"),
            Map.entry("inside_ns", "ns inside"),
            Map.entry("outside_ns", "ns outside"),
            Map.entry("inside_pauses", "pauses inside"),
            Map.entry("hold_us", "µs sections"),
            Map.entry("idle", "idle threads"));

    private static final Map<String, String> METRICS = Map.ofEntries(
            Map.entry("time", "Time"),
            Map.entry("throughput", "Throughput"),
            Map.entry("jain", "Fairness"),
            Map.entry("in_a_row", "Acquisitions in a row by one thread"),
            Map.entry("thread_min", "Slowest thread"),
            Map.entry("thread_mean", "Average thread"),
            Map.entry("thread_max", "Fastest thread"),
            Map.entry("switches", "Context switches"),
            Map.entry("safepoint", "Time to safepoint"),
            Map.entry("allocated", "Java heap allocated"),
            Map.entry("max", "Longest"),
            Map.entry("min", "Shortest"));

    private static final Pattern PERCENTILE = Pattern.compile("p(\\d{1,2})[._]?(\\d*)");
    private static final Set<String> OF_LOCKS = Set.of("side", "lock", "backend", "layout", "place", "policy");
    private static final Set<String> OURS_IN_C = Set.of("word", "byte", "wide");

    private Names() {}

    public static String value(Object value) {
        String key = String.valueOf(value);
        return VALUES.getOrDefault(key, key);
    }

    /** A parameter's or an unknown experiment's name. */
    public static String key(String key) {
        return VALUES.getOrDefault(key, key.replace('_', ' '));
    }

    public static String metric(String key) {
        String percentile = percentile(key);
        if (percentile != null) {
            return percentile.equals("50") ? "Median" : percentile + " % are shorter than";
        }
        String known = METRICS.get(key);
        return known != null ? known : key.isEmpty() ? key : capital(key.replace('_', ' '));
    }

    /** Units are not always for reading. */
    public static String unit(String metric, String unit) {
        return metric.equals("jain")
                ? "Jain index: 1 is even, 1/n means that one thread got everything"
                : unit.equals("1") ? "" : unit;
    }

    /** {@code p50} gives 50, {@code p999} and {@code p99_9} give 99.9; null for what is no percentile. */
    public static String percentile(String key) {
        Matcher matcher = PERCENTILE.matcher(key);
        if (!matcher.matches()) {
            return null;
        }
        return matcher.group(2).isEmpty() ? matcher.group(1) : matcher.group(1) + "." + matcher.group(2);
    }

    public static String capital(String text) {
        return text.isEmpty() ? text : text.substring(0, 1).toUpperCase(Locale.ROOT) + text.substring(1);
    }

    /** A lock in C by its name. */
    public static String inC(String lock) {
        String[] name = lock.split("-", 2);
        return OURS_IN_C.contains(name[0]) ? value(name[0]) + (name.length == 1 ? ", inline" : ", " + name[1]) : value(lock);
    }

    /** A point of an experiment by all its parameters: what is measured, then how. */
    public static String point(Map<String, Object> params) {
        List<String> parts = new ArrayList<>();
        Map<String, Object> rest = new LinkedHashMap<>(params);
        if (params.containsKey("lock") && (params.containsKey("side") || params.containsKey("backend"))) {
            parts.add(lock(params));
            rest.keySet().removeAll(OF_LOCKS);
        }
        rest.forEach((key, value) -> {
            if (value instanceof Number number) {
                if (number.doubleValue() != 0 || !key.equals("outside_ns")) {
                    parts.add(value + " " + key(key));
                }
            } else if (!"throughput".equals(value)) {
                parts.add(value instanceof Boolean || "yes".equals(value) ? key(key) : value(value));
            }
        });
        return String.join(", ", parts);
    }

    /** A lock by its parameters: backend and layout, or what it is called elsewhere. */
    public static String lock(Map<String, Object> params) {
        List<String> parts = new ArrayList<>();
        Object backend = params.get("backend");
        String lock = String.valueOf(params.get("lock"));
        if ("c".equals(params.get("side"))) {
            parts.add("C " + inC(lock));
        } else {
            parts.add(backend == null ? value(lock) : value(backend));
            if (backend != null && !lock.equals("qspinlock")) {
                parts.addFirst(value(lock));
            }
        }
        if (params.containsKey("layout")) {
            parts.add(value(params.get("layout")));
        }
        if (params.containsKey("policy") && !"spin_then_park".equals(params.get("policy"))) {
            parts.add(value(params.get("policy")));
        }
        if (params.containsKey("place") && !"pool".equals(params.get("place"))) {
            parts.add("in an " + value(params.get("place")));
        }
        return String.join(" ", parts);
    }
}
