// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** One lock object at a time, every backend and layout. */
class QSpinLockTest {
    private static final long PROMPT = 500; // ms, for a timeout or an interruption

    static Stream<Arguments> kinds() {
        List<Arguments> all = new ArrayList<>();
        for (Backend b : Backend.values()) {
            for (Layout l : Layout.values()) {
                all.add(Arguments.of(b, l));
            }
        }
        return all.stream();
    }

    private static QSpinLock make(Backend backend, Layout layout) {
        return QSpinLock.builder().backend(backend).layout(layout).name("orders").allocate();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void tryAndState(Backend backend, Layout layout) throws Exception {
        QSpinLock lock = make(backend, layout);
        assertThat(lock.isLocked()).isFalse();
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.isLocked()).isTrue();
        assertThat(lock.isContended()).isFalse();
        assertThat(lock.tryLock()).isFalse();
        assertThat(lock.tryLock(0, TimeUnit.SECONDS)).isFalse();
        assertThat(lock.tryLock(-1, TimeUnit.SECONDS)).isFalse();
        assertThat(lock.toString()).isEqualTo("QSpinLock[orders, " + layout + ", " + backend + ", locked]");
        lock.unlock();
        assertThat(lock.toString()).contains("free");
        lock.lock(LockThread.current());
        assertThat(lock.tryLock(20, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(lock.isContended()).isFalse();
        lock.unlock();
        lock.lockInterruptibly();
        lock.unlock();
        assertThat(lock.tryLock(1, TimeUnit.DAYS)).isTrue();
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void anUnlockOfAFreeLockSaysSoAndDoesNoHarm(Backend backend, Layout layout) {
        QSpinLock pooled = make(backend, layout);
        try (Arena arena = Arena.ofShared()) {
            QSpinLock placed = QSpinLock.builder().backend(backend).layout(layout).name("orders").at(arena.allocate(64, 64), 0);
            for (QSpinLock lock : new QSpinLock[] {pooled, placed}) {
                if (layout == Layout.WIDE) {
                    lock.unlock();
                } else {
                    assertThatThrownBy(lock::unlock)
                            .isInstanceOf(IllegalMonitorStateException.class)
                            .hasMessage(Thread.currentThread().getName() + " unlocks \"orders\", which nobody holds.");
                }
                assertThat(lock.tryLock()).isTrue();
                lock.unlock();
                assertThat(lock.toString()).contains("free");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aWordThatNoLockCanBeIsNotTakenForAClosedDomain(Backend backend, Layout layout) {
        if (layout == Layout.WIDE) {
            return; // its unlock stores a constant
        }
        for (WaitPolicy policy : WaitPolicy.values()) {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment word = arena.allocate(64, 64);
                QSpinLock lock = QSpinLock.builder().backend(backend).layout(layout).policy(policy).name("orders").at(word, 0);
                for (int broken : new int[] {-1, -2, 3, 0x7fffffff}) {
                    word.set(ValueLayout.JAVA_INT, 0, broken);
                    for (ThrowingCallable call : new ThrowingCallable[] {
                        lock::lock, lock::tryLock, lock::lockInterruptibly, () -> lock.tryLock(1, TimeUnit.MILLISECONDS)
                    }) {
                        assertThatThrownBy(call)
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("\"orders\" cannot be locked: its word is 0x")
                                .hasMessageContaining("unlocked more often than locked");
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aRepeatedTryTakesALockWhoseReservationNobodyUses(Backend backend, Layout layout) throws InterruptedException {
        // Never freed: an address that another round had could be remembered as reserved since long ago.
        MemorySegment place = Arena.global().allocate(64, 64);
        QSpinLock lock = QSpinLock.builder().backend(backend).layout(layout).at(place, 0);
        lock.word.set(ValueLayout.JAVA_INT, layout == Layout.WIDE ? 4 : 0, Layouts.Q_PENDING); // its owner was killed
        assertThat(lock.tryLock()).isFalse();
        Eventually.until("a void reservation", lock::tryLock);
        assertThat(lock.isLocked()).isTrue();
        assertThat(lock.isContended()).isFalse();
        lock.unlock();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aTimedWaitEndsInTime(Backend backend, Layout layout) throws Exception {
        for (WaitPolicy policy : WaitPolicy.values()) {
            for (boolean virtual : new boolean[] {false, true}) {
                QSpinLock lock = QSpinLock.builder().backend(backend).layout(layout).policy(policy).allocate();
                lock.lock();
                Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
                Promptly.within(PROMPT, () -> {
                    long[] took = {0};
                    Eventually.join(kind.start(() -> {
                        long start = System.nanoTime();
                        try {
                            assertThat(lock.tryLock(25, TimeUnit.MILLISECONDS)).isFalse();
                            took[0] = System.nanoTime() - start;
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        }
                    }));
                    assertThat(took[0]).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(25));
                    return took[0];
                });
                lock.unlock();
                assertThat(lock.isContended()).isFalse();
                assertThat(lock.tryLock()).isTrue();
                lock.unlock();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void anInterruptedWaiterLeaves(Backend backend, Layout layout) throws Exception {
        for (boolean timed : new boolean[] {false, true}) {
            for (boolean virtual : new boolean[] {false, true}) {
                QSpinLock lock = make(backend, layout);
                lock.lock();
                Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
                Promptly.within(PROMPT, () -> {
                    AtomicBoolean interrupted = new AtomicBoolean();
                    Thread waiter = kind.start(() -> {
                        try {
                            if (timed) {
                                lock.tryLock(1, TimeUnit.HOURS);
                            } else {
                                lock.lockInterruptibly();
                            }
                        } catch (InterruptedException e) {
                            interrupted.set(!Thread.currentThread().isInterrupted());
                        }
                    });
                    Eventually.asleep(lock);
                    long start = System.nanoTime();
                    waiter.interrupt();
                    Eventually.join(waiter);
                    assertThat(interrupted).isTrue();
                    return System.nanoTime() - start;
                });
                lock.unlock();
                assertThat(lock.isContended()).isFalse();
                assertThat(lock.tryLock()).isTrue();
                lock.unlock();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void lockKeepsAnInterruptForLater(Backend backend, Layout layout) {
        for (boolean virtual : new boolean[] {false, true}) {
            QSpinLock lock = make(backend, layout);
            lock.lock();
            AtomicBoolean kept = new AtomicBoolean();
            Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
            Thread waiter = kind.start(() -> {
                lock.lock();
                kept.set(Thread.currentThread().isInterrupted());
                lock.unlock();
            });
            Eventually.asleep(lock);
            waiter.interrupt();
            lock.unlock();
            Eventually.join(waiter);
            assertThat(kept).isTrue();
        }
    }

    @Test
    void anInterruptedThreadDoesNotEvenTry() {
        QSpinLock lock = QSpinLock.allocate();
        Thread.currentThread().interrupt();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        Thread.currentThread().interrupt();
        lock.lock();
        assertThat(Thread.interrupted()).isTrue();
        lock.unlock();
    }

    /** Closes an arena between another thread's release and its look at the queue word; arguments: backend, layout. */
    static final class ClosedBehindTheRelease {
        public static void main(String[] arguments) {
            AtomicReference<QSpinLock> handed = new AtomicReference<>();
            AtomicBoolean stop = new AtomicBoolean();
            Thread other = Thread.ofPlatform().start(() -> {
                while (!stop.get()) {
                    QSpinLock lock = handed.getAndSet(null);
                    if (lock != null) {
                        lock.unlock();
                    }
                }
            });
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
            while (System.nanoTime() - end < 0 && other.isAlive()) {
                Arena arena = Arena.ofShared();
                QSpinLock lock = QSpinLock.builder()
                        .backend(Backend.valueOf(arguments[0]))
                        .layout(Layout.valueOf(arguments[1]))
                        .at(arena.allocate(8, 8), 0);
                MemorySegment word = lock.word;
                lock.lock();
                handed.set(lock);
                while ((int) Words.INT.getVolatile(word, 0L) != 0 && other.isAlive()) {
                    Thread.onSpinWait();
                }
                arena.close();
            }
            stop.set(true);
            System.out.println("done");
        }
    }

    /** Such an unlock threw once. Interpreted, so that the gap is wide. */
    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"WIDE", "WORD"})
    void anUnlockThatHasReleasedNeverThrows(Layout layout) throws Exception {
        Child.Result r = Child.running(ClosedBehindTheRelease.class)
                .with("-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,io.panalock.Segment*::unlock")
                .arguments(Backend.HYBRID, layout)
                .run();
        assertThat(r.output()).isEqualToIgnoringWhitespace("done");
    }

    @Test
    void defaultsOfThePoolAndElsewhere() {
        QSpinLock pool = QSpinLock.allocate();
        assertThat(pool.layout()).isEqualTo(Layout.WIDE);
        assertThat(pool.backend()).isEqualTo(Backend.HYBRID);
        assertThat(pool.policy()).isEqualTo(WaitPolicy.SPIN_THEN_PARK);
        assertThat(pool.domain()).isSameAs(LockDomain.ofDefault());
        assertThat(pool.name()).startsWith("lock at 0x");
        assertThat(pool.poolIndex()).isNotNegative();
        QSpinLock there = QSpinLock.at(Arena.ofAuto().allocate(64), 12);
        assertThat(there.layout()).isEqualTo(Layout.WORD);
        assertThatThrownBy(there::poolIndex).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void thePoolsLocksDoNotOverlap() {
        QSpinLock a = QSpinLock.allocate();
        QSpinLock b = QSpinLock.allocate();
        a.lock();
        assertThat(b.tryLock()).isTrue();
        b.unlock();
        a.unlock();
        QSpinLock again = QSpinLock.builder().existing(a.poolIndex());
        again.lock();
        assertThat(a.isLocked()).isTrue();
        again.unlock();
    }

    @Test
    void theWordIsTheOneThatIsDocumented() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(64, 64);
            QSpinLock.at(s, 8).lock();
            assertThat(s.get(ValueLayout.JAVA_INT, 8)).isEqualTo(1);
            QSpinLock.builder().layout(Layout.BYTE).at(s, 12).lock();
            assertThat(s.get(ValueLayout.JAVA_INT, 12)).isEqualTo(1);
            QSpinLock.builder().layout(Layout.WIDE).at(s, 16).lock();
            assertThat(s.get(ValueLayout.JAVA_INT, 16)).isEqualTo(1);
            assertThat(s.get(ValueLayout.JAVA_INT, 20)).isZero();
        }
    }

    @Test
    void countersCountWaitsOnly() throws Exception {
        QSpinLock lock = QSpinLock.builder().counting(true).allocate();
        lock.lock();
        assertThat(lock.counters().contended()).isZero();
        Thread waiter = Thread.ofPlatform().start(() -> {
            lock.lock();
            lock.unlock();
        });
        Eventually.asleep(lock);
        lock.unlock();
        Eventually.join(waiter);
        lock.lock();
        assertThat(lock.tryLock(5, TimeUnit.MILLISECONDS)).isFalse();
        lock.unlock();
        assertThat(lock.counters().contended()).isEqualTo(1);
        assertThat(lock.counters().abandoned()).isEqualTo(1);
        assertThat(lock.counters().longestNanos()).isGreaterThanOrEqualTo(5_000_000);
        assertThat(lock.counters().waitedNanos()).isGreaterThanOrEqualTo(lock.counters().longestNanos());
        assertThatThrownBy(QSpinLock.allocate()::counters).hasMessageContaining("counting(true)");
    }
}
