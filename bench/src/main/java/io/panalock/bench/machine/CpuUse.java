// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.machine;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * What all CPUs have done since the system started, in clock ticks, from /proc; zeros where there is none.
 *
 * @param all ticks of all CPUs
 * @param busy those not idle
 * @param own those that this process, its children and their children used, whether they run or have ended
 */
public record CpuUse(long all, long busy, long own) {
    private static final int IDLE = 3;
    private static final int IOWAIT = 4;
    private static final int COUNTED_TWICE = 8;
    private static final int PARENT = 1;
    private static final int OWN_FIRST = 11;
    private static final int OWN_LAST = 14;
    private static final int LOOK_MS = 250;

    public static CpuUse now() {
        return read(Path.of("/"));
    }

    static CpuUse read(Path root) {
        try (var lines = Files.lines(root.resolve("proc/stat"))) {
            long[] cpu = numbers(lines.findFirst().orElse("").replaceFirst("^cpu +", ""), COUNTED_TWICE);
            long all = Arrays.stream(cpu).sum();
            return new CpuUse(all, all - cpu[IDLE] - cpu[IOWAIT], own(root.resolve("proc")));
        } catch (IOException | RuntimeException e) {
            return new CpuUse(0, 0, 0); // no Linux, or a /proc unlike any other
        }
    }

    /**
     * One process.
     *
     * @param ticks its own, and those of its children that ended
     */
    private record Used(long pid, long parent, long ticks) {
        static Used read(Path stat) throws IOException {
            String text = Files.readString(stat);
            // The program's name, in parentheses, may hold anything.
            long[] behind = numbers(text.substring(text.lastIndexOf(')') + 2).replaceFirst("^\\S+ ", "0 "), OWN_LAST + 1);
            return new Used(
                    Long.parseLong(text.split(" ", 2)[0]), behind[PARENT], Arrays.stream(behind, OWN_FIRST, OWN_LAST + 1).sum());
        }
    }

    private static long own(Path proc) throws IOException {
        Used self = Used.read(proc.resolve("self/stat"));
        Map<Long, List<Used>> children = new HashMap<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(proc, "[0-9]*")) {
            for (Path each : all) {
                try {
                    Used used = Used.read(each.resolve("stat"));
                    children.computeIfAbsent(used.parent, p -> new ArrayList<>()).add(used);
                } catch (IOException | RuntimeException e) {
                    // it has just ended, or is none of ours to read
                }
            }
        }
        long ticks = 0;
        Deque<Used> family = new ArrayDeque<>(List.of(self));
        while (!family.isEmpty()) {
            Used each = family.pop();
            ticks += each.ticks;
            family.addAll(children.getOrDefault(each.pid, List.of()));
        }
        return ticks;
    }

    private static long[] numbers(String text, int most) {
        return List.of(text.strip().split("\\s+")).stream().limit(most).mapToLong(Long::parseLong).toArray();
    }

    /** The per cent of all CPUs that others used since then; nothing when that cannot be said. */
    public OptionalDouble othersSince(CpuUse before) {
        long ticks = all - before.all;
        return ticks <= 0
                ? OptionalDouble.empty()
                : OptionalDouble.of(Math.max(0, 100.0 * (busy - before.busy - (own - before.own)) / ticks));
    }

    /** The same for a quarter of a second from now, in which the caller sleeps. */
    static OptionalDouble othersNow() {
        CpuUse before = now();
        try {
            Thread.sleep(LOOK_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return now().othersSince(before);
    }
}
