// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class FutexTest {
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(256, 64);
    private final Futex one = Futex.at(memory, 0);
    private final Futex two = Futex.at(memory, 64);

    @TempDir
    Path directory;

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void awaitEndsWhenWokenWhenDifferentAndInTime() throws Exception {
        one.await(1); // holds 0
        assertThat(one.await(0, Duration.ofMillis(15))).isFalse();
        assertThat(one.await(0, Duration.ZERO)).isFalse();
        Thread t = Thread.ofPlatform().start(() -> {
            try {
                while ((int) JAVA_INT.varHandle().getAcquire(memory, 0L) == 0) {
                    one.await(0);
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        Thread.sleep(5);
        assertThat(one.update(Futex.Op.SET, 1)).isZero();
        one.wake(1);
        t.join();
    }

    @Test
    void interruptEndsTheSleep() throws Exception {
        AtomicInteger interrupted = new AtomicInteger();
        Thread t = Thread.ofPlatform().start(() -> {
            try {
                one.await(0);
            } catch (InterruptedException e) {
                interrupted.incrementAndGet();
            }
        });
        t.interrupt();
        t.join();
        assertThat(interrupted).hasValue(1);
    }

    @Test
    void operationsGiveTheOldValue() {
        assertThat(one.update(Futex.Op.SET, 12)).isZero();
        assertThat(one.update(Futex.Op.ADD, -2)).isEqualTo(12);
        assertThat(one.update(Futex.Op.OR, 5)).isEqualTo(10);
        assertThat(one.update(Futex.Op.ANDN, 3)).isEqualTo(15);
        assertThat(one.update(Futex.Op.XOR, 4)).isEqualTo(12);
        assertThat(one.compareAndExchange(7, 1)).isEqualTo(8);
        assertThat(one.compareAndExchange(8, 1)).isEqualTo(8);
        assertThat(memory.get(JAVA_INT, 0)).isEqualTo(1);
    }

    @Test
    void requeueAndWakeOpReachBothWords() throws Exception {
        AtomicInteger woken = new AtomicInteger();
        Thread[] sleepers = new Thread[3];
        for (int i = 0; i < sleepers.length; i++) {
            sleepers[i] = Thread.ofPlatform().start(() -> {
                try {
                    while ((int) JAVA_INT.varHandle().getAcquire(memory, 128L) == 0) {
                        one.await(0, Duration.ofMillis(200));
                    }
                    woken.incrementAndGet();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
        }
        assertThat(one.requeue(5, 1, 1, two)).isEqualTo(OptionalInt.empty());
        assertThat(one.requeue(0, 0, 2, two).orElseThrow()).isBetween(0, 2);
        assertThat(one.wakeOp(1, two, 3, Futex.Op.ADD, 7, Futex.Compare.EQ, 0)).isBetween(0, 3);
        assertThat(memory.get(JAVA_INT, 64)).isEqualTo(7);
        assertThatThrownBy(() -> one.wakeOp(1, two, 1, Futex.Op.ADD, 2048, Futex.Compare.EQ, 0))
                .isInstanceOf(IllegalArgumentException.class);
        JAVA_INT.varHandle().setRelease(memory, 128L, 1);
        one.wake(3);
        for (Thread t : sleepers) {
            t.join();
        }
        assertThat(woken).hasValue(3);
    }

    @Test
    void awaitAnyNamesAWordOrNone() throws Exception {
        List<Futex.Awaited> both = List.of(new Futex.Awaited(one, 0), new Futex.Awaited(two, 0));
        try {
            assertThat(Futex.awaitAny(both, Duration.ofMillis(5))).isEmpty();
        } catch (UnsupportedOperationException e) {
            assertThat(e).hasMessageContaining("5.16");
            return;
        }
        assertThat(Futex.awaitAny(List.of(new Futex.Awaited(one, 3)), Duration.ofMinutes(1))).isEmpty();
        AtomicInteger place = new AtomicInteger(-1);
        Thread t = Thread.ofPlatform().start(() -> {
            try {
                OptionalInt n;
                do {
                    n = Futex.awaitAny(both, Duration.ofSeconds(30));
                } while (n.isEmpty());
                place.set(n.getAsInt());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        while (two.wake(1) == 0) {
            Thread.sleep(1);
        }
        t.join();
        assertThat(place).hasValue(1);
    }

    @Test
    void badMemoryIsAnExceptionAndNoCrash() throws Exception {
        assertThatThrownBy(() -> Futex.at(MemorySegment.ofArray(new int[1]), 0)).hasMessageContaining("on the heap");
        assertThatThrownBy(() -> Futex.at(memory, 2)).hasMessageContaining("divisible by 4");
        assertThatThrownBy(() -> Futex.at(memory, 254)).hasMessageContaining("no 4 bytes");
        assertThatThrownBy(() -> Futex.at(MemorySegment.NULL.reinterpret(64), 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> one.wake(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Futex.awaitAny(List.of(), Duration.ZERO)).hasMessageContaining("128");
        Path file = Files.write(directory.resolve("page"), new byte[4096]);
        try (FileChannel readOnly = FileChannel.open(file, StandardOpenOption.READ);
                Arena mapped = Arena.ofShared()) {
            MemorySegment page = readOnly.map(FileChannel.MapMode.READ_ONLY, 0, 4096, mapped);
            Futex unwritable = Futex.at(page, 0, true);
            assertThatThrownBy(() -> unwritable.update(Futex.Op.ADD, 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("read and written");
            assertThatThrownBy(() -> unwritable.compareAndExchange(0, 1)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> one.wakeOp(1, unwritable, 1, Futex.Op.ADD, 1, Futex.Compare.EQ, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("or neither");
            assertThat(unwritable.await(0, Duration.ofMillis(1))).isFalse(); // reading is enough to sleep
            // Seen as memory that Java may write, it is the kernel that knows: bug row 37.
            Futex pretended = Futex.at(MemorySegment.ofAddress(page.address()).reinterpret(4), 0, true);
            assertThatThrownBy(() -> pretended.update(Futex.Op.ADD, 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("read and written");
            assertThatThrownBy(() -> pretended.compareAndExchange(0, 1)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> Futex.at(memory, 0, true).wakeOp(1, pretended, 1, Futex.Op.ADD, 1, Futex.Compare.EQ, 0))
                    .isInstanceOf(IllegalStateException.class);
        }
        Arena closed = Arena.ofShared();
        Futex gone = Futex.at(closed.allocate(4, 4), 0);
        closed.close();
        assertThatThrownBy(() -> gone.await(0, Duration.ofMillis(1))).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> Futex.awaitAny(List.of(new Futex.Awaited(gone, 0)), Duration.ofMillis(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(() -> gone.update(Futex.Op.ADD, 1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> Futex.at(MemorySegment.ofAddress(4096).reinterpret(4), 0).update(Futex.Op.ADD, 1))
                .isInstanceOf(IllegalStateException.class);
    }
}
