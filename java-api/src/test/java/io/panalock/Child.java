// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Another JVM on the class path: for settings that are read once, and for what may hang. */
final class Child {
    private static final int SECONDS = 300;

    /** How it ended, and what it wrote to both streams. */
    record Result(int exitCode, String output) {}

    private final List<String> jvm = new ArrayList<>();
    private final List<String> arguments = new ArrayList<>();
    private final List<String> around = new ArrayList<>();
    private final Class<?> main;
    private final Map<String, String> environment = new HashMap<>();
    private String access = "--enable-native-access=ALL-UNNAMED";
    private int seconds = SECONDS;

    private Child(Class<?> main) {
        this.main = main;
    }

    static Child running(Class<?> main) {
        return new Child(main);
    }

    Child with(String... jvmOptions) {
        jvm.addAll(List.of(jvmOptions));
        return this;
    }

    Child arguments(Object... values) {
        for (Object v : values) {
            arguments.add(v.toString());
        }
        return this;
    }

    /** Started by this command, to which the child's own is appended. */
    Child inside(String... command) {
        around.addAll(List.of(command));
        return this;
    }

    /** With these variables beside the inherited ones. */
    Child in(Map<String, String> variables) {
        environment.putAll(variables);
        return this;
    }

    Child withoutNativeAccess() {
        access = "-Dpanalock.test=no-access";
        return this;
    }

    Child within(int limit) {
        seconds = limit;
        return this;
    }

    static Path classes() {
        return Path.of(System.getProperty("panalock.test.classes"));
    }

    /** This JVM's program; under an emulator that the kernel does not start by itself, the script that does. */
    private static String java() {
        String launcher = System.getenv("PANALOCK_TEST_JAVA");
        return launcher != null ? launcher : ProcessHandle.current().info().command().orElseThrow();
    }

    /** The library that the build made. */
    static Path library() {
        String arch = System.getProperty("os.arch").equals("amd64") ? "x86_64" : System.getProperty("os.arch");
        return classes().resolve("META-INF/native/linux-" + arch + "/libpanalock.so");
    }

    static Path testClasses() {
        return classes().resolveSibling("test-classes");
    }

    /** The words to start it with. */
    List<String> command() {
        List<String> command = new ArrayList<>(around);
        command.add(java());
        command.add(access);
        command.add("--illegal-native-access=deny");
        command.addAll(jvm);
        command.add("-cp");
        command.add(classes() + ":" + testClasses());
        command.add(main.getName());
        command.addAll(arguments);
        return command;
    }

    Process start(Path output) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command());
        builder.environment().putAll(environment);
        return builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
    }

    /** Runs to the end, or kills it. */
    Result run() throws IOException, InterruptedException {
        Path output = Files.createTempFile("panalock-child", ".txt");
        Process p = start(output);
        try {
            if (!p.waitFor(seconds, TimeUnit.SECONDS)) {
                throw new AssertionError("child " + main.getSimpleName() + arguments + " hangs; it wrote:\n"
                        + Files.readString(output, StandardCharsets.UTF_8));
            }
            return new Result(p.exitValue(), Files.readString(output, StandardCharsets.UTF_8));
        } finally {
            p.destroyForcibly().waitFor();
            Files.deleteIfExists(output);
        }
    }
}
