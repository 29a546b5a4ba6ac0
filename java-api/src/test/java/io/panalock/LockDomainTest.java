// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LockDomainTest {
    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource(Backend.class)
    void closingEndsWaitsButNotTheHold(Backend backend) {
        for (Layout layout : Layout.values()) {
            LockDomain domain = LockDomain.ofPrivate();
            QSpinLock lock = QSpinLock.builder()
                    .domain(domain)
                    .backend(backend)
                    .layout(layout)
                    .name("orders")
                    .allocate();
            lock.lock();
            List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
            Thread[] waiters = new Thread[4];
            for (int i = 0; i < waiters.length; i++) {
                Thread.Builder kind = i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual();
                waiters[i] = kind.start(() -> {
                    try {
                        lock.lock();
                    } catch (Throwable e) {
                        thrown.add(e);
                    }
                });
            }
            Eventually.asleep(lock);
            domain.close();
            Eventually.join(waiters);
            assertThat(thrown).hasSize(waiters.length).allSatisfy(e -> assertThat(e)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("\"orders\" cannot be locked: its domain is closed."));
            lock.unlock();
            assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(lock::tryLock).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> QSpinLock.builder().domain(domain).allocate())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is closed");
            domain.close();
            assertThat(domain.isClosed()).isTrue();
        }
    }

    @Test
    void theDefaultDomainCannotBeClosed() {
        assertThatThrownBy(() -> LockDomain.ofDefault().close())
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("LockDomain.ofPrivate()");
    }

    @Test
    void anExhaustedPoolSaysSo() {
        LockDomain domain = LockDomain.builder().locks(2).create();
        QSpinLock a = QSpinLock.builder().domain(domain).allocate();
        QSpinLock b = QSpinLock.builder().domain(domain).allocate();
        assertThatThrownBy(() -> QSpinLock.builder().domain(domain).allocate())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("all 2 lock words")
                .hasMessageContaining("LockDomain.builder().locks(n)");
        assertThat(a.tryLock() && b.tryLock()).isTrue();
    }

    @Test
    void wordsOfUnreachableLocksAreUsedAgain() {
        LockDomain domain = LockDomain.builder().locks(4).create();
        for (int i = 0; i < 40; i++) {
            QSpinLock lock = QSpinLock.builder().domain(domain).allocate();
            lock.lock();
            QSpinLock.builder().domain(domain).existing(lock.poolIndex()).unlock();
            Reference.reachabilityFence(lock); // were it collected while it is held, its word would stay taken
        }
    }

    @Test
    void slotsOfThreadsThatHaveEndedAreUsedAgain() {
        LockDomain domain = LockDomain.builder().slots(2).create();
        QSpinLock lock = QSpinLock.builder().domain(domain).allocate();
        for (int i = 0; i < 5; i++) {
            lock.lock();
            Thread waiter = Thread.ofPlatform().start(() -> {
                lock.lock();
                lock.unlock();
            });
            Eventually.asleep(lock);
            lock.unlock();
            Eventually.join(waiter);
        }
    }

    /** More domains than a thread has room for in its native table. */
    @Test
    void oneThreadInManyDomains() {
        Eventually.join(Thread.ofPlatform().start(() -> {
            for (int i = 0; i < 20; i++) {
                LockDomain domain = LockDomain.builder().slots(8).locks(2).create();
                QSpinLock lock = QSpinLock.builder().domain(domain).allocate();
                lock.lock();
                try {
                    assertThat(lock.tryLock(1, TimeUnit.MILLISECONDS)).isFalse();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                lock.unlock();
            }
        }));
    }

    // ---- shared ----

    @Test
    void twoOpeningsOfOneFileShareLocks() throws Exception {
        Path file = directory.resolve("domain");
        try (LockDomain mine = LockDomain.createShared(file);
                LockDomain theirs = LockDomain.openShared(file)) {
            assertThat(mine.isShared()).isTrue();
            assertThat(theirs.slots()).isEqualTo(1024);
            assertThat(Files.getPosixFilePermissions(file)).isEqualTo(PosixFilePermissions.fromString("rw-------"));
            QSpinLock a = QSpinLock.builder().domain(mine).allocate();
            QSpinLock b = QSpinLock.builder().domain(theirs).existing(a.poolIndex());
            for (boolean virtual : new boolean[] {false, true}) {
                a.lock();
                assertThat(b.tryLock()).isFalse();
                Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
                Thread waiter = kind.start(() -> {
                    b.lock();
                    b.unlock();
                });
                Eventually.asleep(a);
                a.unlock();
                Eventually.join(waiter);
            }
        }
    }

    @Test
    void attachedRegionsAreTheSameEverywhere() throws Exception {
        Path file = directory.resolve("domain");
        Path data = Files.write(directory.resolve("data"), new byte[8192]);
        try (LockDomain mine = LockDomain.createShared(file);
                LockDomain theirs = LockDomain.openShared(file);
                Arena arena = Arena.ofShared();
                FileChannel channel = FileChannel.open(data, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment here = channel.map(FileChannel.MapMode.READ_WRITE, 0, 8192, arena);
            MemorySegment there = channel.map(FileChannel.MapMode.READ_WRITE, 0, 8192, arena);
            mine.attach(here, 7);
            theirs.attach(there, 7);
            assertThatThrownBy(() -> mine.attach(here, 8))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("attached already");
            assertThatThrownBy(() -> mine.attach(there, 0)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> LockDomain.ofPrivate().attach(here, 1)).hasMessageContaining("only a shared domain");
            for (Backend backend : Backend.values()) {
                QSpinLock a = QSpinLock.builder().domain(mine).backend(backend).at(here, 4096);
                QSpinLock b = QSpinLock.builder().domain(theirs).at(there, 4096);
                for (boolean virtual : new boolean[] {false, true}) {
                    a.lock();
                    Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
                    Thread waiter = kind.start(() -> {
                        b.lock();
                        b.unlock();
                    });
                    Eventually.asleep(a);
                    a.unlock();
                    Eventually.join(waiter);
                }
            }
            mine.detach(here);
            assertThatThrownBy(() -> mine.detach(here)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void aClosedSharedDomainLivesOnForOthers() {
        Path file = directory.resolve("domain");
        LockDomain mine = LockDomain.createShared(file);
        LockDomain theirs = LockDomain.openShared(file);
        QSpinLock a = QSpinLock.builder().domain(mine).allocate();
        QSpinLock b = QSpinLock.builder().domain(theirs).existing(a.poolIndex());
        mine.close();
        assertThatThrownBy(a::lock).isInstanceOf(IllegalStateException.class);
        b.lock();
        b.unlock();
        Reference.reachabilityFence(a); // were it collected, its word would be given back
        theirs.close();
    }

    @Test
    void aSharedDomainIsNotClosedUnderNativeWaiters() {
        LockDomain mine = LockDomain.createShared(directory.resolve("domain"));
        QSpinLock lock = QSpinLock.builder().domain(mine).allocate();
        lock.lock();
        Thread waiter = Thread.ofPlatform().start(() -> {
            lock.lock();
            lock.unlock();
        });
        Eventually.asleep(lock);
        assertThatThrownBy(mine::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("wait for locks of shared domain");
        lock.unlock();
        Eventually.join(waiter);
        mine.close();
    }

    @Test
    void whatIsNotADomainIsRefused() throws IOException {
        Path none = directory.resolve("none");
        assertThatThrownBy(() -> LockDomain.openShared(none))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(none.toString())
                .hasMessageContaining("no such file");
        Path text = Files.writeString(directory.resolve("text"), "hello");
        assertThatThrownBy(() -> LockDomain.openShared(text)).hasMessageContaining("holds no lock domain");
        assertThatThrownBy(() -> LockDomain.createShared(text)).hasMessageContaining("the file exists");
        Path damaged = directory.resolve("damaged");
        LockDomain.createShared(damaged).close();
        patch(damaged, 24, new byte[] {-1, -1, -1, -1});
        assertThatThrownBy(() -> LockDomain.openShared(damaged)).hasMessageContaining("or a damaged one");
    }

    @Test
    void aForeignLayoutVersionIsRefused() throws IOException {
        Path foreign = directory.resolve("foreign");
        LockDomain.createShared(foreign).close();
        patch(foreign, 8, new byte[] {99});
        assertThatThrownBy(() -> LockDomain.openShared(foreign))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("another version of Panalock")
                .hasMessageContaining("layout version " + Layouts.LAYOUT_VERSION);
    }

    private static void patch(Path file, long offset, byte[] bytes) throws IOException {
        try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
            f.seek(offset);
            f.write(bytes);
        }
    }

    @Test
    void anUnreachableDomainIsUnmappedAndALockKeepsItMapped() throws Exception {
        Path file = directory.resolve("gone");
        QSpinLock lock = makeAndForget(file);
        System.gc();
        Thread.sleep(50);
        assertThat(isMapped(file)).isTrue();
        lock.lock();
        lock.unlock();
        lock = null;
        Eventually.until("unmapped", () -> {
            System.gc();
            return !isMapped(file);
        });
    }

    private static QSpinLock makeAndForget(Path file) {
        return QSpinLock.builder().domain(LockDomain.createShared(file)).allocate();
    }

    private static boolean isMapped(Path file) {
        try {
            return Files.readString(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1)
                    .contains(file.toString());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    // ---- another process ----

    /** Adds to a counter in shared memory, under a lock of a shared domain. */
    static final class Adder {
        public static void main(String[] arguments) throws Exception {
            add(Path.of(arguments[0]), Path.of(arguments[1]), Integer.parseInt(arguments[2]), arguments[3]);
        }

        static void add(Path domain, Path data, int times, String backend) throws Exception {
            LockDomain d = LockDomain.openShared(domain);
            try (FileChannel c = FileChannel.open(data, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                MemorySegment memory = c.map(FileChannel.MapMode.READ_WRITE, 0, 4096, Arena.global());
                d.attach(memory, 1);
                QSpinLock lock = QSpinLock.builder()
                        .domain(d)
                        .backend(Backend.valueOf(backend))
                        .at(memory, 0);
                Runnable work = () -> {
                    for (int i = 0; i < times; i++) {
                        lock.lock();
                        long n = memory.get(java.lang.foreign.ValueLayout.JAVA_LONG, 64);
                        memory.set(java.lang.foreign.ValueLayout.JAVA_LONG, 64, n + 1);
                        lock.unlock();
                    }
                };
                Thread[] threads = {
                    Thread.ofPlatform().start(work), Thread.ofVirtual().start(work),
                };
                for (Thread t : threads) {
                    t.join();
                }
            }
        }
    }

    @Test
    void twoProcesses() throws Exception {
        Path domain = directory.resolve("domain");
        Path data = Files.write(directory.resolve("data"), new byte[4096]);
        LockDomain d = LockDomain.createShared(domain);
        int times = 20_000;
        Path output = directory.resolve("output");
        Process other = Child.running(Adder.class)
                .arguments(domain, data, times, Backend.PURE)
                .start(output);
        try {
            Adder.add(domain, data, times, "HYBRID");
            assertThat(other.waitFor(300, TimeUnit.SECONDS)).as("the other process ends").isTrue();
        } finally {
            other.destroyForcibly();
        }
        assertThat(Files.readString(output)).isEmpty();
        assertThat(other.exitValue()).isZero();
        try (RandomAccessFile f = new RandomAccessFile(data.toFile(), "r")) {
            f.seek(64);
            assertThat(Long.reverseBytes(f.readLong())).isEqualTo(4L * times);
        }
        d.close();
    }
}
