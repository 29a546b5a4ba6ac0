// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.machine.Machine;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.ResultsJson;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One invocation that measures: owns the results and the file that they go to. When the program is told to stop, by
 * Ctrl-C for example, what was measured so far is written, marked as incomplete.
 */
public final class Session implements AutoCloseable {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");

    private final Results results;
    private final Path file;
    private final PrintStream err;
    private final Thread onStop;
    private boolean saved;

    /**
     * @param command the command and options that decide what is measured
     * @param file where results go, or null for results/TIME-ARCH.json
     */
    public Session(Map<String, Object> command, Path file, PrintStream err) {
        ZonedDateTime now = ZonedDateTime.now(ZoneOffset.UTC);
        Map<String, Object> machine = Machine.describe();
        Map<String, Object> run = new LinkedHashMap<>(command);
        run.put("started", now.withNano(0).toString());
        run.put("complete", false);
        this.results = new Results(machine, run);
        this.file = file != null ? file : Path.of("results", STAMP.format(now) + "-" + machine.get("arch") + ".json");
        this.err = err;
        this.onStop = new Thread(this::stopped, "save-results");
        Runtime.getRuntime().addShutdownHook(onStop);
    }

    public Results results() {
        return results;
    }

    public Path file() {
        return file;
    }

    private synchronized void stopped() {
        if (saved) {
            return;
        }
        try {
            save();
            err.println();
            err.println("stopped; what was measured so far is in " + file);
        } catch (UncheckedIOException e) {
            err.println("stopped, and what was measured cannot be written to " + file + ": " + e.getMessage());
        }
    }

    /** Writes the results as complete. */
    public synchronized void finish() {
        results.note("complete", true);
        results.note("finished", ZonedDateTime.now(ZoneOffset.UTC).withNano(0).toString());
        save();
    }

    private void save() {
        try {
            ResultsJson.save(results, file);
            saved = true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Keeps what there is when a measurement failed. */
    @Override
    public synchronized void close() {
        if (!saved) {
            save();
        }
        try {
            Runtime.getRuntime().removeShutdownHook(onStop);
        } catch (IllegalStateException e) {
            // already stopping: the hook finds that everything is saved
        }
    }
}
