// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.machine.CpuUse;
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

    private static final long NS_PER_S = 1_000_000_000;

    private final long started = System.nanoTime();
    private final Results results;
    private final Path file;
    private final PrintStream err;
    private final Thread onStop;
    private final CpuUse before = CpuUse.now();
    private Runnable whenStopped = () -> {};
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
        System.out.println(head(machine));
        if (Machine.busy(machine)) {
            System.out.println("BUSY: " + Machine.load(machine) + " as this began. Close other programs, or take figures and"
                    + " differences for what they are: noisy.");
        }
        this.onStop = new Thread(this::stopped, "save-results");
        Runtime.getRuntime().addShutdownHook(onStop);
    }

    public Results results() {
        return results;
    }

    /** What to add to the results when the program is told to stop. */
    public synchronized void whenStopped(Runnable add) {
        whenStopped = add;
    }

    public Path file() {
        return file;
    }

    private synchronized void stopped() {
        if (saved) {
            return;
        }
        try {
            whenStopped.run();
            save();
            err.println();
            err.println("stopped; what was measured so far is in " + file);
        } catch (UncheckedIOException e) {
            err.println("stopped, and what was measured cannot be written to " + file + ": " + e.getMessage());
        }
    }

    /** What is measured on, in a line. */
    private static String head(Map<String, Object> machine) {
        return machine.get("cpu") + " · " + Machine.cpus(machine) + " · Linux " + machine.get("kernel") + " · JDK "
                + machine.get("jdk") + " · " + Machine.load(machine);
    }

    /** Writes the results as complete. */
    public synchronized void finish() {
        CpuUse.now().othersSince(before).ifPresent(percent -> results.note(Machine.OTHERS, Math.round(percent)));
        results.note("complete", true);
        results.note("finished", ZonedDateTime.now(ZoneOffset.UTC).withNano(0).toString());
        results.note("seconds", elapsed());
        save();
    }

    /** Seconds since this began. */
    private long elapsed() {
        return (System.nanoTime() - started) / NS_PER_S;
    }

    /** The last line: where everything is, how long it took, and what disturbed it. */
    public String end(Path page) {
        String others = results.run().get(Machine.OTHERS) instanceof Number percent && percent.intValue() > Machine.MUCH_PERCENT
                ? "BUSY: other programs used " + percent + " % of the CPUs meanwhile." + System.lineSeparator()
                : "";
        return others + (page == null ? "" : "report: " + page + "   ") + "data: " + file + "   (" + elapsed() + " s)";
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
