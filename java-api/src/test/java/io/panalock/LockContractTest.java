// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What {@link Lock} and {@link Condition} promise; ReentrantLock passes the same tests. */
class LockContractTest {
    private static final long LONG = 60_000; // ms: a wait that is not meant to end by time

    /** A lock and the kind of thread that uses it. */
    record Kind(Lock lock, boolean virtual) {
        Thread start(Body body) {
            return (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(() -> {
                try {
                    body.run();
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
        }
    }

    @FunctionalInterface
    interface Body {
        void run() throws Exception;
    }

    static Stream<Arguments> kinds() {
        List<Arguments> all = new ArrayList<>();
        for (boolean virtual : new boolean[] {false, true}) {
            String threads = virtual ? ", virtual threads" : "";
            all.add(Arguments.of(Named.of("ReentrantLock" + threads, new Kind(new ReentrantLock(), virtual))));
            for (Backend b : Backend.values()) {
                OsqMutex mutex = OsqMutex.builder().backend(b).allocate();
                all.add(Arguments.of(Named.of("OsqMutex " + b + threads, new Kind(mutex, virtual))));
                OsqMutex there = OsqMutex.builder().backend(b).at(Arena.ofShared().allocate(64, 64), 8);
                all.add(Arguments.of(Named.of("OsqMutex " + b + " in an arena" + threads, new Kind(there, virtual))));
            }
            OsqMutex sleepy = OsqMutex.builder().spinning(false).allocate();
            all.add(Arguments.of(Named.of("OsqMutex that does not spin" + threads, new Kind(sleepy, virtual))));
        }
        return all.stream();
    }

    private static boolean waits(Thread t) {
        return t.getState() == Thread.State.WAITING || t.getState() == Thread.State.TIMED_WAITING;
    }

    // ---- Lock ----

    @ParameterizedTest
    @MethodSource("kinds")
    void oneThreadAtATime(Kind kind) {
        Lock lock = kind.lock();
        long[] counter = {0};
        int rounds = 2_000;
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int way = i;
            threads[i] = kind.start(() -> {
                for (int n = 0; n < rounds; n++) {
                    switch (way) {
                        case 0 -> lock.lock();
                        case 1 -> lock.lockInterruptibly();
                        case 2 -> assertThat(lock.tryLock(LONG, TimeUnit.MILLISECONDS)).isTrue();
                        default -> {
                            while (!lock.tryLock()) {
                                Thread.yield();
                            }
                        }
                    }
                    try {
                        counter[0]++;
                    } finally {
                        lock.unlock();
                    }
                }
            });
        }
        Eventually.join(threads);
        assertThat(counter[0]).isEqualTo((long) rounds * threads.length);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void tryLockDoesNotWait(Kind kind) throws Exception {
        Lock lock = kind.lock();
        lock.lock();
        Eventually.join(kind.start(() -> {
            assertThat(lock.tryLock()).isFalse();
            assertThat(lock.tryLock(0, TimeUnit.SECONDS)).isFalse();
            assertThat(lock.tryLock(-1, TimeUnit.SECONDS)).isFalse();
            assertThat(lock.tryLock(5, TimeUnit.MILLISECONDS)).isFalse();
        }));
        lock.unlock();
        Eventually.join(kind.start(() -> {
            assertThat(lock.tryLock()).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(LONG, TimeUnit.MILLISECONDS)).isTrue();
            lock.unlock();
        }));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void interruptionEndsInterruptibleWaitsAndIsKeptByOthers(Kind kind) {
        Lock lock = kind.lock();
        AtomicInteger ended = new AtomicInteger();
        lock.lock();
        List<Thread> threads = new ArrayList<>();
        threads.add(kind.start(() -> {
            assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
            ended.incrementAndGet();
        }));
        threads.add(kind.start(() -> {
            assertThatThrownBy(() -> lock.tryLock(LONG, TimeUnit.MILLISECONDS)).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
            ended.incrementAndGet();
        }));
        Thread stays = kind.start(() -> {
            lock.lock();
            assertThat(Thread.interrupted()).isTrue();
            lock.unlock();
        });
        threads.forEach(Thread::interrupt);
        stays.interrupt();
        Eventually.until("both interrupted", () -> ended.get() == 2);
        lock.unlock();
        Eventually.join(stays);
        Eventually.join(threads.toArray(Thread[]::new));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void interruptedThreadDoesNotBeginToWait(Kind kind) {
        Lock lock = kind.lock();
        Eventually.join(kind.start(() -> {
            Thread.currentThread().interrupt();
            assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
            Thread.currentThread().interrupt();
            assertThat(lock.tryLock()).isTrue();
            assertThat(Thread.interrupted()).isTrue();
            lock.unlock();
        }));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void onlyTheOwnerUnlocks(Kind kind) {
        Lock lock = kind.lock();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        Eventually.join(
                kind.start(() -> assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class)));
        Eventually.join(kind.start(() -> assertThat(lock.tryLock()).isFalse()));
        lock.unlock();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void whatTheLastOwnerDidIsSeen(Kind kind) {
        Lock lock = kind.lock();
        int[] plain = {0, 0};
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = kind.start(() -> {
                for (int n = 0; n < 5_000; n++) {
                    lock.lock();
                    assertThat(plain[1]).isEqualTo(plain[0]);
                    plain[0]++;
                    plain[1]++;
                    lock.unlock();
                }
            });
        }
        Eventually.join(threads);
        assertThat(plain[0]).isEqualTo(10_000);
    }

    // ---- Condition ----

    @ParameterizedTest
    @MethodSource("kinds")
    void conditionsBelongToTheOwner(Kind kind) {
        Condition condition = kind.lock().newCondition();
        assertThatThrownBy(condition::signal).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(condition::signalAll).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(condition::await).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(condition::awaitUninterruptibly).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> condition.awaitNanos(1)).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> condition.await(1, TimeUnit.SECONDS)).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> condition.awaitUntil(new Date())).isInstanceOf(IllegalMonitorStateException.class);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void conditionReleasesTheLockAndTakesItAgain(Kind kind) {
        Lock lock = kind.lock();
        Condition condition = lock.newCondition();
        boolean[] go = {false};
        Thread waiter = kind.start(() -> {
            lock.lock();
            while (!go[0]) {
                condition.await();
            }
            assertThatThrownBy(() -> {
                        Thread.currentThread().interrupt();
                        condition.await();
                    })
                    .isInstanceOf(InterruptedException.class);
            lock.unlock();
        });
        Eventually.until("it waits", () -> waits(waiter));
        lock.lock(); // it is to be had
        go[0] = true;
        condition.signal();
        lock.unlock();
        Eventually.join(waiter);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void signalWakesOneInOrderAndSignalAllTheRest(Kind kind) {
        Lock lock = kind.lock();
        Condition condition = lock.newCondition();
        List<Integer> order = new ArrayList<>();
        List<Thread> waiters = new ArrayList<>();
        AtomicInteger waiting = new AtomicInteger();
        for (int i = 0; i < 4; i++) {
            int me = i;
            Thread t = kind.start(() -> {
                lock.lock();
                waiting.incrementAndGet();
                condition.awaitUninterruptibly();
                order.add(me);
                lock.unlock();
            });
            waiters.add(t);
            int others = i;
            Eventually.until("it waits", () -> waiting.get() == others + 1 && waits(t));
            lock.lock(); // the wait has released it
            lock.unlock();
        }
        for (int i = 0; i < 2; i++) {
            lock.lock();
            condition.signal();
            lock.unlock();
            Eventually.join(waiters.get(i));
        }
        lock.lock();
        assertThat(order).containsExactly(0, 1);
        condition.signalAll();
        lock.unlock();
        Eventually.join(waiters.toArray(Thread[]::new));
        assertThat(order).containsExactlyInAnyOrder(0, 1, 2, 3);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void timedWaitsEnd(Kind kind) {
        Lock lock = kind.lock();
        Condition condition = lock.newCondition();
        Eventually.join(kind.start(() -> {
            lock.lock();
            try {
                assertThat(condition.awaitNanos(TimeUnit.MILLISECONDS.toNanos(2))).isNotPositive();
                assertThat(condition.awaitNanos(-5)).isNotPositive();
                assertThat(condition.await(2, TimeUnit.MILLISECONDS)).isFalse();
                assertThat(condition.await(0, TimeUnit.MILLISECONDS)).isFalse();
                assertThat(condition.awaitUntil(new Date(System.currentTimeMillis() + 2))).isFalse();
                assertThat(condition.awaitUntil(new Date(0))).isFalse();
            } finally {
                lock.unlock();
            }
        }));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void signalledTimedWaitsSaySo(Kind kind) {
        Lock lock = kind.lock();
        Condition condition = lock.newCondition();
        Thread[] waiters = {
            kind.start(() -> {
                lock.lock();
                assertThat(condition.awaitNanos(TimeUnit.MILLISECONDS.toNanos(LONG))).isPositive();
                lock.unlock();
            }),
            kind.start(() -> {
                lock.lock();
                assertThat(condition.await(LONG, TimeUnit.MILLISECONDS)).isTrue();
                lock.unlock();
            }),
            kind.start(() -> {
                lock.lock();
                assertThat(condition.awaitUntil(new Date(System.currentTimeMillis() + LONG))).isTrue();
                lock.unlock();
            })
        };
        Eventually.until("all wait", () -> {
            boolean all = true;
            for (Thread t : waiters) {
                all &= waits(t);
            }
            return all;
        });
        while (waiters[0].isAlive() || waiters[1].isAlive() || waiters[2].isAlive()) { // some may have waited for the lock
            lock.lock();
            condition.signalAll();
            lock.unlock();
            Thread.yield();
        }
        Eventually.join(waiters);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void interruptedWaitTakesTheLockAgain(Kind kind) {
        Lock lock = kind.lock();
        Condition condition = lock.newCondition();
        AtomicReference<Thread.State> state = new AtomicReference<>();
        Thread waiter = kind.start(() -> {
            lock.lock();
            assertThatThrownBy(condition::await).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
            lock.unlock(); // is its own
        });
        Eventually.until("it waits", () -> waits(waiter));
        lock.lock();
        waiter.interrupt();
        lock.unlock();
        Eventually.join(waiter);
        assertThat(state.get()).isNull();
    }

    /** A bounded buffer, as the documentation of Condition has it: every item arrives once. */
    @ParameterizedTest
    @MethodSource("kinds")
    void boundedBuffer(Kind kind) {
        Lock lock = kind.lock();
        Condition notFull = lock.newCondition();
        Condition notEmpty = lock.newCondition();
        ArrayDeque<Integer> items = new ArrayDeque<>();
        int each = 1_000;
        int room = 4;
        AtomicLong sum = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 3; t++) {
            threads.add(kind.start(() -> {
                for (int i = 1; i <= each; i++) {
                    lock.lock();
                    try {
                        while (items.size() == room) {
                            notFull.await();
                        }
                        items.add(i);
                        notEmpty.signal();
                    } finally {
                        lock.unlock();
                    }
                }
            }));
            threads.add(kind.start(() -> {
                for (int i = 1; i <= each; i++) {
                    lock.lock();
                    try {
                        while (items.isEmpty()) {
                            if (!notEmpty.await(1, TimeUnit.SECONDS)) {
                                continue;
                            }
                        }
                        sum.addAndGet(items.remove());
                        notFull.signal();
                    } finally {
                        lock.unlock();
                    }
                }
            }));
        }
        Eventually.join(threads.toArray(Thread[]::new));
        assertThat(sum.get()).isEqualTo(3L * each * (each + 1) / 2);
        assertThat(items).isEmpty();
    }
}
