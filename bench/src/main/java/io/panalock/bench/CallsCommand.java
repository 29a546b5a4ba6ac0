// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.jmh.JmhRun;
import java.io.IOException;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code calls}. */
@Command(
        name = "calls",
        mixinStandardHelpOptions = true,
        description = {
            "What a call from Java to C costs: by what is handed over and by the way the call is made, with bytes allocated,"
                    + " beside a working garbage collector, and what a call that waits does to safepoints.",
            "About 5 minutes with all targets and ways."
        })
final class CallsCommand implements Callable<Integer> {
    private static final int MOST_ROUNDS = 100;

    @Mixin
    private Output output;

    @Mixin
    private Cpus cpus;

    @Spec
    private CommandSpec spec;

    private List<String> targets = JmhPoint.TARGETS;
    private List<String> ways = JmhPoint.WAYS;
    private int rounds = 2;

    @Option(names = "--quick", description = "One round with short windows.")
    private boolean quick;

    @Option(names = "--target", paramLabel = "LIST", description = "Only these targets, of blank, int1, int4, int10, mix,"
            + " pointer, struct, string, errno, upcall, array16, array1024.")
    void setTargets(String list) {
        targets = Choice.words(spec.commandLine(), "--target", list, JmhPoint.TARGETS);
    }

    @Option(names = "--via", paramLabel = "LIST", description = "Only these ways, of jni, jni_copy, ffm, critical, nonconst"
            + " (FFM, handle not a constant), jna_direct, jna_interface, jnr.")
    void setWays(String list) {
        ways = Choice.words(spec.commandLine(), "--via", list, JmhPoint.WAYS);
    }

    @Option(names = "--rounds", paramLabel = "N", description = "How often everything is measured (default: 2).")
    void setRounds(String number) {
        rounds = Choice.number(spec.commandLine(), "--rounds", number, 1, MOST_ROUNDS);
    }

    @Override
    public Integer call() throws IOException {
        PrintStream out = System.out;
        List<JmhPoint> points = JmhPoint.calls(targets, ways);
        if (points.stream().allMatch(p -> p.params().get("via").equals("java"))) {
            throw new ParameterException(
                    spec.commandLine(), "there is no call of " + targets + " via " + ways + "; critical calls do not call back,"
                            + " jnr-ffi passes no struct by value, only arrays go via jni_copy");
        }
        Map<String, Object> run = new LinkedHashMap<>(Map.of("command", "calls", "quick", quick));
        cpus.apply(run);
        try (Session session = new Session(run, output.json(), System.err)) {
            Measurements measurements = new Measurements(session.results(), out);
            measurements.floors();
            measurements.calls(quick ? new JmhRun(2, 150, 4, 40) : new JmhRun(3, 150, 5, 100), points, quick ? 1 : rounds);
            measurements.callsAndCollector(quick ? 40 : 200, quick ? 1 : rounds);
            session.finish();
            Ending.print(session, out);
        }
        return Main.FINE;
    }
}
