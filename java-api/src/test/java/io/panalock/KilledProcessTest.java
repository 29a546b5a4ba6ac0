// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A JVM that is killed while it contends for locks that other processes use. A lock that it held stays held, and is
 * unlocked here in its place; nothing else that it was doing at that moment (waiting, waking, changing a line) holds us up.
 */
class KilledProcessTest {
    private static final int ROUNDS = 3;
    private static final int WARM_MILLIS = 400;
    private static final int HELD_SECONDS = 2;

    @TempDir
    Path directory;

    /** Contends with platform and virtual threads until it is killed: file, pool index, backend. */
    static final class Victim {
        public static void main(String[] arguments) throws Exception {
            LockDomain domain = LockDomain.openShared(Path.of(arguments[0]));
            for (int i = 0; i < 6; i++) {
                QSpinLock lock = lock(domain, Integer.parseInt(arguments[1]), Backend.valueOf(arguments[2]));
                Runnable work = () -> {
                    while (true) {
                        lock.lock();
                        lock.unlock();
                    }
                };
                Thread t = i % 2 == 0 ? Thread.ofPlatform().start(work) : Thread.ofVirtual().start(work);
            }
            System.out.println("ready");
            Thread.sleep(60_000);
            Runtime.getRuntime().halt(1); // nobody came to kill it
        }
    }

    private static QSpinLock lock(LockDomain domain, int index, Backend backend) {
        return QSpinLock.builder()
                .domain(domain)
                .layout(Layout.values()[index % 3])
                .backend(backend)
                .existing(index);
    }

    @ParameterizedTest
    @EnumSource(
            value = Backend.class,
            names = {"HYBRID", "JNI", "PURE"})
    void aKilledJvmHoldsNobodyUp(Backend backend) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Path file = directory.resolve(backend + "-" + round);
            try (LockDomain domain = LockDomain.builder().slots(32).createShared(file)) {
                Taken.upTo(round, domain);
                QSpinLock lock = lock(domain, round, backend);
                Path output = directory.resolve("output");
                Process victim =
                        Child.running(Victim.class).arguments(file, round, backend).start(output);
                Eventually.until("ready", () -> read(output).contains("ready"));
                long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(WARM_MILLIS + 7 * round);
                while (System.nanoTime() - end < 0) {
                    lock.lock();
                    lock.unlock();
                }
                victim.destroyForcibly().waitFor();
                if (!lock.tryLock(HELD_SECONDS, TimeUnit.SECONDS)) {
                    assertThat(lock.isLocked()).isTrue(); // by the killed one
                }
                lock.unlock();
                // Its waiters' slots come back: as many threads as slots, and more, contend.
                Thread[] threads = new Thread[40];
                for (int i = 0; i < threads.length; i++) {
                    threads[i] = (i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual()).start(() -> {
                        for (int n = 0; n < 50; n++) {
                            lock.lock();
                            lock.unlock();
                        }
                    });
                }
                Eventually.join(threads);
                assertThat(lock.isLocked()).isFalse();
            } finally {
                Files.deleteIfExists(file);
            }
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (java.io.IOException e) {
            return "";
        }
    }
}
