// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.io.IOException;
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
        try {
            // A link's target is replaced, not the link; and what cannot be written is found out before hours of measuring.
            Path target = Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
            if (Files.exists(target) && !Files.isRegularFile(target)) {
                throw wrong("\"" + file + "\" is " + (Files.isDirectory(target) ? "a directory" : "a device")
                        + ", not a file to write");
            }
            Path directory = target.getParent();
            while (!Files.exists(directory)) {
                directory = directory.getParent(); // what is missing is created
            }
            if (!Files.isDirectory(directory)) {
                throw wrong("\"" + directory + "\" is not a directory that can be written");
            }
            Files.createDirectories(target.getParent());
            Files.delete(Files.createTempFile(target.getParent(), ".panalock", ".json"));
            json = target;
        } catch (IOException | SecurityException e) {
            throw wrong("\"" + file + "\" cannot be written: " + e);
        }
    }

    private ParameterException wrong(String what) {
        return new ParameterException(mixee.commandLine(), "--json: " + what);
    }

    /** Null when not given. */
    Path json() {
        return json;
    }
}
