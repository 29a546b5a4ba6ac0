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
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;

/** The validator in a JVM: on by its property, and costing nothing without it. */
class LockdepTest {
    @Test
    void withoutThePropertyLocksAreTheVerySameObjects() {
        assertThat(Lockdep.isOn()).isFalse();
        Lock lock = new ReentrantLock();
        assertThat(Lockdep.watch(lock, LockClass.of("any"))).isSameAs(lock);
        // Of the classes that the JIT compiler sees through; nothing of the validator is in their code.
        assertThat(QSpinLock.builder().layout(Layout.WIDE).backend(Backend.HYBRID).allocate()).isInstanceOf(WholeWide.class);
        assertThat(QSpinLock.builder().layout(Layout.WORD).backend(Backend.HYBRID).allocate()).isInstanceOf(WholeWord.class);
    }

    static final class Program {
        public static void main(String[] arguments) throws Exception {
            List<LockOrderReport> reports = new ArrayList<>();
            Lockdep.addListener(reports::add);
            Recording recording = new Recording();
            recording.enable("io.panalock.LockOrder");
            recording.start();
            for (Backend b : Backend.values()) {
                QSpinLock accounts = QSpinLock.builder().backend(b).name("accounts " + b).allocate();
                QSpinLock orders = QSpinLock.builder().backend(b).name("orders " + b).allocate();
                Lock other = Lockdep.watch(new ReentrantLock(), LockClass.of("other " + b));
                accounts.lock();
                if (!orders.tryLock()) {
                    throw new AssertionError();
                }
                other.lock();
                other.unlock();
                orders.unlock();
                accounts.unlock();
                require(reports.isEmpty(), "nothing yet");
                other.lockInterruptibly();
                accounts.lockInterruptibly();
                accounts.unlock();
                other.unlock();
                require(reports.size() == 1, "one report, not " + reports.size());
                require(reports.getFirst().message().contains("accounts " + b), "the lock's name");
                reports.clear();
                Thread t = Thread.ofPlatform().name("impatient").start(() -> {
                    try {
                        if (!orders.tryLock(1, TimeUnit.SECONDS)) {
                            throw new AssertionError();
                        }
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                });
                t.join();
                Lockdep.check();
                require(reports.size() == 1 && reports.getFirst().kind() == LockOrderReport.Kind.HELD_AT_EXIT, "left behind");
                reports.clear();
                orders.unlock(); // by another thread
                require(reports.size() == 1 && reports.getFirst().kind() == LockOrderReport.Kind.NOT_HELD, "a stranger's unlock");
                reports.clear();
                OsqMutex mutex = OsqMutex.builder().backend(b).name("mutex " + b).allocate();
                Lock third = Lockdep.watch(new ReentrantLock(), LockClass.of("third " + b));
                try (var _ = mutex.acquire()) {
                    third.lock();
                    third.unlock();
                }
                require(mutex.tryLock() && reports.isEmpty(), "nothing yet");
                try {
                    mutex.lock();
                    throw new AssertionError();
                } catch (IllegalMonitorStateException e) {
                    require(reports.size() == 1 && reports.getFirst().kind() == LockOrderReport.Kind.RECURSION, "recursion");
                    reports.clear();
                }
                mutex.unlock();
                third.lock();
                mutex.lock(LockThread.current(mutex.domain()));
                require(reports.size() == 1 && reports.getFirst().kind() == LockOrderReport.Kind.INVERSION, "the mutex");
                require(reports.getFirst().message().contains("mutex " + b), "the mutex's name");
                require(reports.getFirst().orders().getLast().acquired().getFirst().getClassName().contains("LockdepTest"), "its place");
                mutex.unlock();
                third.unlock();
                reports.clear();
                RqSpinLock resilient = RqSpinLock.builder().backend(b).name("resilient " + b).allocate();
                Lock fourth = Lockdep.watch(new ReentrantLock(), LockClass.of("fourth " + b));
                try (var _ = resilient.acquire()) {
                    fourth.lock();
                    fourth.unlock();
                }
                require(resilient.tryLock() && reports.isEmpty(), "nothing yet");
                try {
                    resilient.lock();
                    throw new AssertionError();
                } catch (DeadlockException e) {
                    require(reports.size() == 1 && reports.getFirst().kind() == LockOrderReport.Kind.RECURSION, "recursion");
                    reports.clear();
                }
                resilient.unlock();
                fourth.lock();
                resilient.lock(LockThread.current(resilient.domain()));
                require(reports.size() == 1 && reports.getFirst().kind() == LockOrderReport.Kind.INVERSION, "resilient");
                require(reports.getFirst().message().contains("resilient " + b), "its name");
                resilient.unlock();
                fourth.unlock();
                reports.clear();
            }
            // Contended waits come the same way.
            QSpinLock lock = QSpinLock.builder().name("contended").allocate();
            Thread[] threads = new Thread[4];
            int[] count = new int[1];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = (i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual()).start(() -> {
                    for (int n = 0; n < 500; n++) {
                        lock.lock();
                        count[0]++;
                        lock.unlock();
                    }
                });
            }
            for (Thread t : threads) {
                t.join();
            }
            require(count[0] == 2000 && reports.isEmpty(), "exclusion, and no report");
            Path file = Files.createTempFile("lockdep", ".jfr");
            recording.dump(file);
            recording.close();
            long events = RecordingFile.readAllEvents(file).stream()
                    .filter(e -> e.getEventType().getName().equals("io.panalock.LockOrder"))
                    .count();
            Files.delete(file);
            require(events == 7L * Backend.values().length, "events: " + events);
            System.out.println("done");
        }

        private static void require(boolean condition, String what) {
            if (!condition) {
                throw new AssertionError(what);
            }
        }
    }

    @Test
    void withThePropertyEveryLockIsWatched() throws Exception {
        Child.Result r = Child.running(Program.class).with("-Dpanalock.lockdep=on").run();
        assertThat(r.output()).contains("possible deadlock").contains("done");
        assertThat(r.exitCode()).isZero();
    }
}
