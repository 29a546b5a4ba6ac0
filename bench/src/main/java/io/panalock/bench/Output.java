// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option that all commands share. */
final class Output {
    @Spec(Spec.Target.MIXEE)
    private CommandSpec mixee;

    private Path json;

    @Option(names = "--json", paramLabel = "FILE", description = "Write the results to FILE; directories that are missing are created.")
    void setJson(Path file) {
        Path directory = file.toAbsolutePath().getParent();
        if (Files.isDirectory(file)) {
            throw new ParameterException(mixee.commandLine(), "--json: \"" + file + "\" is a directory, not a file to write");
        }
        while (!Files.exists(directory) && directory.getParent() != null) {
            directory = directory.getParent(); // what is missing will be created
        }
        if (!(Files.isDirectory(directory) && Files.isWritable(directory))) {
            throw new ParameterException(
                    mixee.commandLine(), "--json: \"" + directory + "\" is not a directory that can be written");
        }
        json = file;
    }

    /** Null when not given. */
    Path json() {
        return json;
    }
}
