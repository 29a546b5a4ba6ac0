// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.Layouts;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_domain;
import io.panalock.internal.ffm.pl_node;
import io.panalock.internal.ffm.pl_process;
import io.panalock.internal.ffm.pl_thread;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Waiters of another process that were there first, and so are chosen first, but do not run: their process was killed, is
 * stopped, or gets next to no time. The others' turn comes all the same. Then a line whose holder was killed.
 */
class StalledProcessTest {
    private static final int SLEEPERS = 2; // in each process
    private static final int BUCKET = 64;
    private static final long LIMIT = TimeUnit.SECONDS.toNanos(60); // some milliseconds are enough, but for emulated and starved threads: more is a hang

    @TempDir
    Path directory;

    enum Stall {
        KILLED,
        STOPPED,
        STARVED
    }

    static List<Arguments> all() {
        List<Arguments> all = new ArrayList<>();
        for (Stall stall : Stall.values()) {
            for (Backend b : List.of(Backend.HYBRID, Backend.FFM, Backend.JNI, Backend.PURE)) {
                all.add(Arguments.of(stall, b));
            }
        }
        return all;
    }

    /** A platform thread and a virtual one that take the lock once each. */
    private static Thread[] takers(QSpinLock lock) {
        Thread[] threads = new Thread[SLEEPERS];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = (i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual()).start(() -> {
                lock.lock();
                lock.unlock();
            });
        }
        return threads;
    }

    /** Another process's waiters: file, pool index, backend. */
    static final class Waiters {
        public static void main(String[] arguments) throws Exception {
            LockDomain domain = LockDomain.openShared(Path.of(arguments[0]));
            for (Thread t : takers(lock(domain, Integer.parseInt(arguments[1]), Backend.valueOf(arguments[2])))) {
                t.join();
            }
        }
    }

    private static QSpinLock lock(LockDomain domain, int index, Backend backend) {
        return QSpinLock.builder()
                .domain(domain)
                .layout(Layout.values()[index % 3])
                .backend(backend)
                .existing(index);
    }

    private static void awaitSleepers(LockDomain domain, int count) {
        Eventually.until(count + " sleepers", () -> sleepers(domain.memory()) == count);
    }

    private static int sleepers(MemorySegment domain) {
        int count = 0;
        for (int slot = 1; slot < pl_domain.slots(domain); slot++) {
            MemorySegment nodes = domain.asSlice(
                    pl_domain.slots_offset(domain) + slot * pl_thread.sizeof() + pl_thread.nodes$offset(),
                    Layouts.NESTING * pl_node.sizeof());
            for (int level = 0; level < Layouts.NESTING; level++) {
                int state = nodes.get(ValueLayout.JAVA_INT, level * pl_node.sizeof() + pl_node.state$offset());
                count += state == Layouts.NODE_SLEEPING || state == Layouts.NODE_PARKED ? 1 : 0;
            }
        }
        return count;
    }

    private static void signal(Process p, String name) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(p.pid())).start().waitFor())
                .isZero();
    }

    /** True once every thread of the process has stopped: it is told so one by one. */
    private static boolean hasStopped(Process p) {
        try (var tasks = Files.newDirectoryStream(Path.of("/proc", Long.toString(p.pid()), "task"))) {
            for (Path task : tasks) {
                String stat = Files.readString(task.resolve("stat"));
                if (stat.charAt(stat.lastIndexOf(')') + 2) != 'T') {
                    return false;
                }
            }
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @ParameterizedTest
    @MethodSource("all")
    void waitersThatDoNotRunSilenceNobody(Stall stall, Backend backend) throws Exception {
        AtomicBoolean hogging = new AtomicBoolean(true);
        Path file = directory.resolve("domain");
        Process other = null;
        try (LockDomain domain = LockDomain.builder().slots(16).createShared(file)) {
            int index = backend.ordinal() + stall.ordinal();
            Taken.upTo(index, domain);
            QSpinLock lock = lock(domain, index, backend);
            lock.lock();
            Child child = Child.running(Waiters.class).arguments(file, index, backend);
            if (stall == Stall.STARVED) {
                child.inside("nice", "-n", "19");
            }
            other = child.start(directory.resolve("output"));
            awaitSleepers(domain, SLEEPERS);
            Thread[] peers = takers(lock);
            awaitSleepers(domain, 2 * SLEEPERS);
            switch (stall) {
                case KILLED -> other.destroyForcibly().waitFor();
                case STOPPED -> {
                    signal(other, "STOP");
                    Process p = other;
                    Eventually.until("stopped", () -> hasStopped(p));
                }
                case STARVED -> {
                    for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
                        Thread.ofPlatform().daemon().start(() -> {
                            while (hogging.get()) {
                                Thread.onSpinWait();
                            }
                        });
                    }
                }
            }
            long start = System.nanoTime();
            lock.unlock();
            Eventually.join(peers);
            assertThat(System.nanoTime() - start).isLessThan(LIMIT);
            hogging.set(false);
            if (stall == Stall.STOPPED) {
                signal(other, "CONT");
            }
            if (stall != Stall.KILLED) {
                assertThat(other.waitFor(2, TimeUnit.MINUTES)).isTrue();
                assertThat(other.exitValue()).isZero();
            }
            assertThat(lock.tryLock(1, TimeUnit.MINUTES)).isTrue(); // nor does it trouble who comes later
            lock.unlock();
        } finally {
            hogging.set(false);
            if (other != null) {
                other.destroyForcibly().waitFor();
            }
            Files.deleteIfExists(file);
        }
    }

    /** Takes the locks of all lines, one after the other, as a thread does that changes one, and keeps them: file. */
    static final class LineHolder {
        public static void main(String[] arguments) throws Exception {
            LockDomain domain = LockDomain.openShared(Path.of(arguments[0]));
            MemorySegment d = domain.memory();
            int index = 0;
            while (pl_process.pid(pl_domain.processes(d, index)) != ProcessHandle.current().pid()) {
                index++;
            }
            long incarnation = pl_process.incarnation(pl_domain.processes(d, index));
            int holder = panalock_h.PL_WAITQ_HELD()
                    | (int) (incarnation & panalock_h.PL_WAITQ_INCARNATION_MASK())
                            << panalock_h.PL_WAITQ_INCARNATION_SHIFT()
                    | index;
            for (int i = 0; i < panalock_h.PL_BUCKETS(); i++) {
                MemorySegment line = d.asSlice(pl_domain.buckets_offset(d) + (long) i * BUCKET, BUCKET);
                while (!ValueLayout.JAVA_INT.varHandle().compareAndSet(line, 0L, 0, holder)) {
                    Thread.onSpinWait();
                }
            }
            System.out.println("ready");
            Thread.sleep(60_000);
            Runtime.getRuntime().halt(1); // nobody came to kill it
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void aLineWhoseHolderWasKilledGoesOn(Backend backend) throws Exception {
        Path file = directory.resolve("domain");
        Path output = directory.resolve("output");
        try (LockDomain domain = LockDomain.builder().slots(16).createShared(file)) {
            Taken.upTo(backend.ordinal(), domain);
            QSpinLock lock = lock(domain, backend.ordinal(), backend);
            lock.lock();
            Thread[] before = takers(lock);
            awaitSleepers(domain, SLEEPERS);
            Process holder =
                    Child.running(LineHolder.class).arguments(file).start(output);
            Eventually.until("ready", () -> read(output).contains("ready"));
            Thread[] meanwhile = takers(lock); // they come to the line before its holder is dead
            Thread.sleep(20);
            assertThat(sleepers(domain.memory())).isEqualTo(SLEEPERS);
            holder.destroyForcibly().waitFor();
            Thread[] after = takers(lock);
            long start = System.nanoTime();
            lock.unlock();
            Eventually.join(before);
            Eventually.join(meanwhile);
            Eventually.join(after);
            assertThat(System.nanoTime() - start).isLessThan(LIMIT);
            assertThat(lock.isLocked()).isFalse();
            assertThat(lock.isContended()).isFalse();
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }
}
