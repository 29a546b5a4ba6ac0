// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.contend.ContendedPoint.Mode;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.result.Results;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code locks}. */
@Command(
        name = "locks",
        mixinStandardHelpOptions = true,
        description = {
            "Locks, ours and others', in Java and in C: an uncontended pair, contended throughput, and latency in a run of"
                    + " its own.",
            "Without options: all backends, layouts WORD and WIDE, all peers, 1 to 64 threads, nothing inside and outside;"
                    + " about 10 minutes. --quick:"
                    + " threads 2 and 16, windows of 60 ms."
        })
public final class LocksCommand extends Experiment {
    private static final List<String> PARTS = List.of("pairs", "throughput", "latency");
    private static final int QUICK_WINDOW_MS = 60;
    private static final int MOST_THREADS = 1024;
    private static final int MOST_NS = 10_000_000;
    private static final int MOST_MS = 600_000;
    private static final int MOST_ROUNDS = 100;
    private static final int WARM_MS = 15;

    private List<Integer> threads = List.of(1, 2, 4, 8, 16, 32, 64);
    private int insideNs;
    private int outsideNs;
    private int windowMs = 200;
    private int rounds = 3;
    private List<String> parts = PARTS;
    private List<String> backends = Locks.BACKENDS;
    private List<String> layouts = List.of("wide", "word");
    private List<String> places = List.of("pool");
    private List<String> policies = List.of("spin_then_park");
    private List<String> ids;

    @Option(names = "--threads", paramLabel = "LIST", description = "Numbers of threads (default: 1,2,4,8,16,32,64).")
    void setThreads(String list) {
        threads = numbers("--threads", list, 1, MOST_THREADS);
    }

    @Option(names = "--inside", paramLabel = "NS", description = "Work while holding the lock, in ns (default: 0).")
    void setInside(String ns) {
        insideNs = number("--inside", ns, 0, MOST_NS);
    }

    @Option(names = "--outside", paramLabel = "NS", description = "Work between two acquisitions, in ns (default: 0).")
    void setOutside(String ns) {
        outsideNs = number("--outside", ns, 0, MOST_NS);
    }

    @Option(names = "--window", paramLabel = "MS", description = "Length of a contended measurement (default: 200).")
    void setWindow(String ms) {
        windowMs = number("--window", ms, 1, MOST_MS);
    }

    @Option(names = "--rounds", paramLabel = "N", description = "How often everything is measured (default: 3).")
    void setRounds(String number) {
        rounds = number("--rounds", number, 1, MOST_ROUNDS);
    }

    @Option(names = "--part", paramLabel = "LIST", description = "Only these, of pairs, throughput, latency.")
    void setParts(String list) {
        parts = words("--part", list, PARTS);
    }

    @Option(names = "--backend", paramLabel = "LIST", description = "Of hybrid, ffm, ffm_critical, jni, pure (default: all).")
    void setBackends(String list) {
        backends = words("--backend", list, Locks.BACKENDS);
    }

    @Option(names = "--layout", paramLabel = "LIST", description = "Of word, byte, wide (default: wide,word).")
    void setLayouts(String list) {
        layouts = words("--layout", list, Locks.LAYOUTS);
    }

    @Option(names = "--place", paramLabel = "LIST", description = "Of pool, arena (default: pool).")
    void setPlaces(String list) {
        places = words("--place", list, Locks.PLACES);
    }

    @Option(names = "--policy", paramLabel = "LIST", description = "Of spin_then_park, spin (default: spin_then_park).")
    void setPolicies(String list) {
        policies = words("--policy", list, Locks.POLICIES);
    }

    @Option(names = "--lock", paramLabel = "LIST", description = "Only these locks, by id; --list shows the ids.")
    void setLocks(String list) {
        ids = words("--lock", list, known());
    }

    @Option(names = "--list", description = "Only list the ids of all locks.")
    private boolean list;

    private static List<String> known() {
        List<String> all = new ArrayList<>(Locks.allPanalock());
        all.addAll(Locks.allPanalock().stream().map(id -> id + "-spin").toList());
        all.addAll(Locks.mutexes());
        all.addAll(Locks.javaPeers());
        all.addAll(Locks.inC());
        return all;
    }

    /** What the options choose. */
    private List<String> chosen() {
        if (ids != null) {
            return ids;
        }
        List<String> chosen = new ArrayList<>();
        for (String policy : policies) {
            String suffix = policy.equals("spin") ? "-spin" : "";
            for (String backend : backends) {
                for (String layout : layouts) {
                    for (String place : places) {
                        chosen.add(Locks.panalock(backend, layout, place) + suffix);
                    }
                }
            }
            layouts.forEach(layout -> chosen.add("c-" + layout + suffix));
        }
        chosen.addAll(Locks.javaPeers());
        Locks.inC().stream()
                .filter(id -> Locks.LAYOUTS.stream().noneMatch(layout -> id.startsWith("c-" + layout)))
                .forEach(chosen::add);
        return chosen;
    }

    @Override
    public Integer call() throws IOException {
        if (list) {
            known().forEach(System.out::println);
            System.out.print(notBuilt());
            return Main.FINE;
        }
        return super.call();
    }

    @Override
    protected void check() {
        if (forSeveral().isEmpty() && !parts.contains("pairs")) {
            throw wrong("--lock: " + chosen() + " is for one thread only; use --part pairs");
        }
    }

    private List<String> forSeveral() {
        return chosen().stream().filter(Locks::forSeveralThreads).toList();
    }

    @Override
    protected void measure(Run run) {
        List<RunPlan.Section> section = List.of(new RunPlan.Section(insideNs, outsideNs));
        List<Integer> counts = run.quick() ? List.of(2, 16) : threads;
        int window = run.quick() ? Math.min(windowMs, QUICK_WINDOW_MS) : windowMs;
        Measurements measurements = new Measurements(run);
        if (parts.contains("pairs")) {
            measurements.pairs(chosen(), rounds);
        }
        for (Mode mode : Mode.values()) {
            if (parts.contains(mode.name().toLowerCase(Locale.ROOT))) {
                measurements.contended(forSeveral(), RunPlan.points(counts, section, mode, run.pin()), rounds, WARM_MS, window);
            }
        }
    }

    @Override
    protected String text(Results results) {
        return super.text(results) + (ids == null ? notBuilt() : "");
    }

    private static String notBuilt() {
        return Locks.notBuilt().isEmpty()
                ? ""
                : "not built: " + String.join(", ", Locks.notBuilt())
                        + " (Concurrency Kit: install libck-dev, then make clean build)" + System.lineSeparator();
    }
}
