// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CpuUseTest {
    @TempDir
    private Path root;

    private CpuUse read(String cpu, String own) throws IOException {
        Files.createDirectories(root.resolve("proc/self"));
        Files.writeString(root.resolve("proc/stat"), cpu + "\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        Files.writeString(root.resolve("proc/self/stat"), own);
        return CpuUse.read(root);
    }

    @Test
    void whatOthersUseIsWhatIsBusyAndNotOurs() throws IOException {
        CpuUse before = read("cpu  100 0 50 1000 10 0 0 0 7 0", "12 (a) b) S 1 2 3 4 5 6 7 8 9 10 20 5 3 2 0 0");
        CpuUse after = read("cpu  160 0 70 1110 20 0 0 0 9 0", "12 (a) b) S 1 2 3 4 5 6 7 8 9 10 40 15 3 12 0 0");
        assertThat(before).isEqualTo(new CpuUse(1160, 150, 30));
        // 200 ticks passed, 80 of them busy, 40 of those ours.
        assertThat(after.othersSince(before)).hasValue(20);
    }

    @Test
    void childrenAndTheirChildrenAreOurs() throws IOException {
        String cpu = "cpu  100 0 50 1000 10 0 0 0 7 0";
        String self = "12 (java) S 1 2 3 4 5 6 7 8 9 10 20 5 3 2 0 0";
        other("13", "13 (a program) S 12 2 3 4 5 6 7 8 9 10 1 2 4 8 0 0");
        other("14", "14 (its child) S 13 2 3 4 5 6 7 8 9 10 16 32 0 0 0 0");
        other("15", "15 (a stranger) S 1 2 3 4 5 6 7 8 9 10 500 500 0 0 0 0");
        other("16", "");
        assertThat(read(cpu, self)).isEqualTo(new CpuUse(1160, 150, 30 + 15 + 48));
    }

    private void other(String pid, String stat) throws IOException {
        Files.createDirectories(root.resolve("proc").resolve(pid));
        Files.writeString(root.resolve("proc").resolve(pid).resolve("stat"), stat);
    }

    @Test
    void withoutProcNothingIsSaid() {
        CpuUse none = CpuUse.read(root.resolve("no/where"));
        assertThat(none.othersSince(none)).isEmpty();
    }

    @Test
    void aMachineIsBusyWhenOthersUseIt() {
        assertThat(Machine.busy(Map.of("cpus", 2, "load", "0.1", Machine.OTHERS, 40L))).isTrue();
        assertThat(Machine.busy(Map.of("cpus", 2, "load", "9.9", Machine.OTHERS, 2L))).isFalse();
        assertThat(Machine.busy(Map.of("cpus", 2, "load", "1.5"))).isTrue();
        assertThat(Machine.busy(Map.of("cpus", 2, "load", "unknown"))).isFalse();
        assertThat(Machine.describe()).containsKey(Machine.OTHERS);
    }
}
