// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.machine;

import io.panalock.bench.peer.BenchLibrary;
import io.panalock.bench.peer.CPeers;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * What the machine is, as far as it can change a figure. Read from /proc and /sys below a root, so that other machines
 * can be shown in tests.
 */
public final class Machine {
    /** Bits of membarrier(2), from the manual page. */
    private static final int GLOBAL_EXPEDITED = 1 << 1;

    private static final int PRIVATE_EXPEDITED = 1 << 3;

    /** The library's option, see docs/arm64.md. */
    private static final String FORCED_WAIT = "PANALOCK_ARM64_WAIT";

    /** Per cent of all CPUs that other programs used; in {@code machine} as the run began, in {@code run} while it ran. */
    public static final String OTHERS = "others_use_percent";

    /** Above this, others disturb what is measured. */
    public static final int MUCH_PERCENT = 10;

    private Machine() {}

    /** The tree that is stored as {@code machine} in every results file. */
    public static Map<String, Object> describe() {
        OptionalDouble others = CpuUse.othersNow();
        Map<String, Object> machine = describe(Path.of("/"), System.getProperty("os.arch"));
        others.ifPresent(percent -> machine.put(OTHERS, Math.round(percent)));
        return machine;
    }

    static Map<String, Object> describe(Path root, String arch) {
        Map<String, Object> machine = new LinkedHashMap<>();
        String cpuinfo = read(root.resolve("proc/cpuinfo"));
        machine.put("arch", arch);
        machine.put("cpu", cpuName(cpuinfo));
        machine.put("cpus", Runtime.getRuntime().availableProcessors());
        machine.put("online", orUnknown(read(root.resolve("sys/devices/system/cpu/online"))));
        machine.put("affinity", orUnknown(field(read(root.resolve("proc/self/status")), "Cpus_allowed_list")));
        machine.put("virtual", words(field(cpuinfo, "flags")).contains("hypervisor"));
        machine.put("emulated", Boolean.getBoolean("panalock.emulated")
                || read(root.resolve("proc/self/comm")).startsWith("qemu-")
                || looksEmulated(cpuinfo, arch));
        machine.put("caches", caches(root));
        machine.put("kernel", orUnknown(read(root.resolve("proc/sys/kernel/osrelease"))));
        machine.put("load", orUnknown(read(root.resolve("proc/loadavg"))).split(" ")[0]);
        String quota = read(root.resolve("sys/fs/cgroup/cpu.max"));
        if (!quota.isEmpty() && !quota.startsWith("max")) {
            machine.put("cpu_quota", quota);
        }
        if (isArm(arch)) {
            List<String> features = words(field(cpuinfo, "Features"));
            machine.put("lse", features.contains("atomics"));
            machine.put("wfe", features.contains("evtstrm") ? "with event stream" : "without event stream");
            machine.put("wfxt", features.contains("wfxt"));
        }
        machine.put("jdk", System.getProperty("java.vm.version"));
        machine.put("vm", System.getProperty("java.vm.name"));
        machine.put("gc", collectors());
        nativeFacts(machine);
        return machine;
    }

    private static void nativeFacts(Map<String, Object> machine) {
        if (!BenchLibrary.available()) {
            machine.put("library", "none: " + BenchLibrary.whyNot());
            return;
        }
        int commands = CPeers.membarrier();
        machine.put("relax", CPeers.relaxName());
        machine.put("wait", CPeers.waitName());
        String forced = System.getenv(FORCED_WAIT);
        if (forced != null) {
            machine.put("wait_forced", forced.equals(CPeers.waitName()) ? forced : forced + ", which does not exist here: ignored");
        }
        machine.put("membarrier_private_expedited", commands >= 0 && (commands & PRIVATE_EXPEDITED) != 0);
        machine.put("membarrier_global_expedited", commands >= 0 && (commands & GLOBAL_EXPEDITED) != 0);
        machine.put("library", BenchLibrary.panalockOrigin());
        machine.put("library_version", BenchLibrary.panalockVersion());
    }

    /**
     * True when the CPU is made of software, as qemu's is, so that no time measured there means anything. Found out where
     * it shows; -Dpanalock.emulated=true says so where it does not.
     */
    public static boolean emulated(Map<String, Object> machine) {
        return Boolean.TRUE.equals(machine.get("emulated"));
    }

    /** True when other programs used more than a tenth of the CPUs as the run began, or wanted more than half of them. */
    public static boolean busy(Map<String, Object> machine) {
        if (machine.get(OTHERS) instanceof Number percent) {
            return percent.doubleValue() > MUCH_PERCENT;
        }
        try {
            return machine.get("cpus") instanceof Number cpus
                    && Double.parseDouble(String.valueOf(machine.get("load"))) > cpus.doubleValue() / 2;
        } catch (NumberFormatException e) {
            return false; // unknown
        }
    }

    /** {@code 1 CPU}, {@code 2 CPUs}. */
    public static String cpus(Map<String, Object> machine) {
        return machine.get("cpus") + (Integer.valueOf(1).equals(machine.get("cpus")) ? " CPU" : " CPUs");
    }

    /** In a sentence: what other programs did when a run began. */
    public static String load(Map<String, Object> machine) {
        return "the load was " + machine.get("load") + " on " + cpus(machine)
                + (machine.get(OTHERS) instanceof Number percent ? ", others used " + percent + " % of them" : "");
    }

    /** User-mode qemu shows the host's CPU; qemu's "max" CPU has no implementer. */
    static boolean looksEmulated(String cpuinfo, String arch) {
        String implementer = field(cpuinfo, "CPU implementer");
        return isArm(arch) && !cpuinfo.isEmpty() && (implementer.isEmpty() || implementer.equals("0x00"));
    }

    /** True when C threads can be made to run a fence by a system call, which the WIDE layout builds on. */
    public static boolean membarrier(Map<String, Object> machine) {
        return Boolean.TRUE.equals(machine.get("membarrier_private_expedited"));
    }

    /** The tree as lines for people. */
    public static String text(Map<String, Object> machine) {
        StringBuilder text = new StringBuilder();
        machine.forEach((key, value) -> text.append(String.format("%-30s %s%n", key.replace('_', ' '), show(value))));
        return text.toString();
    }

    private static String show(Object value) {
        return switch (value) {
            case Boolean yes -> yes ? "yes" : "no";
            case List<?> list -> String.join(", ", list.stream().map(Machine::show).toList());
            case Map<?, ?> map -> String.join(" ", map.values().stream().map(Machine::show).toList());
            default -> String.valueOf(value);
        };
    }

    private static boolean isArm(String arch) {
        return arch.equals("aarch64");
    }

    /** x86 names its CPUs; arm64 numbers them. */
    static String cpuName(String cpuinfo) {
        String name = field(cpuinfo, "model name");
        if (!name.isEmpty()) {
            return name + " (family " + field(cpuinfo, "cpu family") + ", model " + field(cpuinfo, "model") + ")";
        }
        String part = field(cpuinfo, "CPU part");
        return part.isEmpty() ? "unknown" : "implementer " + field(cpuinfo, "CPU implementer") + " part " + part;
    }

    private static List<Map<String, Object>> caches(Path root) {
        List<Map<String, Object>> caches = new ArrayList<>();
        Path dir = root.resolve("sys/devices/system/cpu/cpu0/cache");
        if (!Files.isDirectory(dir)) {
            return caches;
        }
        try (Stream<Path> entries = Files.list(dir)) {
            for (Path index : entries.filter(p -> p.getFileName().toString().startsWith("index")).sorted().toList()) {
                Map<String, Object> cache = new LinkedHashMap<>();
                cache.put("level", "L" + read(index.resolve("level")));
                cache.put("type", read(index.resolve("type")).toLowerCase(java.util.Locale.ROOT));
                cache.put("size", read(index.resolve("size")));
                cache.put("shared_by", "of CPUs " + read(index.resolve("shared_cpu_list")));
                caches.add(cache);
            }
        } catch (IOException e) {
            caches.clear();
        }
        return caches;
    }

    private static List<String> collectors() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().map(b -> b.getName()).toList();
    }

    /** The value after {@code key:} in the first such line; empty when there is none. */
    static String field(String text, String key) {
        return text.lines()
                .filter(line -> line.startsWith(key))
                .map(line -> line.split(":", 2))
                .filter(parts -> parts.length == 2 && parts[0].strip().equals(key))
                .map(parts -> parts[1].strip())
                .findFirst()
                .orElse("");
    }

    private static List<String> words(String text) {
        return List.of(text.split("\\s+"));
    }

    private static String orUnknown(String text) {
        return text.isEmpty() ? "unknown" : text;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException | java.io.UncheckedIOException e) {
            return "";
        }
    }
}
