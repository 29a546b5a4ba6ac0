// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.compare.Comparison;
import io.panalock.bench.compare.ComparisonText;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.ResultsJson;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code compare}. */
@Command(
        name = "compare",
        mixinStandardHelpOptions = true,
        description = {
            "Compares two results of the same experiments, figure by figure and lock by lock.",
            "Changes count relative to the peers measured in the same run, so a slower machine is no regression."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:no regression", "1:worse by more than the threshold and by more than the noise", "2:wrong usage"
        })
public final class CompareCommand implements SubCommand {
    @Spec
    private CommandSpec spec;

    @Mixin
    private Output output;

    @Parameters(index = "0", paramLabel = "OLD.json", description = "Results to start from.")
    private Path old;

    @Parameters(index = "1", paramLabel = "NEW.json", description = "Results to judge.")
    private Path now;

    private double threshold = 10;

    @Option(
            names = "--threshold",
            paramLabel = "PERCENT",
            defaultValue = "10",
            description = "Tolerate changes up to PERCENT (default: ${DEFAULT-VALUE}).")
    void setThreshold(double percent) {
        if (!(percent >= 0 && percent < 1000)) {
            throw new ParameterException(
                    spec.commandLine(), "--threshold: \"" + percent + "\" is not a percentage from 0 to 999");
        }
        threshold = percent;
    }

    @Override
    public Integer call() throws IOException {
        Results before = ResultsFile.load(old, spec.commandLine());
        Results after = ResultsFile.load(now, spec.commandLine());
        Comparison comparison = new Comparison(before, after, threshold / 100);
        if (comparison.lines().isEmpty()) {
            throw new ParameterException(spec.commandLine(), old + " and " + now + " have no figure in common");
        }
        ComparisonText text = new ComparisonText(comparison);
        PrintWriter out = spec.commandLine().getOut();
        for (Path file : new Path[] {old, now}) {
            out.println((file == old ? "old: " : "new: ") + file);
        }
        if (!String.valueOf(before.machine().get("cpu")).equals(String.valueOf(after.machine().get("cpu")))) {
            out.println("Two kinds of CPU: " + before.machine().get("cpu") + "; " + after.machine().get("cpu") + ".");
        }
        out.println();
        out.print(text);
        out.flush();
        if (output.json() != null) {
            ResultsJson.save(ResultsJson.text(text.tree()), output.json());
        }
        return comparison.regressed() ? Main.FELL_SHORT : Main.FINE;
    }
}
