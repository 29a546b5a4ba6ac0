// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.machine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;

/**
 * What all CPUs have done since the system started, in clock ticks, from /proc; zeros where there is none.
 *
 * @param all ticks of all CPUs
 * @param busy those not idle
 * @param own those that this process and its ended children used
 */
public record CpuUse(long all, long busy, long own) {
    private static final int IDLE = 3;
    private static final int IOWAIT = 4;
    private static final int COUNTED_TWICE = 8;
    private static final int OWN_FIRST = 11;
    private static final int OWN_LAST = 14;
    private static final int LOOK_MS = 250;

    public static CpuUse now() {
        return read(Path.of("/"));
    }

    static CpuUse read(Path root) {
        try (var lines = Files.lines(root.resolve("proc/stat"))) {
            long[] cpu = numbers(lines.findFirst().orElse("").replaceFirst("^cpu +", ""), COUNTED_TWICE);
            // The program's name, in parentheses, may hold anything.
            String self = Files.readString(root.resolve("proc/self/stat"));
            long[] own = numbers(self.substring(self.lastIndexOf(')') + 2).replaceFirst("^\\S+ ", "0 "), OWN_LAST + 1);
            long all = Arrays.stream(cpu).sum();
            return new CpuUse(all, all - cpu[IDLE] - cpu[IOWAIT], Arrays.stream(own, OWN_FIRST, OWN_LAST + 1).sum());
        } catch (IOException | RuntimeException e) {
            return new CpuUse(0, 0, 0); // no Linux, or a /proc unlike any other
        }
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
