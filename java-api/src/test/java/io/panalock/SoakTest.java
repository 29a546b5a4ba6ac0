// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Sixty-four threads at one lock while others allocate, under every collector: nobody hangs, and safepoints are reached
 * about as soon as with a ReentrantLock. Ten minutes each at a hundred per cent.
 */
@Tag("soak")
class SoakTest {
    private static final int THREADS = 64;
    private static final int FULL_SECONDS = 600;
    private static final int SHORTEST_SECONDS = 2;
    private static final int ROUNDS = 3;
    private static final int ENOUGH = 1000; // safepoints, to speak of a 99th percentile
    private static final double ALLOWED_FACTOR = 2;
    private static final double ALLOWED_MILLIS = 5;
    private static final Pattern REACHING = Pattern.compile("Reaching safepoint: +(\\d+) ns");

    @TempDir
    Path directory;

    /** The program: arguments are the lock and the seconds. */
    static final class Program {
        private static volatile boolean stop;
        private static volatile Object sink;
        private static QSpinLock taken; // its word is given back when this is collected
        private static long inside;

        public static void main(String[] arguments) throws Exception {
            int seconds = Integer.parseInt(arguments[1]);
            Lock[] locks = locks(arguments[0]);
            long[] counts = new long[THREADS * 16];
            Thread[] workers = new Thread[THREADS];
            for (int i = 0; i < THREADS; i++) {
                Lock lock = locks[i % locks.length];
                int at = i * 16;
                Runnable work = () -> {
                    while (!stop) {
                        lock.lock();
                        try {
                            inside++;
                        } finally {
                            lock.unlock();
                        }
                        counts[at]++;
                    }
                };
                boolean virtual = arguments[0].equals("MIXED") && i % 8 == 7;
                workers[i] = virtual ? Thread.ofVirtual().start(work) : Thread.ofPlatform().start(work);
            }
            Thread[] others = {
                Thread.ofPlatform().start(() -> {
                    while (!stop) {
                        sink = new byte[1 << 14];
                    }
                }),
                Thread.ofPlatform().start(() -> {
                    while (!stop) {
                        Thread.getAllStackTraces(); // at a safepoint
                        try {
                            Thread.sleep(5);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                })
            };
            TimeUnit.SECONDS.sleep(seconds);
            stop = true;
            long total = 0;
            for (Thread t : workers) {
                t.join();
            }
            for (Thread t : others) {
                t.join();
            }
            for (long n : counts) {
                total += n;
            }
            System.out.println(total == inside ? "counted " + total : "lost " + (total - inside));
        }

        private static Lock[] locks(String kind) {
            return switch (kind) {
                case "REENTRANT" -> new Lock[] {new ReentrantLock()};
                case "MIXED" -> {
                    taken = QSpinLock.allocate();
                    Lock[] all = new Lock[Backend.values().length];
                    for (Backend b : Backend.values()) {
                        all[b.ordinal()] = QSpinLock.builder().backend(b).existing(taken.poolIndex());
                    }
                    yield all;
                }
                default ->
                    new Lock[] {QSpinLock.builder().backend(Backend.valueOf(kind)).allocate()};
            };
        }
    }

    static Stream<String> collectors() {
        return Stream.of(System.getProperty("panalock.soak.collectors", "Serial,Parallel,G1,Z").split(","));
    }

    @ParameterizedTest
    @MethodSource("collectors")
    void noHangAndPromptSafepoints(String collector) throws Exception {
        int seconds = FULL_SECONDS * Integer.getInteger("panalock.soak.percent", 1) / 100;
        List<Long> peer = new ArrayList<>();
        List<Long> ours = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) { // interleaved, so that both see the same machine
            peer.addAll(run(collector, "REENTRANT", Math.max(SHORTEST_SECONDS, seconds / ROUNDS)));
            ours.addAll(run(collector, "HYBRID", Math.max(SHORTEST_SECONDS, seconds / ROUNDS)));
        }
        List<Long> mixed = run(collector, "MIXED", Math.max(SHORTEST_SECONDS, seconds / 4));
        System.out.printf(
                "%s: time to safepoint, median and p99: ReentrantLock %.2f %.2f ms, HYBRID %.2f %.2f ms, all backends %.2f"
                        + " %.2f ms%n",
                collector,
                millis(peer, 50),
                millis(peer, 99),
                millis(ours, 50),
                millis(ours, 99),
                millis(mixed, 50),
                millis(mixed, 99));
        assertThat(ours).isNotEmpty();
        if (Math.min(peer.size(), ours.size()) >= ENOUGH) { // else the 99th percentile is a single unlucky moment
            assertThat(millis(ours, 99)).isLessThanOrEqualTo(ALLOWED_FACTOR * millis(peer, 99) + ALLOWED_MILLIS);
        }
    }

    private static double millis(List<Long> nanos, int percentile) {
        List<Long> sorted = nanos.stream().sorted().toList();
        return sorted.isEmpty() ? 0 : sorted.get(sorted.size() * percentile / 100) / 1e6;
    }

    /** Every time to safepoint, in nanoseconds. */
    private List<Long> run(String collector, String lock, int seconds) throws Exception {
        Path log = directory.resolve(collector + lock + ".log");
        Child.Result r = Child.running(Program.class)
                .with("-XX:+Use" + collector + "GC", "-Xmx256m", "-Xlog:safepoint:file=" + log + "::filecount=0")
                .arguments(lock, seconds)
                .within(seconds + 90)
                .run();
        assertThat(r.output()).startsWith("counted ");
        assertThat(r.exitCode()).isZero();
        return REACHING.matcher(Files.readString(log))
                .results()
                .map(x -> Long.valueOf(x.group(1)))
                .toList();
    }
}
