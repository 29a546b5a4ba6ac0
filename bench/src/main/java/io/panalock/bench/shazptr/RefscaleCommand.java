// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr;

import io.panalock.bench.Experiment;
import io.panalock.bench.Progress;
import io.panalock.bench.peer.Readers;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code refscale}. */
@Command(
        name = "refscale",
        mixinStandardHelpOptions = true,
        description = {
            "What an empty read section costs the reader: hazard pointers, liburcu's flavours, locks for readers, and a"
                    + " volatile read.",
            "All ways take turns; the figure is the median of many windows. With more than one reader: those in C only."
        })
public final class RefscaleCommand extends Experiment {
    private static final String EXPERIMENT = "refscale";
    private static final int SECTIONS = 20_000;
    private static final long WINDOW_NS = 100_000_000;

    private List<String> modes = Reads.ALL;
    private List<Integer> readers = List.of(1);
    private int windows = 200;

    @Option(names = "--mode", paramLabel = "LIST", description = "Of the names that --quick prints (default: all).")
    void setModes(String list) {
        modes = words("--mode", list, Reads.ALL);
    }

    @Option(names = "--readers", paramLabel = "LIST", description = "Numbers of readers (default: 1).")
    void setReaders(String list) {
        readers = numbers("--readers", list, 1, 1000);
    }

    @Option(names = "--windows", paramLabel = "N", description = "Windows of each way (default: 200).")
    void setWindows(String n) {
        windows = number("--windows", n, 1, 100_000);
    }

    @Override
    protected void measure(Run run) {
        int n = quick() ? Math.min(windows, 50) : windows;
        try (Progress progress = Progress.start(run.out(), EXPERIMENT, n * readers.size())) {
            for (int threads : readers) {
                for (int w = 0; w < (threads == 1 ? n : Math.max(1, n / 50)); w++) {
                    for (String mode : modes) {
                        if (Reads.present(mode) && (threads == 1 || mode.startsWith("c-"))) {
                            double ns = threads == 1
                                    ? Reads.time(mode, SECTIONS)
                                    : Readers.sectionOn(mode.substring(2), threads, WINDOW_NS);
                            run.recorder().record(EXPERIMENT, params(mode, threads), "time", "ns/read", ns);
                        }
                    }
                    progress.step();
                }
            }
        }
    }

    private static Map<String, Object> params(String mode, int threads) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("mode", mode);
        params.put("readers", threads);
        if (Reads.isPeer(mode)) {
            params.put("peer", true);
        }
        return params;
    }

    @Override
    protected String text(Results results) {
        StringBuilder text = new StringBuilder(String.format("%n%-28s %8s %14s%n", "mode", "readers", "Time(ns)"));
        for (Result r : results.all()) {
            if (r.experiment().equals(EXPERIMENT)) {
                text.append(String.format(Locale.ROOT, "%-28s %8s %14.3f%n", r.params().get("mode"), r.params().get("readers"),
                        r.metrics().get("time").value()));
            }
        }
        return text.append(System.lineSeparator()).toString();
    }
}
