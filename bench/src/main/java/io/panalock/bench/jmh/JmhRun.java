// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;
import org.openjdk.jmh.results.BenchmarkResult;
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
    private static final List<String> HANDED_DOWN =
            List.of("panalock.library.path", "panalock.extract.dir", "panalock.checks", "java.library.path");

    /** The scores of the iterations kept, in the point's unit. */
    public double[] measure(JmhPoint point) {
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
                .jvmArgsAppend(jvmArguments());
        point.jmhParams().forEach((name, value) -> options.param(name, value));
        try {
            Collection<RunResult> results = new Runner(options.build()).run();
            if (results.size() != 1) {
                throw new IllegalStateException(point.benchmark() + ": " + results.size() + " benchmarks of that name");
            }
            return scores(results.iterator().next());
        } catch (RunnerException e) {
            throw new IllegalStateException(point.label() + ": " + e.getMessage(), e);
        }
    }

    private static double[] scores(RunResult result) {
        List<Double> scores = new ArrayList<>();
        for (BenchmarkResult fork : result.getBenchmarkResults()) {
            for (IterationResult iteration : fork.getIterationResults()) {
                scores.add(iteration.getPrimaryResult().getScore());
            }
        }
        return scores.stream().mapToDouble(Double::doubleValue).toArray();
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
