// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.text.RunReport;
import io.panalock.bench.text.RunSummary;
import java.io.PrintStream;
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
            "Measures calls from Java to C, uncontended and contended locks; prints tables and what they mean.",
            "Under 3 minutes; results go to results/TIME-ARCH.json unless --json names a file."
        })
final class RunCommand implements Callable<Integer> {
    @Mixin
    private Output output;

    @Option(names = "--quick", description = "Fewer points, shorter windows: under 45 seconds.")
    private boolean quick;

    @Override
    public Integer call() {
        PrintStream out = System.out;
        RunPlan plan = quick ? RunPlan.quick() : RunPlan.full();
        try (Session session = new Session(Map.of("command", "run", "quick", quick), output.json(), System.err)) {
            new RunJob(plan, session.results(), out).run();
            session.finish();
            out.print(new RunReport(session.results()));
            out.println();
            out.println(new RunSummary(session.results()));
            out.println("data: " + session.file());
        }
        return Main.FINE;
    }
}
