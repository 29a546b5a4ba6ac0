// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a user gets to read. */
class BadInputTest {
    private static QSpinLock.Builder of(Backend backend) {
        return QSpinLock.builder().backend(backend);
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void nullSegment(Backend backend) {
        assertThatThrownBy(() -> of(backend).at(null, 0))
                .isInstanceOf(NullPointerException.class)
                .hasMessageContaining("a lock needs native memory");
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void heapSegment(Backend backend) {
        assertThatThrownBy(() -> of(backend).at(MemorySegment.ofArray(new int[4]), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a lock needs native memory; this segment is on the heap. Allocate it from an Arena.");
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void misaligned(Backend backend) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(64, 64);
            assertThatThrownBy(() -> of(backend).at(s, 2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("WORD lock needs an address divisible by 4; offset 2");
            assertThatThrownBy(() -> of(backend).layout(Layout.WIDE).at(s, 4))
                    .hasMessageContaining("WIDE lock needs an address divisible by 8; offset 4");
            assertThatThrownBy(() -> of(backend).at(s.asSlice(1), 0)).hasMessageContaining("divisible by 4");
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void tooShort(Backend backend) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(4, 8);
            assertThat(of(backend).at(s, 0).tryLock()).isTrue();
            assertThatThrownBy(() -> of(backend).layout(Layout.WIDE).at(s, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a WIDE lock needs 8 bytes; at offset 0 this segment of 4 bytes does not have them.");
            for (long offset : new long[] {-4, 4, Long.MAX_VALUE, Long.MIN_VALUE}) {
                assertThatThrownBy(() -> of(backend).at(s, offset)).hasMessageContaining("at offset " + offset);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void readOnly(Backend backend) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(64).asReadOnly();
            assertThatThrownBy(() -> of(backend).at(s, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("read-only");
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void closedBeforehand(Backend backend) {
        Arena arena = Arena.ofShared();
        MemorySegment s = arena.allocate(64);
        arena.close();
        assertThatThrownBy(() -> of(backend).at(s, 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("arena is closed");
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void everyCallThrowsOnceTheArenaIsClosed(Backend backend) {
        for (Layout layout : Layout.values()) {
            Arena arena = Arena.ofShared();
            QSpinLock lock = QSpinLock.builder().backend(backend).layout(layout).at(arena.allocate(64, 64), 0);
            lock.lock();
            lock.unlock();
            lock.lock();
            arena.close();
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(lock::tryLock).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(lock::isLocked).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(lock::isContended).isInstanceOf(IllegalStateException.class);
            assertThat(lock.toString()).contains("closed");
        }
    }

    /** A native wait keeps its arena open: closing fails, and succeeds when the waiter is gone. */
    @ParameterizedTest
    @EnumSource(
            value = Backend.class,
            names = {"HYBRID", "FFM", "FFM_CRITICAL", "JNI"})
    void anArenaCannotBeClosedUnderANativeWaiter(Backend backend) {
        Arena arena = Arena.ofShared();
        QSpinLock lock = QSpinLock.builder().backend(backend).at(arena.allocate(64, 64), 0);
        lock.lock();
        Thread waiter = Thread.ofPlatform().start(() -> {
            lock.lock();
            lock.unlock();
        });
        Eventually.asleep(lock);
        assertThatThrownBy(arena::close).isInstanceOf(IllegalStateException.class);
        lock.unlock();
        Eventually.join(waiter);
        arena.close();
    }

    /** Sleepers in Java do not keep the arena open; they notice, all of them. */
    @Test
    void waitersInJavaNoticeThatTheirArenaIsClosed() {
        Arena arena = Arena.ofShared();
        QSpinLock lock = QSpinLock.at(arena.allocate(64, 64), 0);
        lock.lock();
        List<Throwable> thrown = java.util.Collections.synchronizedList(new ArrayList<>());
        Thread[] waiters = new Thread[40];
        for (int i = 0; i < waiters.length; i++) {
            waiters[i] = Thread.ofVirtual().start(() -> {
                try {
                    lock.lock();
                } catch (IllegalStateException e) {
                    thrown.add(e);
                }
            });
        }
        Eventually.asleep(lock);
        arena.close();
        Eventually.join(waiters);
        assertThat(thrown).hasSize(waiters.length);
    }

    @Test
    void otherThreadsOfAConfinedArena() {
        try (Arena arena = Arena.ofConfined()) {
            QSpinLock lock = QSpinLock.at(arena.allocate(64), 0);
            lock.lock();
            lock.unlock();
            Throwable[] thrown = new Throwable[1];
            Eventually.join(Thread.ofPlatform().start(() -> {
                try {
                    lock.lock();
                } catch (RuntimeException e) {
                    thrown[0] = e;
                }
            }));
            assertThat(thrown[0]).isInstanceOf(WrongThreadException.class);
        }
    }

    @Test
    void noConditions() {
        assertThatThrownBy(QSpinLock.allocate()::newCondition)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("no conditions")
                .hasMessageContaining("ReentrantLock");
    }

    @Test
    void anotherThreadsHandle() throws Exception {
        QSpinLock lock = QSpinLock.allocate();
        LockThread[] other = new LockThread[1];
        Eventually.join(Thread.ofPlatform().name("owner").start(() -> other[0] = LockThread.current()));
        assertThatThrownBy(() -> lock.lock(other[0]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("handle of owner");
        LockDomain domain = LockDomain.ofPrivate();
        assertThatThrownBy(() -> lock.lock(LockThread.current(domain)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("LockThread.current(lock.domain())");
    }

    @Test
    void sizesOutOfRange() {
        assertThatThrownBy(() -> LockDomain.builder().slots(1)).hasMessage("slots: 1 is not a number from 2 to 16384");
        assertThatThrownBy(() -> LockDomain.builder().slots(16385)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> LockDomain.builder().locks(0))
                .hasMessage("locks: 0 is not a number from 1 to 1048576");
    }
}
