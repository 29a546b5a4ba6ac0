// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code run}: what {@code make bench} does. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        description = {
            "Everything with short settings: calls from Java to C, uncontended and contended locks; prints tables and what"
                    + " they mean.",
            "Under 5 minutes; results go to results/TIME-ARCH.json unless --json names a file."
        })
final class RunCommand implements Callable<Integer> {
    @Mixin
    private Output output;

    @Mixin
    private Cpus cpus;

    @Option(names = "--quick", description = "Fewer points, shorter windows: under 90 seconds.")
    private boolean quick;

    @Override
    public Integer call() throws IOException {
        PrintStream out = System.out;
        Map<String, Object> run = new LinkedHashMap<>(Map.of("command", "run", "quick", quick));
        cpus.apply(run);
        RunPlan plan = (quick ? RunPlan.quick() : RunPlan.full()).pinned(cpus.pin());
        try (Session session = new Session(run, output.json(), System.err)) {
            Measurements measurements = new Measurements(session.results(), out);
            measurements.floors();
            measurements.calls(plan.jmh(), plan.calls(), plan.rounds());
            measurements.callsAndCollector(plan.collectorMs(), plan.rounds());
            measurements.pairs(plan.pairs(), plan.rounds());
            measurements.contended(plan.contended(), plan.points(), plan.rounds(), plan.warmMs(), plan.windowMs());
            measurements.contended(plan.timed(), plan.latency(), plan.rounds(), plan.warmMs(), plan.windowMs());
            session.finish();
            Ending.print(session, out);
        }
        return Main.FINE;
    }
}
