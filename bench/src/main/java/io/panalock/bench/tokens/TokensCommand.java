// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import io.panalock.Backend;
import io.panalock.TokenPipe;
import io.panalock.bench.Experiment;
import io.panalock.bench.Progress;
import io.panalock.bench.peer.Make;
import io.panalock.bench.result.Results;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tokens}: the token test of Linux 5.6's exclusive pipe waits. */
@Command(
        name = "tokens",
        mixinStandardHelpOptions = true,
        description = {
            "One token that many players pass on: who reads it writes the next; every second time with another one that is to be"
                    + " ignored. Through the kernel's pipe(2), through Panalock's token pipe (exclusive; wake-all, as pipes once"
                    + " were; greedy), and in Java through its own means.",
            "The token of make is a byte that goes back as it came: the players agree on its number in memory, and nothing is"
                    + " to be ignored.",
            "Without options: 64 C processes, 64 C threads, 64 Java threads, 64 virtual threads and 4 JVMs in turn; with"
                    + " options, only the players that they name."
        })
public final class TokensCommand extends Experiment {
    private static final int FEWEST = 2; // one alone passes nothing on
    private static final int MOST_PLAYERS = 1000;
    private static final int MOST_JVMS = 32;
    private static final int DEFAULT_PLAYERS = 64;
    private static final int DEFAULT_JVMS = 4;
    private static final int QUICK_DIVISOR = 20;

    private final Map<Kind, Integer> players = new LinkedHashMap<>();
    private List<String> vias = List.of();
    private int passes = 1_000_000;
    private Backend backend = Backend.ofDefault();
    private final List<Game> games = new ArrayList<>();

    private record Game(Kind kind, int players, String via, Outcome outcome) {}

    @Option(names = "--processes", paramLabel = "N", description = "C processes.")
    void setProcesses(String n) {
        players.put(Kind.PROCESSES, number("--processes", n, FEWEST, MOST_PLAYERS));
    }

    @Option(names = "--c-threads", paramLabel = "N", description = "C threads.")
    void setCThreads(String n) {
        players.put(Kind.C_THREADS, number("--c-threads", n, FEWEST, MOST_PLAYERS));
    }

    @Option(names = "--threads", paramLabel = "N", description = "Java platform threads.")
    void setThreads(String n) {
        players.put(Kind.THREADS, number("--threads", n, FEWEST, MOST_PLAYERS));
    }

    @Option(names = "--virtual", paramLabel = "N", description = "Java virtual threads.")
    void setVirtual(String n) {
        players.put(Kind.VIRTUAL, number("--virtual", n, FEWEST, MOST_PLAYERS));
    }

    @Option(names = "--jvms", paramLabel = "N", description = "JVMs with one thread that plays.")
    void setJvms(String n) {
        players.put(Kind.JVMS, number("--jvms", n, FEWEST, MOST_JVMS));
    }

    @Option(names = "--via", paramLabel = "LIST", description = "Of pipe, exclusive, wake-all, greedy, make (the token of a"
            + " real make -j2); for Java threads also semaphore, synchronous-queue, transfer-queue, jobserver (of our own host)"
            + " (default: all that the players can use).")
    void setVias(String list) {
        vias = words("--via", list.replace('-', '_'), TokenWay.NAMES);
    }

    @Option(names = "--passes", paramLabel = "N", description = "How often the token is passed on (default: 1000000).")
    void setPasses(String n) {
        passes = number("--passes", n, 1, Integer.MAX_VALUE - 1);
    }

    @Option(names = "--backend", paramLabel = "NAME", description = "Of hybrid, ffm, ffm_critical, jni, pure: who moves the data of"
            + " the token pipe between Java threads (default: hybrid).")
    void setBackend(String name) {
        List<String> names = new ArrayList<>();
        for (Backend b : Backend.values()) {
            names.add(b.name().toLowerCase(Locale.ROOT));
        }
        backend = Backend.valueOf(words("--backend", name, names).getFirst().toUpperCase(Locale.ROOT));
    }

    @Override
    protected void check() {
        if (players.isEmpty()) {
            for (Kind k : Kind.values()) {
                players.put(k, k == Kind.JVMS ? DEFAULT_JVMS : DEFAULT_PLAYERS);
            }
        }
        if (vias.contains("make") && !Make.available()) {
            throw wrong("--via: there is no GNU make on the PATH to host the jobserver; install make, or leave it out");
        }
        if (players.keySet().stream().allMatch(k -> vias(k).isEmpty())) {
            throw wrong("--via: the players that were chosen cannot use " + String.join(", ", vias));
        }
    }

    private List<String> vias(Kind kind) {
        return kind.vias().stream()
                .filter(v -> vias.isEmpty() ? !v.equals("make") || Make.available() : vias.contains(v))
                .toList();
    }

    @Override
    protected void measure(Run run) throws IOException {
        int times = run.quick() ? Math.max(1, passes / QUICK_DIVISOR) : passes;
        int steps = players.keySet().stream().mapToInt(k -> vias(k).size()).sum();
        try (Progress progress = Progress.start(run.out(), "tokens", steps)) {
            for (Map.Entry<Kind, Integer> who : players.entrySet()) {
                for (String via : vias(who.getKey())) {
                    progress.at(via + ", " + who.getValue() + " " + who.getKey().words());
                    Outcome o = who.getKey().play(via, backend, who.getValue(), times);
                    games.add(new Game(who.getKey(), who.getValue(), via, o));
                    record(run, who.getKey(), who.getValue(), via, o);
                    progress.step();
                }
            }
        }
    }

    private void record(Run run, Kind kind, int n, String via, Outcome o) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("via", via);
        params.put(kind.param(), n);
        if (kind.usesBackend(via)) {
            params.put("backend", backend.name().toLowerCase(Locale.ROOT));
        }
        if (!Kind.OURS.contains(via)) {
            params.put("peer", true);
        }
        Map<String, Object[]> metrics = new LinkedHashMap<>();
        metrics.put("elapsed", new Object[] {"s", o.elapsedNs() / 1e9});
        metrics.put("per_pass", new Object[] {"µs", o.perPassUs()});
        metrics.put("context_switches", new Object[] {"1", (double) o.switches()});
        metrics.put("switches_per_pass", new Object[] {"1", o.switchesPerPass()});
        metrics.put("cpu", new Object[] {"s", o.cpuNs() / 1e9});
        metrics.put("self", new Object[] {"%", o.selfShare()});
        metrics.put("player_min", new Object[] {"1", (double) o.least()});
        metrics.put("player_max", new Object[] {"1", (double) o.most()});
        metrics.put("jain", new Object[] {"1", o.jain()});
        if (o.migrations() >= 0) {
            metrics.put("migrations", new Object[] {"1", (double) o.migrations()});
        }
        metrics.forEach((name, m) -> run.recorder().record("tokens", params, name, (String) m[0], (double) m[1]));
    }

    /** As perf stat prints it. */
    @Override
    protected String text(Results results) {
        StringBuilder text = new StringBuilder();
        for (Game g : games) {
            Outcome o = g.outcome;
            text.append(String.format(Locale.ROOT, "%n %d %s, via %s: %,d passes%n%n", g.players, g.kind.words(),
                    g.via.replace('_', '-'), o.passes()));
            line(text, String.format(Locale.ROOT, "%,.2f msec", o.cpuNs() / 1e6), "task-clock",
                    String.format(Locale.ROOT, "%.3f CPUs utilized", (double) o.cpuNs() / o.elapsedNs()));
            line(text, String.format(Locale.ROOT, "%,d", o.switches()), "context-switches",
                    String.format(Locale.ROOT, "%.3f per pass", o.switchesPerPass()));
            line(text, o.migrations() < 0 ? "<not counted>" : String.format(Locale.ROOT, "%,d", o.migrations()), "cpu-migrations", "");
            line(text, String.format(Locale.ROOT, "%,d", o.self()), "passes to oneself",
                    String.format(Locale.ROOT, "%.1f %%", o.selfShare()));
            line(text, String.format(Locale.ROOT, "%,d..%,d", o.least(), o.most()), "passes of one player",
                    String.format(Locale.ROOT, "Jain %.3f", o.jain()));
            text.append(String.format(Locale.ROOT, "%n %20.6f seconds time elapsed, %.3f µs per pass%n", o.elapsedNs() / 1e9,
                    o.perPassUs()));
        }
        return text + published();
    }

    /** What the change in Linux 5.6 was measured with, of the file that the report shows too. */
    private static String published() {
        StringBuilder text = new StringBuilder(String.format("%n published (Linux 5.6, 64 processes, pipe(2), 1,000,000 passes):%n"));
        try (InputStream in = TokensCommand.class.getResourceAsStream("/reference/token-pipe.csv")) {
            List<String> lines = new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().filter(l -> !l.startsWith("#")).toList();
            List<String> columns = List.of(lines.getFirst().split(","));
            for (String each : lines.subList(1, lines.size())) {
                String[] row = each.split(",");
                text.append(String.format(Locale.ROOT, " %20s  %,d context-switches, %,d cpu-migrations, %.3f s%n",
                        row[columns.indexOf("variant")].replace('_', '-'),
                        Long.parseLong(row[columns.indexOf("context_switches")]),
                        Long.parseLong(row[columns.indexOf("cpu_migrations")]),
                        Double.parseDouble(row[columns.indexOf("elapsed_s")])));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    private static void line(StringBuilder text, String value, String name, String note) {
        text.append(String.format(Locale.ROOT, " %20s  %-22s%s%n", value, name, note.isEmpty() ? "" : "#  " + note));
    }

    /** Who plays. */
    enum Kind {
        PROCESSES("processes", "processes", List.of("pipe", "exclusive", "wake_all", "greedy", "make")),
        C_THREADS("c_threads", "C threads", List.of("pipe", "exclusive", "wake_all", "greedy", "make")),
        THREADS("threads", "Java threads", TokenWay.NAMES),
        VIRTUAL("virtual", "virtual threads", TokenWay.NAMES.stream().filter(v -> JavaGame.possible(v, true)).toList()),
        JVMS("jvms", "JVMs", List.of("exclusive", "wake_all", "greedy"));

        static final List<String> OURS = List.of("exclusive", "wake_all", "greedy");

        private final String param;
        private final String words;
        private final List<String> vias;

        Kind(String param, String words, List<String> vias) {
            this.param = param;
            this.words = words;
            this.vias = vias;
        }

        String param() {
            return param;
        }

        String words() {
            return words;
        }

        List<String> vias() {
            return vias;
        }

        boolean usesBackend(String via) {
            return (this == THREADS || this == VIRTUAL) && OURS.contains(via);
        }

        Outcome play(String via, Backend backend, int players, int passes) {
            try {
                return switch (this) {
                    case PROCESSES -> CGame.play(via, players, passes, "process");
                    case C_THREADS -> CGame.play(via, players, passes, "thread");
                    case THREADS, VIRTUAL -> via.equals("make")
                            ? MakeGame.play(players, this == VIRTUAL, passes)
                            : new JavaGame(via, backend, players, this == VIRTUAL, passes).play();
                    case JVMS -> JvmGame.play(players, passes, modes(via));
                };
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static TokenPipe.Mode[] modes(String via) {
            return switch (via) {
                case "wake_all" -> new TokenPipe.Mode[] {TokenPipe.Mode.WAKE_ALL};
                case "greedy" -> new TokenPipe.Mode[] {TokenPipe.Mode.GREEDY};
                default -> new TokenPipe.Mode[0];
            };
        }
    }
}
