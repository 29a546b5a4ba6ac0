// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import picocli.CommandLine.Command;

/** {@code run}: what {@code make bench} does. */
@Command(
        name = "run",
        mixinStandardHelpOptions = true,
        description = {
            "Everything with short settings: calls from Java to C, uncontended and contended locks; prints tables and what"
                    + " they mean.",
            "Under 5 minutes, with --quick under 90 seconds; results go to results/TIME-ARCH.json unless --json names a file."
        })
public final class RunCommand extends Experiment {
    @Override
    protected void measure(Run run) {
        RunPlan plan = (run.quick() ? RunPlan.quick() : RunPlan.full()).pinned(run.pin());
        Measurements measurements = new Measurements(run);
        measurements.calls(plan.jmh(), plan.calls(), plan.rounds());
        measurements.callsAndCollector(plan.collectorMs(), plan.rounds());
        measurements.pairs(plan.pairs(), plan.rounds());
        measurements.contended(plan.contended(), plan.points(), plan.contendedRounds(), plan.warmMs(), plan.windowMs());
        measurements.contended(plan.timed(), plan.latency(), plan.contendedRounds(), plan.warmMs(), plan.windowMs());
    }
}
