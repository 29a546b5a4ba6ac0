// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MachineTest {
    private static void write(Path root, String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text + "\n");
    }

    @Test
    void anArm64MachineShowsLseWfeAndWfxt(@TempDir Path root) throws IOException {
        write(root, "proc/cpuinfo", """
                processor	: 0
                Features	: fp asimd evtstrm atomics cpuid wfxt
                CPU implementer	: 0x41
                CPU part	: 0xd0c
                """);
        Map<String, Object> machine = Machine.describe(root, "aarch64");
        assertThat(machine)
                .containsEntry("cpu", "implementer 0x41 part 0xd0c")
                .containsEntry("lse", true)
                .containsEntry("wfxt", true)
                .containsEntry("wfe", "with event stream")
                .containsEntry("virtual", false);
        assertThat(Machine.text(machine)).contains("lse", "yes", "with event stream");
    }

    @Test
    void anOlderArm64MachineLacksThem(@TempDir Path root) throws IOException {
        write(root, "proc/cpuinfo", "Features\t: fp asimd\nCPU part\t: 0xd03");
        assertThat(Machine.describe(root, "aarch64"))
                .containsEntry("lse", false)
                .containsEntry("wfxt", false)
                .containsEntry("wfe", "without event stream");
    }

    @Test
    void anEmulatedMachineIsRecognised() {
        assertThat(Machine.looksEmulated("CPU implementer\t: 0x41\nCPU part\t: 0xd0c", "aarch64")).isFalse();
        assertThat(Machine.looksEmulated("CPU implementer\t: 0x00\nCPU part\t: 0x051", "aarch64")).isTrue();
        assertThat(Machine.looksEmulated("vendor_id\t: AuthenticAMD\nmodel name\t: Some CPU", "aarch64")).isTrue();
        assertThat(Machine.looksEmulated("model name\t: Some CPU", "amd64")).isFalse();
        assertThat(Machine.looksEmulated("", "aarch64")).isFalse();
        assertThat(Machine.emulated(Map.of("emulated", true))).isTrue();
        assertThat(Machine.emulated(Map.of())).isFalse();
    }

    @Test
    void anX86MachineShowsModelCachesAndQuota(@TempDir Path root) throws IOException {
        write(root, "proc/cpuinfo", "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some CPU\nflags\t: fpu hypervisor");
        write(root, "proc/self/status", "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1");
        write(root, "sys/fs/cgroup/cpu.max", "150000 100000");
        String cache = "sys/devices/system/cpu/cpu0/cache/index0/";
        write(root, cache + "level", "1");
        write(root, cache + "type", "Data");
        write(root, cache + "size", "32K");
        write(root, cache + "shared_cpu_list", "0");
        Map<String, Object> machine = Machine.describe(root, "amd64");
        assertThat(machine)
                .containsEntry("cpu", "Some CPU (family 25, model 17)")
                .containsEntry("affinity", "0-1")
                .containsEntry("virtual", true)
                .containsEntry("cpu_quota", "150000 100000")
                .doesNotContainKey("lse");
        assertThat(machine.get("caches").toString()).contains("L1", "data", "32K");
    }

    @Test
    void aMachineThatTellsNothingIsUnknownNotAnError(@TempDir Path root) {
        assertThat(Machine.describe(root, "riscv64")).containsEntry("cpu", "unknown").containsEntry("kernel", "unknown");
    }

    @Test
    void thisMachineHasEverythingThatResultsNeed() {
        assertThat(Machine.describe())
                .containsKeys("arch", "cpu", "cpus", "affinity", "caches", "kernel", "jdk", "relax",
                        "membarrier_private_expedited", "membarrier_global_expedited", "library", "library_version", "load");
    }
}
