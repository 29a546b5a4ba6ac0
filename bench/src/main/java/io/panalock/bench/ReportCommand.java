// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.report.Page;
import io.panalock.bench.result.Results;
import io.panalock.bench.result.ResultsJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code report}. */
@Command(
        name = "report",
        mixinStandardHelpOptions = true,
        description = {
            "Writes one HTML page with charts, tables and what they say; it needs no network.",
            "Several files put several machines side by side."
        })
public final class ReportCommand implements SubCommand {
    @Spec
    private CommandSpec spec;

    @Parameters(arity = "1..*", paramLabel = "FILE.json", description = "Results to show.")
    private List<Path> files;

    private Path out;

    @Option(names = "--out", paramLabel = "FILE", description = "Where to write (default: the first file's name, with .html).")
    void setOut(Path file) {
        if (Files.isDirectory(file)) {
            throw new ParameterException(spec.commandLine(), "--out: \"" + file + "\" is a directory, not a file to write");
        }
        out = file;
    }

    @Override
    public Integer call() throws IOException {
        Map<String, Results> inputs = new LinkedHashMap<>();
        for (Path file : files) {
            inputs.put(file.toString(), ResultsFile.load(file, spec.commandLine()));
        }
        Path page = out != null ? out : beside(files.getFirst());
        write(inputs, page);
        spec.commandLine().getOut().println("report: " + page);
        spec.commandLine().getOut().flush();
        return Main.FINE;
    }

    /** The report's usual name: that of the results. */
    static Path beside(Path json) {
        String name = json.getFileName().toString();
        return json.resolveSibling((name.endsWith(".json") ? name.substring(0, name.length() - ".json".length()) : name) + ".html");
    }

    static void write(Map<String, Results> inputs, Path page) throws IOException {
        ResultsJson.save(new Page(inputs, Main.version()).html(), page);
    }
}
