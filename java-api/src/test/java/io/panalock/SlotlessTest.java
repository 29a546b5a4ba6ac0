// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** More waiting threads than slots: those without one get the lock too. */
class SlotlessTest {
    private static final int SLOTS = 4;
    private static final int THREADS = 64;

    /** Every {@code virtualEvery}th thread is a virtual one. */
    private static void hammer(List<QSpinLock> locks, int threads, int rounds, int virtualEvery) {
        long[] counter = {0};
        boolean[] inside = {false};
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            QSpinLock lock = locks.get(i % locks.size());
            Runnable work = () -> {
                try {
                    for (int n = 0; n < rounds; n++) {
                        lock.lock();
                        try {
                            if (inside[0]) {
                                throw new AssertionError("two inside");
                            }
                            inside[0] = true;
                            counter[0]++;
                            if (n % 16 == 0) {
                                LockSupport.parkNanos(20_000); // so that others come to wait
                            }
                            inside[0] = false;
                        } finally {
                            lock.unlock();
                        }
                    }
                } catch (Throwable e) {
                    failures.add(e);
                }
            };
            boolean virtual = virtualEvery != 0 && i % virtualEvery == 0;
            all[i] = virtual
                    ? Thread.ofVirtual().unstarted(work)
                    : Thread.ofPlatform().stackSize(1 << 18).unstarted(work);
        }
        for (Thread t : all) {
            t.start();
        }
        Eventually.join(all);
        assertThat(failures).isEmpty();
        assertThat(counter[0]).isEqualTo((long) threads * rounds);
        assertThat(locks.getFirst().isLocked()).isFalse();
        assertThat(locks.getFirst().isContended()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void sixtyFourThreadsExcludeEachOtherWithThreeSlots(Backend backend) {
        for (Layout layout : Layout.values()) {
            for (WaitPolicy policy : WaitPolicy.values()) {
                try (LockDomain domain = LockDomain.builder().slots(SLOTS).create()) {
                    QSpinLock lock = QSpinLock.builder()
                            .domain(domain)
                            .layout(layout)
                            .backend(backend)
                            .policy(policy)
                            .allocate();
                    hammer(List.of(lock), THREADS, policy == WaitPolicy.SPIN ? 20 : 100, 0);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Layout.class)
    void allBackendsAndBothKindsOfThreadMix(Layout layout) {
        try (LockDomain domain = LockDomain.builder().slots(SLOTS).create();
                Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(64, 64);
            List<QSpinLock> locks = new ArrayList<>();
            for (Backend b : Backend.values()) {
                locks.add(QSpinLock.builder().domain(domain).layout(layout).backend(b).at(memory, 0));
            }
            hammer(locks, THREADS, 100, 3);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Backend.class,
            names = {"HYBRID", "JNI", "PURE"})
    void twoThousandThreads(Backend backend) {
        try (LockDomain domain = LockDomain.builder().slots(256).create()) {
            QSpinLock lock =
                    QSpinLock.builder().domain(domain).backend(backend).allocate();
            hammer(List.of(lock), 2000, 3, 0);
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void aWaiterWithoutASlotCanBeInterruptedAndTimesOut(Backend backend) throws Exception {
        try (LockDomain domain = LockDomain.builder().slots(2).create()) {
            QSpinLock lock =
                    QSpinLock.builder().domain(domain).backend(backend).allocate();
            lock.lock();
            Thread withSlot = Thread.ofPlatform().start(() -> {
                lock.lock();
                lock.unlock();
            });
            Eventually.asleep(lock);
            assertThat(lock.tryLock(3, TimeUnit.MILLISECONDS)).isFalse();
            boolean[] interrupted = {false};
            Thread without = Thread.ofPlatform().start(() -> {
                try {
                    lock.lockInterruptibly();
                } catch (InterruptedException e) {
                    interrupted[0] = true;
                }
            });
            without.interrupt();
            Eventually.join(without);
            assertThat(interrupted[0]).isTrue();
            Thread keeps = Thread.ofPlatform().start(() -> { // an interruption of lock() is kept
                Thread.currentThread().interrupt();
                lock.lock();
                interrupted[0] = !Thread.interrupted();
                lock.unlock();
            });
            lock.unlock();
            Eventually.join(withSlot, keeps);
            assertThat(interrupted[0]).isFalse();
        }
    }

    @Test
    void debugChecksNeedASlot() {
        try (LockDomain domain =
                LockDomain.builder().slots(2).checks(true).create()) {
            QSpinLock lock = QSpinLock.builder().domain(domain).allocate();
            lock.lock(); // has the only slot
            List<Throwable> thrown = new ArrayList<>();
            Eventually.join(Thread.ofPlatform().start(() -> {
                try {
                    lock.lock();
                } catch (IllegalStateException e) {
                    thrown.add(e);
                }
            }));
            assertThat(thrown).singleElement().extracting(Throwable::getMessage).asString().contains("slots(n)");
            lock.unlock();
        }
    }

    // ---- the default domain ----

    static final class DefaultSlots {
        public static void main(String[] arguments) {
            for (int i = 0; i < 2; i++) { // the second time says the same
                try {
                    System.out.println(QSpinLock.builder()
                            .backend(Backend.valueOf(arguments[0]))
                            .allocate()
                            .domain()
                            .slots());
                } catch (IllegalArgumentException e) {
                    System.out.println(e.getMessage());
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"HYBRID,''", "PURE,''", "PURE,none"})
    void propertySizesTheDefaultDomain(String backend, String library) throws Exception {
        String with = "-Dpanalock.library=" + library;
        assertThat(output(backend, with, "-Dpanalock.slots=50")).isEqualTo("50\n50\n");
        assertThat(output(backend, with)).isEqualTo("1024\n1024\n");
        for (String bad : List.of("1", "16385", "-3", "many", "")) {
            assertThat(output(backend, with, "-Dpanalock.slots=" + bad))
                    .isEqualTo(("-Dpanalock.slots=" + bad + ": not a number from 2 to 16384.\n").repeat(2));
        }
    }

    private static String output(String backend, String... options) throws Exception {
        Child.Result r = Child.running(DefaultSlots.class)
                .with(options)
                .arguments(backend)
                .run();
        assertThat(r.exitCode()).isZero();
        return r.output();
    }

    @Test
    void slotsOutOfRangeAreRefused() {
        for (int bad : new int[] {-1, 0, 1, 16385}) {
            assertThatThrownBy(() -> LockDomain.builder().slots(bad))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("2 to 16384");
        }
    }
}
