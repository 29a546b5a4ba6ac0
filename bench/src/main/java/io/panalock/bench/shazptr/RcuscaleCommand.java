// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr;

import io.panalock.bench.Experiment;
import io.panalock.bench.Progress;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code rcuscale}. */
@Command(
        name = "rcuscale",
        mixinStandardHelpOptions = true,
        description = {
            "How long a writer waits for readers: hazard pointers (the writer looks itself, or leaves it to the scan thread;"
                    + " readers that show wildcards), liburcu's flavours, and what the JDK has.",
            "One writer, and readers that read something else all the time. Durations in microseconds."
        })
public final class RcuscaleCommand extends Experiment {
    private static final String EXPERIMENT = "rcuscale";
    private static final int MOST_IDLE = 16_000;
    private static final long MS = 1_000_000;

    private List<String> modes = Grace.modes();
    private List<Integer> readers = List.of(0, 1, 4);
    private List<Integer> idle = List.of(1000, 4000, 16_000);
    private int windowMs = 1000;
    private int holdUs;

    @Option(names = "--mode", paramLabel = "LIST",
            description = "Of shazptr, shazptr_skip_self_scan, shazptr_wildcard, shazptr_wildcard_skip_self_scan, urcu_memb,"
                    + " urcu_mb, urcu_qsbr, urcu_bp, pthread_rwlock, stamped_lock, phaser (default: all).")
    void setModes(String list) {
        modes = words("--mode", list, Grace.modes());
    }

    @Option(names = "--readers", paramLabel = "LIST", description = "Numbers of readers (default: 0,1,4).")
    void setReaders(String list) {
        readers = numbers("--readers", list, 0, 1000);
    }

    @Option(names = "--idle", paramLabel = "LIST",
            description = "Numbers of registered threads that have protected something once and do nothing: what looking at their"
                    + " slots costs shazptr, without readers (default: 1000,4000,16000).")
    void setIdle(String list) {
        idle = numbers("--idle", list, 1, MOST_IDLE);
    }

    @Option(names = "--window", paramLabel = "MS", description = "How long each point is measured (default: 1000).")
    void setWindow(String ms) {
        windowMs = number("--window", ms, 1, 600_000);
    }

    @Option(names = "--hold", paramLabel = "US", description = "Length of a read section in us (default: 0, empty).")
    void setHold(String us) {
        holdUs = number("--hold", us, 0, 1_000_000);
    }

    @Override
    protected void measure(Run run) {
        long window = (quick() ? Math.min(windowMs, 100) : windowMs) * MS;
        List<Integer> some = quick() && readers.size() > 2 ? readers.subList(0, 2) : readers;
        List<Integer> slots = !modes.contains("shazptr") ? List.of() : quick() && idle.size() > 1 ? idle.subList(0, 1) : idle;
        try (Progress progress = Progress.start(run.out(), EXPERIMENT, modes.size() * some.size() + slots.size())) {
            for (String mode : modes) {
                for (int n : some) {
                    progress.at(mode);
                    if (Grace.present(mode)) {
                        point(run, mode, n, 0, window);
                    }
                    progress.step();
                }
            }
            for (int n : slots) {
                progress.at(n + " idle threads");
                point(run, "shazptr", 0, n, window);
                progress.step();
            }
        }
        for (String mode : modes) {
            if (!Grace.present(mode)) {
                run.out().println(mode + ": not on this machine (liburcu is not installed)");
            }
        }
    }

    private void point(Run run, String mode, int n, int idleThreads, long window) {
        double[] ns = Grace.measure(mode, n, idleThreads, holdUs * 1000L, window);
        if (ns.length == 0) {
            return;
        }
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("mode", mode);
        params.put("readers", n);
        if (idleThreads > 0) {
            params.put("idle", idleThreads);
        }
        params.put("hold_us", holdUs);
        if (Grace.isPeer(mode)) {
            params.put("peer", true);
        }
        Grace.summary(ns).forEach((metric, us) -> run.recorder().record(EXPERIMENT, params, metric, "µs", us));
        run.recorder().record(EXPERIMENT, params, "count", "1", ns.length);
    }

    @Override
    protected String text(Results results) {
        StringBuilder text = new StringBuilder();
        for (Result r : results.all()) {
            if (r.experiment().equals(EXPERIMENT)) {
                text.append(String.format(Locale.ROOT, "%n%s, %s readers%s, %.0f grace periods:%n", r.params().get("mode"),
                        r.params().get("readers"),
                        r.params().containsKey("idle") ? ", " + r.params().get("idle") + " idle threads" : "", r.metrics().get("count").value()));
                line(text, r, "Average grace-period duration", "average");
                line(text, r, "Minimum grace-period duration", "min");
                line(text, r, "50th percentile grace-period duration", "p50");
                line(text, r, "90th percentile grace-period duration", "p90");
                line(text, r, "99th percentile grace-period duration", "p99");
                line(text, r, "Maximum grace-period duration", "max");
            }
        }
        return text.append(System.lineSeparator()).toString();
    }

    private static void line(StringBuilder text, Result r, String words, String metric) {
        text.append(String.format(Locale.ROOT, "%s: %.3f microseconds%n", words, r.metrics().get(metric).value()));
    }
}
