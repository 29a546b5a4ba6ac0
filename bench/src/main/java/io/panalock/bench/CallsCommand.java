// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.jmh.JmhPoint;
import io.panalock.bench.jmh.JmhRun;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code calls}. */
@Command(
        name = "calls",
        mixinStandardHelpOptions = true,
        description = {
            "What a call from Java to C costs: by what is handed over and by the way the call is made, with bytes allocated,"
                    + " beside a working garbage collector, and what a call that waits does to safepoints.",
            "About 5 minutes with all targets and ways; --quick: about 3, with short windows. Each round is a JVM of its own."
        })
public final class CallsCommand extends Experiment {
    private static final int MOST_ROUNDS = 100;

    private List<String> targets = JmhPoint.TARGETS;
    private List<String> ways = JmhPoint.WAYS;
    private int rounds = 2;

    @Option(names = "--target", paramLabel = "LIST", description = "Only these targets, of blank, int1, int4, int10, mix,"
            + " pointer, struct, string, errno, upcall, array16, array1024.")
    void setTargets(String list) {
        targets = words("--target", list, JmhPoint.TARGETS);
    }

    @Option(names = "--via", paramLabel = "LIST", description = "Only these ways, of jni, jni_copy, ffm, critical, nonconst"
            + " (FFM, handle not a constant), jna_direct, jna_interface, jnr.")
    void setWays(String list) {
        ways = words("--via", list, JmhPoint.WAYS);
    }

    @Option(names = "--rounds", paramLabel = "N", description = "How often everything is measured (default: 2).")
    void setRounds(String number) {
        rounds = number("--rounds", number, 1, MOST_ROUNDS);
    }

    private List<JmhPoint> points() {
        return JmhPoint.calls(targets, ways);
    }

    @Override
    protected void check() {
        if (points().stream().allMatch(p -> p.params().get("via").equals("java"))) {
            throw wrong("there is no call of " + targets + " via " + ways + "; critical calls do not call back,"
                    + " jnr-ffi passes no struct by value, only arrays go via jni_copy");
        }
    }

    @Override
    protected void measure(Run run) {
        Measurements measurements = new Measurements(run);
        measurements.calls(run.quick() ? new JmhRun(3, 100, 3, 40) : new JmhRun(3, 150, 5, 100), points(), rounds);
        measurements.callsAndCollector(run.quick() ? 40 : 200, rounds);
    }
}
