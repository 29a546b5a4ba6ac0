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
        Path target = file.toAbsolutePath();
        Path directory = target.getParent();
        try {
            if (Files.exists(target)) {
                target = target.toRealPath(); // a link's target is replaced, not the link
                directory = target.getParent();
                if (!Files.isRegularFile(target)) {
                    throw wrong("\"" + file + "\" is " + (Files.isDirectory(target) ? "a directory" : "a device")
                            + ", not a file to write");
                }
            }
            Files.createDirectories(directory);
            Files.delete(Files.createTempFile(directory, ".panalock", ".json")); // found out before hours of measuring
            json = target;
        } catch (IOException e) {
            throw wrong("\"" + directory + "\" is not a directory that can be written");
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
