// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.regex.Pattern;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs single JMH benchmarks, each in a JVM of its own.
 *
 * @param warmups iterations thrown away
 * @param warmupMs length of each
 * @param iterations iterations kept
 * @param iterationMs length of each
 */
public record JmhRun(int warmups, int warmupMs, int iterations, int iterationMs) {
    /** What JMH's profiler calls the bytes allocated for each operation. */
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private static final List<String> HANDED_DOWN =
            List.of("panalock.library.path", "panalock.extract.dir", "panalock.checks", "java.library.path");

    /**
     * What the iterations kept gave.
     *
     * @param scores in the point's unit
     * @param allocated bytes of Java objects for each call
     */
    public record Measured(double[] scores, double[] allocated) {}

    public Measured measure(JmhPoint point) {
        System.setProperty("jmh.ignoreLock", "true"); // a lock file of another user must not stop us
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + Pattern.quote(point.benchmark()) + "$")
                .forks(1)
                .warmupIterations(warmups)
                .warmupTime(TimeValue.milliseconds(warmupMs))
                .measurementIterations(iterations)
                .measurementTime(TimeValue.milliseconds(iterationMs))
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true)
                .addProfiler(GCProfiler.class)
                .jvmArgsAppend(jvmArguments());
        try {
            Collection<RunResult> results = new Runner(options.build()).run();
            if (results.size() != 1) {
                throw new IllegalStateException(point.benchmark() + ": " + results.size() + " benchmarks of that name");
            }
            RunResult result = results.iterator().next();
            return new Measured(
                    values(result, i -> i.getPrimaryResult().getScore()),
                    values(result, i -> i.getSecondaryResults().get(ALLOCATED).getScore()));
        } catch (RunnerException e) {
            throw new IllegalStateException(point.label() + ": " + e.getMessage(), e);
        }
    }

    private static double[] values(RunResult result, ToDoubleFunction<IterationResult> value) {
        return result.getBenchmarkResults().stream()
                .flatMap(fork -> fork.getIterationResults().stream())
                .mapToDouble(value)
                .toArray();
    }

    private static String[] jvmArguments() {
        List<String> arguments = new ArrayList<>();
        arguments.add("--enable-native-access=ALL-UNNAMED"); // the manifest's attribute does not reach forks
        arguments.add("--sun-misc-unsafe-memory-access=allow"); // JMH uses it; a warning per fork helps nobody
        for (String property : HANDED_DOWN) {
            String value = System.getProperty(property);
            if (value != null) {
                arguments.add("-D" + property + "=" + value);
            }
        }
        return arguments.toArray(String[]::new);
    }
}
