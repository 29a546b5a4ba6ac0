// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import java.util.ArrayList;
import java.util.List;

/** How another JVM is started that has what this one has. */
final class Jvm {
    private Jvm() {}

    /** The words that run {@code main} with these options of the JVM and arguments. */
    static List<String> command(List<String> options, Class<?> main, Object... arguments) {
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElse("java"), "--enable-native-access=ALL-UNNAMED"));
        command.addAll(options);
        for (String name : List.of("panalock.library.path", "panalock.extract.dir")) {
            if (System.getProperty(name) != null) {
                command.add("-D" + name + "=" + System.getProperty(name));
            }
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        for (Object argument : arguments) {
            command.add(argument.toString());
        }
        return command;
    }
}
