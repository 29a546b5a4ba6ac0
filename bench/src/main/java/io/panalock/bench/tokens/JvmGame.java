// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.panalock.LockDomain;
import io.panalock.TokenPipe;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A game between JVMs: they meet in a file that holds the pipe and a board, by a shared domain. What it costs to start
 * them does not count.
 */
final class JvmGame {
    private static final int CAPACITY = 4096;
    private static final long BOARD = 8192; // behind the pipe: who wrote last, how many are ready, then a line a player
    private static final long READY = BOARD + 64;
    private static final long PLAYERS = BOARD + 128;
    private static final long PLAYER = 64;
    private static final int REGION = 1;

    private JvmGame() {}

    private static long size(int players) {
        return PLAYERS + PLAYER * players;
    }

    private record Table(LockDomain domain, MemorySegment memory) {
        static Table open(Path directory, int players, boolean create, Arena arena) throws IOException {
            Path file = directory.resolve("board");
            Path meeting = directory.resolve("domain");
            LockDomain domain = create ? LockDomain.createShared(meeting) : LockDomain.openShared(meeting);
            try (FileChannel channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, size(players), arena);
                domain.attach(memory, REGION);
                return new Table(domain, memory);
            }
        }

        int get(long offset) {
            return (int) JAVA_INT.varHandle().getAcquire(memory, offset);
        }
    }

    static Outcome play(int players, int passes, TokenPipe.Mode... modes) throws IOException {
        Path directory = Files.createTempDirectory("panalock-tokens-");
        List<Process> jvms = new ArrayList<>();
        try (Arena arena = Arena.ofShared()) {
            Table table = Table.open(directory, players, true, arena);
            TokenPipe pipe = TokenPipe.builder().domain(table.domain).modes(modes).create(table.memory.asSlice(0, BOARD), CAPACITY);
            try (TokenPipe.Writer out = pipe.openWriter();
                    TokenPipe.Reader keepsOpen = pipe.openReader()) {
                for (int i = 0; i < players; i++) {
                    jvms.add(start(directory, i, players, passes));
                }
                while (table.get(READY) < players) {
                    for (Process p : jvms) {
                        if (!p.isAlive()) {
                            throw new IllegalStateException("a JVM ended with code " + p.exitValue());
                        }
                    }
                    Thread.sleep(10);
                }
                long start = System.nanoTime();
                out.write(MemorySegment.ofArray(new int[] {0, TokenWay.IGNORED}));
                for (Process p : jvms) {
                    if (p.waitFor() != 0) {
                        throw new IllegalStateException("a JVM ended with code " + p.exitValue());
                    }
                }
                long elapsed = System.nanoTime() - start;
                assert keepsOpen.pipe() == pipe;
                return outcome(table, players, elapsed);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } finally {
            jvms.forEach(Process::destroyForcibly);
            for (String name : List.of("board", "domain")) {
                Files.deleteIfExists(directory.resolve(name));
            }
            Files.deleteIfExists(directory);
        }
    }

    private static Outcome outcome(Table table, int players, long elapsed) {
        long[] passes = new long[players];
        long self = 0;
        long cpu = 0;
        long switches = 0;
        for (int i = 0; i < players; i++) {
            long at = PLAYERS + i * PLAYER;
            passes[i] = table.memory.get(JAVA_LONG, at);
            self += table.memory.get(JAVA_LONG, at + 8);
            cpu += table.memory.get(JAVA_LONG, at + 16);
            switches += table.memory.get(JAVA_LONG, at + 24);
        }
        return Outcome.of(passes, self, elapsed, cpu, switches);
    }

    private static Process start(Path directory, int index, int players, int passes) throws IOException {
        List<String> command = Jvm.command(
                List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"),
                JvmGame.class, directory, index, players, passes);
        return new ProcessBuilder(command).inheritIO().start();
    }

    /** One player: directory, index, players, passes. */
    public static void main(String[] arguments) throws Exception {
        int index = Integer.parseInt(arguments[1]);
        int players = Integer.parseInt(arguments[2]);
        int passes = Integer.parseInt(arguments[3]);
        Arena arena = Arena.ofShared();
        Table table = Table.open(Path.of(arguments[0]), players, false, arena);
        TokenPipe pipe = TokenPipe.builder().domain(table.domain).open(table.memory.asSlice(0, BOARD));
        long count = 0;
        long self = 0;
        try (TokenPipe.Reader in = pipe.openReader();
                TokenPipe.Writer out = pipe.openWriter()) {
            MemorySegment two = MemorySegment.ofArray(new int[2]);
            MemorySegment one = two.asSlice(0, Integer.BYTES);
            long[] before = usage();
            JAVA_INT.varHandle().getAndAdd(table.memory, READY, 1);
            while (true) {
                in.read(one);
                int token = one.get(JAVA_INT, 0);
                if (token == TokenWay.IGNORED) {
                    continue;
                }
                if (token >= passes) {
                    out.write(one);
                    break;
                }
                count++;
                self += table.memory.get(JAVA_INT, BOARD) == index + 1 ? 1 : 0;
                table.memory.set(JAVA_INT, BOARD, index + 1);
                two.setAtIndex(JAVA_INT, 0, token + 1);
                two.setAtIndex(JAVA_INT, 1, TokenWay.IGNORED);
                out.write(token % 2 == 1 ? two : one);
            }
            long[] after = usage();
            long at = PLAYERS + index * PLAYER;
            table.memory.set(JAVA_LONG, at, count);
            table.memory.set(JAVA_LONG, at + 8, self);
            table.memory.set(JAVA_LONG, at + 16, after[0] - before[0]);
            table.memory.set(JAVA_LONG, at + 24, after[1] - before[1]);
        }
    }

    /** CPU nanoseconds and context switches of this process so far. */
    private static long[] usage() throws IOException {
        long switches = 0;
        try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
            for (Path task : tasks.toList()) {
                try (Stream<String> lines = Files.lines(task.resolve("status"))) {
                    switches += lines.filter(l -> l.contains("ctxt_switches"))
                            .mapToLong(l -> Long.parseLong(l.replaceAll("\\D", "")))
                            .sum();
                }
            }
        }
        return new long[] {
            ProcessHandle.current().info().totalCpuDuration().orElseThrow().toNanos(), switches
        };
    }
}
