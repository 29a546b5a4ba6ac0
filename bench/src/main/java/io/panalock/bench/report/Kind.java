// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import io.panalock.bench.compare.Peers;
import io.panalock.bench.compare.Quantity;
import io.panalock.bench.report.Subject.Floor;
import io.panalock.bench.result.Result;
import io.panalock.bench.text.Names;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * How the results of one experiment become charts.
 *
 * @param experiment its key in results
 * @param title heading
 * @param lead what was measured, in a sentence
 * @param facets the panels that a result belongs to
 * @param x the numeric parameter along the axis, or null for bars
 * @param category of a result, when bars
 * @param series which line, or which bar of the category
 * @param peer parameters of what the result is compared with; null when it is compared with nothing
 * @param peerName what that is called, for all results together
 * @param peerLabel what one such peer is called
 * @param floor what it cannot be faster than
 * @param tablesOnly metrics that are not worth a chart
 */
record Kind(
        String experiment,
        String title,
        String lead,
        Function<Result, List<String>> facets,
        String x,
        Function<Result, String> category,
        Function<Result, String> series,
        Function<Result, Map<String, Object>> peer,
        String peerName,
        Function<Result, String> peerLabel,
        Floor floor,
        Set<String> tablesOnly) {

    private static final List<String> USUAL_X =
            List.of("threads", "nr_prod", "producers", "processes", "readers", "consumers", "cpus", "size");
    private static final List<String> PLACES = List.of("pool", "arena");
    private static final int FEW = 6;

    private static final Kind CALL = new Kind(
            "call",
            "Calls from Java to C",
            "One call of a C function that does nothing with its arguments, in the ways that Java offers.",
            r -> List.of(""),
            null,
            r -> Names.value(r.params().get("target")) + rest(r, "target", "via"),
            r -> Names.value(r.params().get("via")),
            r -> with(r.params(), "via", "jni"),
            "the same call through JNI",
            r -> "JNI",
            Floor.ATOMIC,
            Set.of());

    private static final Kind PAIR = new Kind(
            "pair",
            "Uncontended lock and unlock",
            "One thread takes a lock that is free and releases it.",
            Kind::pairFacets,
            null,
            r -> Names.lock(without(r.params(), "layout", "place")),
            Kind::ours,
            r -> usualLock(r.params(), Map.of()),
            "ReentrantLock in Java, pthread_mutex in C",
            r -> Names.lock(r.params()),
            Floor.ATOMIC,
            Set.of());

    /** Ours by their layout, or together; the others have no name. */
    private static String ours(Result result) {
        return result.params().containsKey("layout")
                ? Names.value(result.params().get("layout"))
                : Peers.isPeer(result) ? "" : "Panalock";
    }

    private static final Kind CONTENDED = new Kind(
            "contended",
            "Contended locks",
            "All threads want one lock; only the time in which all of them ran counts.",
            r -> List.of(section(r.params())),
            "threads",
            r -> "",
            r -> Names.lock(r.params()),
            r -> usualLock(r.params(), keep(r.params(), "threads", "inside_ns", "outside_ns", "mode")),
            "ReentrantLock in Java, pthread_mutex in C",
            r -> Names.lock(r.params()),
            Floor.CACHE_LINE,
            Set.of("thread_min", "thread_mean", "thread_max"));

    private static final Kind FLOOR = new Kind(
            "floor",
            "Floors",
            "What no lock on this machine can be cheaper than; measured in the same run.",
            r -> List.of(""),
            null,
            r -> Names.capital(Names.value(r.params().get("what"))),
            r -> "",
            r -> null,
            "",
            r -> "",
            Floor.ATOMIC,
            Set.of());

    private static final Kind RINGBUF = curve(
            "ringbuf",
            "Ring buffer, several producers",
            "Producers share one ring buffer and take its lock for each record; one consumer reads.",
            "producers",
            "lock");

    private static final Kind LOCKTEST = curve(
            "locktest",
            "Mutex under load",
            "All threads take one mutex and work inside it; how waiters wait decides.",
            "threads",
            "lock", "variant");

    private static final Kind REFSCALE = curve(
            "refscale",
            "What a reader pays",
            "Readers enter and leave a protected section, without a writer.",
            "readers",
            "mode");

    private static final Kind RCUSCALE = bars(
            "rcuscale",
            "Grace periods",
            "How long a writer waits until no reader can still see what it took away.",
            "mode");

    private static final Kind UNREGISTER = bars(
            "lockdep-unregister",
            "Removing keys",
            "Keys are taken out of a table, one by one, each waiting for its readers: shazptr for those that look into its bucket, the"
                    + " others for all.",
            "mode");

    private static final Kind TOKENS = bars(
            "tokens",
            "One token among many processes",
            "Processes pass one token round; each pass wakes the next holder.",
            "via");

    /** Lines over a numeric parameter: a line for each thing that the keys name, panels for all other parameters. */
    private static Kind curve(String experiment, String title, String lead, String x, String... keys) {
        return new Kind(experiment, title, lead, r -> List.of(others(r, x, keys)), x, r -> "", r -> who(r, keys), r -> null, "",
                r -> "", Floor.CACHE_LINE, Set.of("drops", "thread_min", "thread_mean", "thread_max", "per_cpu"));
    }

    /** Bars: one for each thing that the keys name, panels for all other parameters. */
    private static Kind bars(String experiment, String title, String lead, String... keys) {
        return new Kind(experiment, title, lead, r -> List.of(others(r, "", keys)), null, r -> who(r, keys), r -> "", r -> null,
                "", r -> "", Floor.CACHE_LINE, Set.of());
    }

    /** How a thing was called from, as far as the result says so. */
    private static final Set<String> WAYS = Set.of("side", "backend", "layout", "policy", "place");

    private static String who(Result result, String... keys) {
        Map<String, Object> params = result.params();
        List<String> words = new ArrayList<>();
        if (params.containsKey("side")) {
            words.add("c".equals(params.get("side")) ? "C" : "Java");
        }
        for (String key : keys) {
            if (params.containsKey(key)) {
                words.add(Names.value(params.get(key)));
            }
        }
        for (String key : List.of("backend", "layout", "policy", "place")) {
            if (params.containsKey(key) && !Set.of("spin_then_park", "pool").contains(params.get(key))) {
                words.add(Names.value(params.get(key)));
            }
        }
        return words.isEmpty() ? "measured" : String.join(" ", words);
    }

    private static String others(Result result, String x, String... keys) {
        Set<String> known = new HashSet<>(WAYS);
        known.addAll(List.of(x, "peer"));
        known.addAll(List.of(keys));
        return result.params().entrySet().stream()
                .filter(e -> !known.contains(e.getKey()))
                .map(e -> e.getValue() instanceof Number n ? n + " " + Names.key(e.getKey()) : Names.value(e.getValue()))
                .collect(Collectors.joining(", "));
    }

    /** The way to show the experiment; an unknown one is shown by the shape of its parameters. */
    static Kind of(String experiment, List<Result> results) {
        return switch (experiment) {
            case "call" -> CALL;
            case "pair" -> PAIR;
            case "contended" -> CONTENDED;
            case "floor" -> FLOOR;
            case "ringbuf" -> RINGBUF;
            case "locktest" -> LOCKTEST;
            case "refscale" -> REFSCALE;
            case "rcuscale" -> RCUSCALE;
            case "lockdep-unregister" -> UNREGISTER;
            case "tokens" -> TOKENS;
            default -> byShape(experiment, results);
        };
    }

    private static Kind byShape(String experiment, List<Result> results) {
        Map<String, Set<Object>> values = new LinkedHashMap<>();
        for (Result result : results) {
            result.params().forEach((key, value) -> values.computeIfAbsent(key, k -> new LinkedHashSet<>()).add(plain(value)));
        }
        String x = axis(values);
        List<String> facetKeys = new ArrayList<>();
        List<String> seriesKeys = new ArrayList<>();
        int panels = 1;
        for (Map.Entry<String, Set<Object>> each : values.entrySet()) {
            int count = each.getValue().size();
            boolean numeric = each.getValue().stream().allMatch(Number.class::isInstance);
            if (each.getKey().equals(x) || count == 1) {
                continue;
            }
            if (numeric && x != null && panels * count <= FEW) {
                facetKeys.add(each.getKey());
                panels *= count;
            } else {
                seriesKeys.add(each.getKey());
            }
        }
        Function<Result, String> label = r -> seriesKeys.stream()
                .filter(r.params()::containsKey)
                .map(key -> r.params().get(key) instanceof Number n ? Names.key(key) + " " + n : Names.value(r.params().get(key)))
                .collect(Collectors.joining(", "));
        return new Kind(
                experiment,
                Names.capital(Names.key(experiment)),
                "",
                r -> List.of(facetKeys.stream()
                        .filter(r.params()::containsKey)
                        .map(key -> r.params().get(key) + " " + Names.key(key))
                        .collect(Collectors.joining(", "))),
                x,
                x == null ? r -> orAll(label.apply(r)) : r -> "",
                x == null ? r -> "" : r -> orAll(label.apply(r)),
                r -> null,
                "",
                r -> "",
                x == null ? Floor.ATOMIC : Floor.CACHE_LINE,
                Set.of());
    }

    private static String orAll(String label) {
        return label.isEmpty() ? "measured" : label;
    }

    private static String axis(Map<String, Set<Object>> values) {
        List<String> numeric = values.entrySet().stream()
                .filter(e -> e.getValue().size() > 1 && e.getValue().stream().allMatch(Number.class::isInstance))
                .map(Map.Entry::getKey)
                .toList();
        Optional<String> usual = USUAL_X.stream().filter(numeric::contains).findFirst();
        return usual.or(() -> numeric.stream()
                        .max((a, b) -> Integer.compare(values.get(a).size(), values.get(b).size())))
                .orElse(null);
    }

    private static Object plain(Object value) {
        return value instanceof Number n && !(value instanceof Double) ? (Object) n.longValue() : value;
    }

    /** A lock of C has no place, one that is no lock of ours stands in every place. */
    private static List<String> pairFacets(Result result) {
        Map<String, Object> params = result.params();
        if ("c".equals(params.get("side"))) {
            return List.of("C");
        }
        Object place = params.get("place");
        return (place == null ? PLACES : List.of(place.toString())).stream()
                .map(p -> switch (p) {
                    case "pool" -> "Java, lock in the domain's pool";
                    case "arena" -> "Java, lock in an arena";
                    default -> "Java, lock in: " + p;
                })
                .toList();
    }

    private static String section(Map<String, Object> params) {
        long inside = number(params.get("inside_ns"));
        long outside = number(params.get("outside_ns"));
        return inside == 0 && outside == 0
                ? "Empty section"
                : inside + " ns inside" + (outside == 0 ? "" : ", " + outside + " ns outside");
    }

    private static long number(Object value) {
        return value instanceof Number n ? n.longValue() : 0;
    }

    /** The lock that everybody has already. */
    private static Map<String, Object> usualLock(Map<String, Object> params, Map<String, Object> where) {
        Map<String, Object> peer = new HashMap<>(where);
        boolean c = "c".equals(params.get("side"));
        peer.put("side", c ? "c" : "java");
        peer.put("lock", c ? "pthread-mutex" : "reentrantlock");
        return peer;
    }

    private static Map<String, Object> with(Map<String, Object> params, String key, Object value) {
        Map<String, Object> copy = new LinkedHashMap<>(params);
        copy.put(key, value);
        return copy;
    }

    private static Map<String, Object> without(Map<String, Object> params, String... keys) {
        Map<String, Object> copy = new LinkedHashMap<>(params);
        copy.keySet().removeAll(Set.of(keys));
        return copy;
    }

    private static Map<String, Object> keep(Map<String, Object> params, String... keys) {
        Map<String, Object> copy = new LinkedHashMap<>(params);
        copy.keySet().retainAll(Set.of(keys));
        return copy;
    }

    /** What else identifies the point: a parameter added later must not make two points one. */
    private static String rest(Result result, String... known) {
        Map<String, Object> rest = without(result.params(), known);
        return rest.values().stream().map(v -> ", " + Names.value(v)).collect(Collectors.joining());
    }

    /** Timing every acquisition slows the lock down, so a run for latency says nothing about throughput. */
    boolean shows(Result result, String metric) {
        return !"latency".equals(result.params().get("mode"))
                || Quantity.of(result.metrics().get(metric).unit()).kind() == Quantity.Kind.TIME;
    }

    /** True when the series are what competes; else the categories are. */
    boolean seriesCompete() {
        return x != null || experiment.equals("call");
    }

    /** Values along the axis, ascending. */
    Set<Double> xs(List<Result> results) {
        return results.stream()
                .map(r -> r.params().get(x))
                .filter(Objects::nonNull)
                .filter(Number.class::isInstance)
                .map(n -> ((Number) n).doubleValue())
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
