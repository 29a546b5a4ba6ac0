// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.openjdk.jcstress.Main;

/** Runs jcstress, which starts virtual machines of its own, on {@link PureStress}. On the class path, as it needs. */
@Tag("model")
class PureStressTest {
    private static final String LOCKS = "PureStress.(?!Broken)";
    private static final String ACCESS = "--enable-native-access=ALL-UNNAMED";
    private static final List<String> SHORT = options(2, 300);
    private static final List<String> MEDIUM = options(3, 1000);
    private static final int TRIES = 20;
    private static final int FULL = 100; // per cent
    private static final Duration LIMIT = Duration.ofHours(2); // only a hang takes so long

    /** One compilation mode, one virtual machine a test. */
    private static List<String> options(int iterations, int millis) {
        return List.of("-jvmArgs", ACCESS, "-f", "1", "-fsm", "1", "-sc", "false", "-af", "NONE", "-iters",
                Integer.toString(iterations), "-time", Integer.toString(millis));
    }

    @TempDir
    private Path directory;

    private String stress(String tests, List<String> length) throws Exception {
        Path log = directory.resolve("log");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName(),
                "-t",
                tests,
                "-r",
                directory.toString()));
        command.addAll(length);
        Process jcstress = new ProcessBuilder(command)
                .directory(directory.toFile()) // where it leaves its results
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            assertThat(jcstress.waitFor(LIMIT)).as("ended in time").isTrue();
        } finally {
            jcstress.descendants().forEach(ProcessHandle::destroyForcibly);
            jcstress.destroyForcibly();
        }
        return Files.readString(log);
    }

    private static void assertAllPassed(String log) {
        assertThat(log).containsPattern("All remaining tests: [1-9]\\d* matching");
        assertThat(log).contains("Failed tests: No matches", "Error tests: No matches");
    }

    @Test
    void locksExcludeAndWakeOnRealMemory() throws Exception {
        assertAllPassed(stress(LOCKS, SHORT));
    }

    /** On a busy machine the two may never meet in one run. */
    @Test
    void aCounterWithoutALockIsFoundOut() throws Exception {
        String log = stress("PureStress.Broken", SHORT);
        for (int i = 0; i < TRIES && !log.contains("Failed tests: 1 matching"); i++) {
            log = stress("PureStress.Broken", MEDIUM);
        }
        assertThat(log).contains("Failed tests: 1 matching");
    }

    /** All compilation modes and affinities; shorter soaks run one of them for longer than the test above. */
    @Test
    @Tag("soak")
    void locksExcludeAndWakeForLong() throws Exception {
        boolean full = Integer.getInteger("panalock.soak.percent", 1) >= FULL;
        assertAllPassed(stress(LOCKS, full ? List.of("-m", "default", "-jvmArgsPrepend", ACCESS) : MEDIUM));
    }
}
