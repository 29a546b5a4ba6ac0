// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** The machine's GNU make, as the host of a jobserver with one token. */
public final class Make {
    /** By which a make tells the makes below it how to behave. */
    public static final Set<String> VARIABLES = Set.of("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GNUMAKEFLAGS");

    private static final class Version {
        static final String TEXT = version();
    }

    private Make() {}

    private static String version() {
        try {
            Process p = new ProcessBuilder("make", "--version").redirectErrorStream(true).start();
            String said = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return p.waitFor() == 0 && said.startsWith("GNU Make") ? said.lines().findFirst().orElse("") : "";
        } catch (IOException e) {
            return "";
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whether there is one. */
    public static boolean available() {
        return !Version.TEXT.isEmpty();
    }

    /**
     * The command that has a make with two jobs run {@code words} as its only recipe: that owns one job without asking, and
     * the other one is the token in make's pipe.
     */
    public static List<String> command(List<String> words) {
        String recipe = words.stream()
                .map(word -> "'" + word.replace("'", "'\\''").replace("$", "$$") + "'")
                .collect(Collectors.joining(" "));
        return List.of("make", "-s", "-j2", "-f", "/dev/null", "--eval=play: ; +@" + recipe, "play");
    }
}
