// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every unlocker wakes every kind of sleeper: those in C, platform threads, and virtual threads, parked in Java. */
class SleepersTest {
    /** C beside the backends of Java. */
    enum Unlocker {
        C,
        HYBRID,
        FFM,
        FFM_CRITICAL,
        JNI,
        PURE;

        void unlock(QSpinLock lock) {
            if (this != C) {
                QSpinLock.builder()
                        .layout(lock.layout)
                        .backend(Backend.valueOf(name()))
                        .at(lock.word, 0)
                        .unlock();
                return;
            }
            MemorySegment service = panalock_h.pl_domain_service(panalock_h.pl_domain_default());
            int result = switch (lock.layout) {
                case WORD -> panalock_h.pl_qspin_unlock(service, lock.word);
                case BYTE -> panalock_h.pl_qspin_byte_unlock(service, lock.word);
                case WIDE -> panalock_h.pl_qspin_wide_unlock(service, lock.word);
            };
            assertThat(result).isZero();
        }
    }

    enum Sleeper {
        C,
        PLATFORM,
        PLATFORM_JNI,
        PLATFORM_PURE,
        VIRTUAL,
        TIMED,
        VIRTUAL_TIMED;

        Thread start(QSpinLock lock, Runnable then) {
            Thread.Builder kind = name().startsWith("VIRTUAL") ? Thread.ofVirtual() : Thread.ofPlatform();
            return kind.start(() -> {
                acquire(lock);
                then.run();
            });
        }

        private void acquire(QSpinLock lock) {
            switch (this) {
                case C -> {
                    MemorySegment self = panalock_h.pl_self();
                    int result = switch (lock.layout) {
                        case WORD -> panalock_h.pl_qspin_lock(self, lock.word);
                        case BYTE -> panalock_h.pl_qspin_byte_lock(self, lock.word);
                        case WIDE -> panalock_h.pl_qspin_wide_lock(self, lock.word);
                    };
                    assertThat(result).isZero();
                }
                case TIMED, VIRTUAL_TIMED -> {
                    try {
                        assertThat(lock.tryLock(1, java.util.concurrent.TimeUnit.MINUTES)).isTrue();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                }
                case PLATFORM_JNI, PLATFORM_PURE ->
                    QSpinLock.builder()
                            .layout(lock.layout)
                            .backend(this == PLATFORM_JNI ? Backend.JNI : Backend.PURE)
                            .at(lock.word, 0)
                            .lock();
                default -> lock.lock();
            }
        }
    }

    static Stream<Arguments> all() {
        List<Arguments> all = new ArrayList<>();
        for (Unlocker u : Unlocker.values()) {
            for (Sleeper s : Sleeper.values()) {
                for (Layout l : Layout.values()) {
                    all.add(Arguments.of(u, s, l));
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("all")
    void areWoken(Unlocker unlocker, Sleeper sleeper, Layout layout) {
        try (Arena arena = Arena.ofShared()) {
            QSpinLock lock = QSpinLock.builder().layout(layout).at(arena.allocate(64, 64), 0);
            for (int round = 0; round < 3; round++) {
                AtomicInteger acquired = new AtomicInteger();
                lock.lock();
                Thread first = sleeper.start(lock, () -> {
                    acquired.incrementAndGet();
                    unlocker.unlock(lock);
                });
                Eventually.asleep(lock);
                Thread second = sleeper.start(lock, () -> {
                    acquired.incrementAndGet();
                    unlocker.unlock(lock);
                });
                assertThat(acquired).hasValue(0);
                unlocker.unlock(lock);
                Eventually.join(first, second);
                assertThat(acquired).hasValue(2);
                assertThat(lock.isLocked()).isFalse();
            }
        }
    }
}
