// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** A makefile of many targets whose recipes are JVMs. */
final class Makefile {
    private Makefile() {}

    /** This machine's make, and one that passes its jobserver on in the other way. Where that cannot be had the test fails. */
    static List<String> makes() throws IOException, InterruptedException {
        Path script = Child.classes().resolve("../../../scripts/other-make.sh").normalize();
        Process p = new ProcessBuilder("bash", script.toString()).redirectErrorStream(true).start();
        String said = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (p.waitFor() != 0) {
            throw new AssertionError(said);
        }
        return List.of("make", said);
    }

    /** The words that start a class in a recipe, quick to start. */
    static String command(Class<?> main) {
        return Child.running(main).with("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto").command().stream()
                .map(word -> "'" + word.replace("$", "$$") + "'")
                .collect(Collectors.joining(" "));
    }

    static Path write(Path directory, int targets, String prefix, Class<?> recipe, String more) throws IOException {
        return write(directory, targets, targets, prefix, recipe, more);
    }

    /**
     * Targets t0, t1, ... under "all", of which {@code together} can be made at once, each made by the class with the
     * target's name as argument.
     */
    static Path write(Path directory, int targets, int together, String prefix, Class<?> recipe, String more)
            throws IOException {
        StringBuilder text = new StringBuilder("all:");
        for (int i = 0; i < targets; i++) {
            text.append(" t").append(i);
        }
        text.append('\n');
        for (int i = together; i < targets; i++) {
            text.append('t').append(i).append(": t").append(i - together).append('\n');
        }
        text.append("t%:\n\t").append(prefix).append('@').append(command(recipe)).append(" $@\n").append(more);
        return Files.writeString(directory.resolve("Makefile"), text);
    }
}
