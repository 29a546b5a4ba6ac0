// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.machine.Machine;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.ResultsJson;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code info}. */
@Command(
        name = "info",
        mixinStandardHelpOptions = true,
        description = "Shows what the machine is: CPU, caches, kernel, JDK, relax instruction, membarrier, library.")
public final class InfoCommand implements SubCommand {
    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        Map<String, Object> machine = Machine.describe();
        spec.commandLine().getOut().print(Machine.text(machine));
        spec.commandLine().getOut().flush();
        if (output.json() != null) {
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("schema", Results.SCHEMA);
            document.put("machine", machine);
            ResultsJson.save(ResultsJson.text(document), output.json());
        }
        return Main.FINE;
    }
}
