// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Virtual threads never wait on their carriers. In a JVM with two carriers, since a failure is a hang. */
class VirtualThreadTest {
    private static final String[] TWO_CARRIERS = {
        "-Djdk.virtualThreadScheduler.parallelism=2", "-Djdk.virtualThreadScheduler.maxPoolSize=2", "-Xmx1g"
    };

    private static void assertEnds(Class<?> main, Object... arguments) throws Exception {
        Child.Result r = Child.running(main).with(TWO_CARRIERS).arguments(arguments).run();
        assertThat(r.output()).isEqualToIgnoringWhitespace("done");
        assertThat(r.exitCode()).isZero();
    }

    /** The holder is unmounted; as many others wait as there are carriers, and one more. */
    static final class CarriersPlusOne {
        public static void main(String[] arguments) throws Exception {
            for (Layout layout : Layout.values()) {
                QSpinLock lock = QSpinLock.builder()
                        .layout(layout)
                        .backend(Backend.valueOf(arguments[0]))
                        .policy(WaitPolicy.valueOf(arguments[1]))
                        .allocate();
                CountDownLatch held = new CountDownLatch(1);
                CountDownLatch release = new CountDownLatch(1);
                Thread holder = Thread.ofVirtual().start(() -> {
                    lock.lock();
                    held.countDown();
                    try {
                        release.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    lock.unlock();
                });
                held.await();
                Thread[] waiters = new Thread[3];
                for (int i = 0; i < waiters.length; i++) {
                    waiters[i] = Thread.ofVirtual().start(() -> {
                        lock.lock();
                        lock.unlock();
                    });
                }
                Thread.sleep(20);
                release.countDown();
                holder.join();
                for (Thread t : waiters) {
                    t.join();
                }
            }
            System.out.println("done");
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void oneMoreThanCarriers(Backend backend) throws Exception {
        assertEnds(CarriersPlusOne.class, backend, WaitPolicy.SPIN_THEN_PARK);
    }

    @ParameterizedTest
    @EnumSource(
            value = Backend.class,
            names = {"HYBRID", "PURE"})
    void oneMoreThanCarriersSpinning(Backend backend) throws Exception {
        assertEnds(CarriersPlusOne.class, backend, WaitPolicy.SPIN);
    }

    /**
     * One carrier, and nobody who leaves it of his own accord: virtual threads and platform threads take a lock back to back
     * until each has had it some times. Whoever is on the carrier and always finds the lock free must make room.
     */
    static final class BackToBack {
        private static final int TURNS = 20;

        public static void main(String[] arguments) throws Exception {
            QSpinLock lock = QSpinLock.builder()
                    .layout(Layout.valueOf(arguments[1]))
                    .backend(Backend.valueOf(arguments[0]))
                    .allocate();
            AtomicInteger hungry = new AtomicInteger(6);
            Thread[] threads = new Thread[hungry.get()];
            for (int i = 0; i < threads.length; i++) {
                Thread.Builder kind = i < 4 ? Thread.ofVirtual() : Thread.ofPlatform();
                threads[i] = kind.unstarted(() -> {
                    Thread.yield(); // so that all have begun
                    for (int turns = 1; hungry.get() != 0; turns++) {
                        lock.lock();
                        lock.unlock();
                        if (turns == TURNS) {
                            hungry.decrementAndGet();
                        }
                    }
                });
            }
            lock.lock(); // so that the first to come queue
            for (Thread t : threads) {
                t.start();
            }
            Eventually.until("all queue", () -> Thread.State.WAITING == threads[3].getState());
            lock.unlock();
            for (Thread t : threads) {
                t.join();
            }
            System.out.println("done");
        }
    }

    @ParameterizedTest
    @org.junit.jupiter.params.provider.CsvSource({"HYBRID, WIDE", "HYBRID, WORD", "PURE, WIDE", "JNI, BYTE", "FFM, WIDE"})
    void backToBackOnOneCarrier(Backend backend, Layout layout) throws Exception {
        Child.Result r = Child.running(BackToBack.class)
                .with("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1")
                .arguments(backend, layout)
                .within(60)
                .run();
        assertThat(r.output()).isEqualToIgnoringWhitespace("done");
        assertThat(r.exitCode()).isZero();
    }

    /** A thousand on two carriers; each sleeps while it holds the lock. */
    static final class Thousand {
        public static void main(String[] arguments) throws Exception {
            QSpinLock lock = QSpinLock.builder().backend(Backend.valueOf(arguments[0])).allocate();
            int[] inside = {0};
            AtomicInteger done = new AtomicInteger();
            Thread[] threads = new Thread[1000];
            for (int i = 0; i < threads.length; i++) {
                boolean blocking = i % 4 == 0;
                threads[i] = Thread.ofVirtual().start(() -> {
                    lock.lock();
                    inside[0]++;
                    try {
                        if (blocking) {
                            Thread.sleep(0, 200_000);
                        }
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    if (inside[0]-- != 1) {
                        throw new AssertionError("two inside");
                    }
                    lock.unlock();
                    done.incrementAndGet();
                });
            }
            for (Thread t : threads) {
                t.join();
            }
            System.out.println(done.get() == threads.length ? "done" : "only " + done);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Backend.class,
            names = {"HYBRID", "JNI", "PURE"})
    void aThousandAroundABlockingOperation(Backend backend) throws Exception {
        assertEnds(Thousand.class, backend);
    }

    /** A hundred thousand alive and waiting for one lock of a domain with 1,024 slots; then two locks, nested. */
    static final class HundredThousand {
        public static void main(String[] arguments) throws Exception {
            Backend backend = Backend.valueOf(arguments[0]);
            QSpinLock outer = QSpinLock.builder().backend(backend).allocate();
            QSpinLock inner = QSpinLock.builder().backend(backend).allocate();
            long[] counter = {0};
            CountDownLatch started = new CountDownLatch(100_000);
            outer.lock();
            Thread[] threads = new Thread[(int) started.getCount()];
            for (int i = 0; i < threads.length; i++) {
                boolean nested = i % 2 == 0;
                threads[i] = Thread.ofVirtual().unstarted(() -> {
                    started.countDown();
                    if (nested) {
                        outer.lock();
                    }
                    inner.lock();
                    counter[0]++;
                    inner.unlock();
                    if (nested) {
                        outer.unlock();
                    }
                });
            }
            for (Thread t : threads) {
                t.start();
            }
            started.await();
            outer.unlock();
            for (Thread t : threads) {
                t.join();
            }
            System.out.println(counter[0] == threads.length ? "done" : "lost some");
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Backend.class,
            names = {"HYBRID", "PURE"})
    void aHundredThousandAlive(Backend backend) throws Exception {
        assertEnds(HundredThousand.class, backend);
    }

    /** Many locks, few slots: waiters that find no slot still make progress, also when they hold what others wait for. */
    static final class FewSlots {
        public static void main(String[] arguments) throws Exception {
            LockDomain domain = LockDomain.builder().slots(4).create();
            QSpinLock[] locks = new QSpinLock[8];
            for (int i = 0; i < locks.length; i++) {
                locks[i] = QSpinLock.builder().domain(domain).allocate();
            }
            Thread[] threads = new Thread[400];
            for (int i = 0; i < threads.length; i++) {
                int first = i % (locks.length - 1);
                threads[i] = Thread.ofVirtual().start(() -> {
                    locks[first].lock();
                    Thread.yield();
                    locks[first + 1].lock();
                    Thread.yield();
                    locks[first + 1].unlock();
                    locks[first].unlock();
                });
            }
            for (Thread t : threads) {
                t.join();
            }
            System.out.println("done");
        }
    }

    @org.junit.jupiter.api.Test
    void fewerSlotsThanLocksWaitedFor() throws Exception {
        assertEnds(FewSlots.class);
    }
}
