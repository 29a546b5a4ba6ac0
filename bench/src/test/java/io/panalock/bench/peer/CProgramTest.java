// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CProgramTest {
    @Test
    void itMeasuresEveryLockOfTheLibrary() {
        for (String lock : CPeers.lockNames()) {
            assertThat(CProgram.pairs(lock, 100)).as(lock).isPositive();
        }
    }

    @Test
    void itGoesOnAfterARequestThatItCannotServe() {
        assertThatThrownBy(() -> CProgram.pairs("no_lock", 100)).hasMessageContaining("error no lock no_lock");
        assertThatThrownBy(() -> CProgram.pairs("word", 0)).hasMessageContaining("not a request");
        assertThat(CProgram.pairs("word", 100)).isPositive();
    }

    @Test
    void itRunsWithoutFilesOfItsOwn(@TempDir Path dir) throws IOException {
        CProgram.start(dir).close();
        try (var left = Files.list(dir)) {
            assertThat(left).isEmpty();
        }
    }

    /** A directory mounted noexec answers as a file that nobody may execute does. */
    @Test
    void aDirectoryWithoutExecutionIsNamedWithTheRemedy(@TempDir Path dir) throws IOException {
        Path file = Files.createFile(
                dir.resolve("program"), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        assertThatThrownBy(() -> CProgram.launch(file, command -> command))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(dir.toString())
                .hasMessageContaining("noexec")
                .hasMessageContaining("-Dpanalock.extract.dir");
    }
}
