// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.internal.Layouts;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_mutex;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What a mutex does beyond the contracts of Lock and Condition (LockContractTest). */
class OsqMutexTest {
    private static OsqMutex make(Backend backend) {
        return OsqMutex.builder().backend(backend).name("orders").allocate();
    }

    private static Thread named(String name, Runnable body) {
        return Thread.ofPlatform().name(name).start(body);
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void saysWhoHoldsItAndWhatWasWrong(Backend backend) {
        OsqMutex mutex = make(backend);
        assertThat(mutex.toString()).isEqualTo("OsqMutex[orders, " + backend + ", free]");
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Thread holder = named("worker-3", () -> {
            mutex.lock();
            assertThat(mutex.isHeldByCurrentThread()).isTrue();
            assertThatThrownBy(mutex::lock)
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .hasMessage("worker-3 locks \"orders\", which it already holds: a mutex is not recursive.");
            assertThatThrownBy(mutex::lockInterruptibly).isInstanceOf(IllegalMonitorStateException.class);
            held.countDown();
            uninterruptibly(release);
            mutex.unlock();
        });
        uninterruptibly(held);
        assertThat(mutex.isLocked()).isTrue();
        assertThat(mutex.isHeldByCurrentThread()).isFalse();
        assertThat(mutex.toString()).isEqualTo("OsqMutex[orders, " + backend + ", held by worker-3]");
        Eventually.join(named("worker-7", () -> {
            assertThatThrownBy(mutex::unlock)
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .hasMessage("worker-7 unlocks \"orders\", which worker-3 holds.");
            assertThatThrownBy(() -> mutex.newCondition().signal())
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .hasMessage("worker-7 signals a condition of \"orders\", which worker-3 holds.");
            assertThatThrownBy(() -> mutex.newCondition().await())
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .hasMessage("worker-7 waits on a condition of \"orders\", which worker-3 holds.");
        }));
        release.countDown();
        Eventually.join(holder);
        Eventually.join(named("worker-8", () -> assertThatThrownBy(mutex::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessage("worker-8 unlocks \"orders\", which nobody holds.")));
        assertThat(mutex.isLocked()).isFalse();
    }

    private static void uninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Its slot is a borrowed one then, and it keeps that while it owns something. */
    @ParameterizedTest
    @EnumSource(Backend.class)
    void aPlatformThreadWithSlotsInManyDomainsOwnsWhatItLocks(Backend backend) {
        List<LockDomain> domains = new ArrayList<>();
        Throwable[] thrown = new Throwable[1];
        Eventually.join(Thread.ofPlatform().start(() -> {
            try {
                for (int i = 0; i < 20; i++) {
                    LockDomain domain = LockDomain.builder().slots(3).locks(2).create();
                    domains.add(domain);
                    OsqMutex a = OsqMutex.builder().domain(domain).backend(backend).allocate();
                    OsqMutex b = OsqMutex.builder().domain(domain).backend(backend).allocate();
                    for (int n = 0; n < 3; n++) {
                        a.lock();
                        assertThat(b.tryLock()).isTrue();
                        b.unlock();
                        assertThat(a.isHeldByCurrentThread()).isTrue();
                        a.unlock();
                        assertThat(a.isHeldByCurrentThread()).isFalse();
                    }
                }
            } catch (Throwable e) {
                thrown[0] = e;
            }
        }));
        assertThat(thrown[0]).isNull();
        assertThat(domains).hasSize(20);
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void handlesAndTryWithResources(Backend backend) {
        OsqMutex mutex = make(backend);
        LockThread self = LockThread.current(mutex.domain());
        mutex.lock(self);
        assertThat(mutex.tryLock(self)).isFalse();
        mutex.unlock(self);
        assertThat(mutex.tryLock(self)).isTrue();
        mutex.unlock();
        try (var held = mutex.acquire()) {
            assertThat(held).isNotNull();
            assertThat(mutex.isHeldByCurrentThread()).isTrue();
        }
        assertThat(mutex.isLocked()).isFalse();
        Eventually.join(named("stranger", () -> assertThatThrownBy(() -> mutex.lock(self))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("used by stranger")));
        LockDomain other = LockDomain.ofPrivate();
        assertThatThrownBy(() -> mutex.unlock(LockThread.current(other)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("handle in");
    }

    @Test
    void badMemoryIsRefused() {
        assertThatThrownBy(() -> OsqMutex.at(MemorySegment.ofArray(new long[2]), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("heap");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment s = arena.allocate(16, 16);
            assertThatThrownBy(() -> OsqMutex.at(null, 0)).isInstanceOf(NullPointerException.class);
            assertThatThrownBy(() -> OsqMutex.at(s, 4))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("a mutex needs an address divisible by 8");
            assertThatThrownBy(() -> OsqMutex.at(s, 12))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("a mutex needs 8 bytes");
            assertThatThrownBy(() -> OsqMutex.at(s.asReadOnly(), 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("read-only");
            assertThatThrownBy(() -> OsqMutex.allocate().condition(s, 2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("a condition needs 16 bytes");
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void closedArenasAndDomainsThrow(Backend backend) {
        OsqMutex there;
        try (Arena arena = Arena.ofShared()) {
            there = OsqMutex.builder().backend(backend).at(arena.allocate(64, 64), 0);
            there.lock();
            there.unlock();
        }
        assertThatThrownBy(there::lock).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(there::tryLock).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(there::isLocked).isInstanceOf(IllegalStateException.class);
        assertThat(there.toString()).contains("closed");

        LockDomain domain = LockDomain.ofPrivate();
        OsqMutex pooled = OsqMutex.builder().domain(domain).backend(backend).name("orders").allocate();
        pooled.lock();
        Thread waiter = named("waiter", () -> assertThatThrownBy(pooled::lock)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("\"orders\" cannot be locked: its domain is closed."));
        Condition condition = pooled.newCondition();
        Thread sleeper = named("sleeper", () -> {});
        Eventually.join(sleeper);
        Eventually.until("it waits", pooled::isContended);
        domain.close();
        Eventually.join(waiter);
        pooled.unlock();
        assertThatThrownBy(pooled::lock).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(condition::signal).isInstanceOf(IllegalMonitorStateException.class);
    }

    static Stream<Arguments> pairs() {
        List<Arguments> all = new ArrayList<>();
        for (Backend a : Backend.values()) {
            for (Backend b : Backend.values()) {
                if (a.compareTo(b) <= 0) {
                    all.add(Arguments.of(a, b));
                }
            }
        }
        return all.stream();
    }

    /** Two objects of different backends on one word, spinning and not, platform and virtual threads, one condition. */
    @ParameterizedTest
    @MethodSource("pairs")
    void backendsMixOnOneWord(Backend a, Backend b) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(64, 64);
            OsqMutex[] mutexes = {
                OsqMutex.builder().backend(a).at(memory, 0),
                OsqMutex.builder().backend(b).at(memory, 0),
                OsqMutex.builder().backend(a).spinning(false).at(memory, 0)
            };
            Condition[] conditions = new Condition[mutexes.length];
            for (int i = 0; i < mutexes.length; i++) {
                conditions[i] = mutexes[i].condition(memory, 16);
            }
            int rounds = 600;
            int[] counter = {0};
            boolean[] inside = {false};
            Thread[] threads = new Thread[6];
            for (int i = 0; i < threads.length; i++) {
                OsqMutex mutex = mutexes[i % mutexes.length];
                Condition condition = conditions[i % mutexes.length];
                Thread.Builder kind = i < 3 ? Thread.ofPlatform() : Thread.ofVirtual();
                threads[i] = kind.start(() -> {
                    for (int n = 0; n < rounds; n++) {
                        mutex.lock();
                        try {
                            assertThat(inside[0]).isFalse();
                            inside[0] = true;
                            counter[0]++;
                            inside[0] = false;
                            if (n % 8 == 0) {
                                condition.awaitNanos(50_000);
                            } else if (n % 8 == 1) {
                                condition.signalAll();
                            }
                        } catch (InterruptedException e) {
                            throw new AssertionError(e);
                        } finally {
                            mutex.unlock();
                        }
                    }
                });
            }
            Eventually.join(threads);
            assertThat(counter[0]).isEqualTo(rounds * threads.length);
            assertThat(mutexes[0].isContended()).isFalse();
            assertThat(mutexes[0].isLocked()).isFalse();
        }
    }

    /** C waits on what Java signals, and the other way round: here both through the exported functions. */
    @Test
    void conditionsAreSharedWithC() {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(64, 64);
            MemorySegment mutexAt = memory.asSlice(0, pl_mutex.sizeof());
            MemorySegment condAt = memory.asSlice(16, OsqCondition.BYTES);
            OsqMutex mutex = OsqMutex.at(memory, 0);
            Condition condition = mutex.condition(memory, 16);
            boolean[] signalled = {false};
            Thread c = Thread.ofPlatform().start(() -> {
                MemorySegment self = panalock_h.pl_self();
                assertThat(panalock_h.pl_mutex_lock(self, mutexAt)).isZero();
                assertThat(panalock_h.pl_cond_wait(self, condAt, mutexAt, 0, -1)).isZero();
                assertThat(signalled[0]).isTrue();
                signalled[0] = false;
                assertThat(panalock_h.pl_cond_signal(self, condAt, mutexAt)).isBetween(0, 1);
                assertThat(panalock_h.pl_mutex_unlock(self, mutexAt)).isZero();
            });
            Eventually.until("C waits", () -> c.isAlive() && condAt.get(java.lang.foreign.ValueLayout.JAVA_INT, 4) != 0);
            mutex.lock();
            try {
                signalled[0] = true;
                condition.signal();
                while (signalled[0]) {
                    condition.awaitUninterruptibly();
                }
            } finally {
                mutex.unlock();
            }
            Eventually.join(c);
        }
    }

    /** The slots that waiting virtual threads borrow are bounded, and all are given back. */
    @ParameterizedTest
    @EnumSource(Backend.class)
    void virtualThreadsBorrowSlots(Backend backend) {
        LockDomain domain = LockDomain.builder().slots(40).create();
        OsqMutex mutex = OsqMutex.builder().domain(domain).backend(backend).allocate();
        OsqMutex second = OsqMutex.builder().domain(domain).backend(backend).allocate();
        AtomicInteger done = new AtomicInteger();
        Thread[] threads = new Thread[300];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofVirtual().start(() -> {
                for (int n = 0; n < 5; n++) {
                    mutex.lock();
                    second.lock();
                    second.unlock();
                    Thread.yield(); // perhaps to another carrier, and still the owner
                    assertThat(mutex.isHeldByCurrentThread()).isTrue();
                    mutex.unlock();
                }
                done.incrementAndGet();
            });
        }
        Eventually.join(threads);
        assertThat(done.get()).isEqualTo(threads.length);
        List<LockThread> all = new ArrayList<>();
        Thread[] platform = new Thread[30];
        CountDownLatch everyone = new CountDownLatch(platform.length);
        for (int i = 0; i < platform.length; i++) { // there are slots left for all of these
            platform[i] = Thread.ofPlatform().start(() -> {
                LockThread self = LockThread.current(domain);
                assertThat(self.hold()).isPositive();
                synchronized (all) {
                    all.add(self);
                }
                everyone.countDown();
                uninterruptibly(everyone);
            });
        }
        Eventually.join(platform);
        assertThat(all).hasSize(platform.length);
    }

    @Test
    void withoutASlotItSaysSo() {
        LockDomain domain = LockDomain.builder().slots(2).create();
        OsqMutex mutex = OsqMutex.builder().domain(domain).allocate();
        mutex.lock(); // with the only one
        Thread[] stranger = {null};
        List<Throwable> seen = new ArrayList<>();
        stranger[0] = Thread.ofPlatform().start(() -> {
            try {
                mutex.lock();
            } catch (IllegalStateException e) {
                seen.add(e);
            }
        });
        Eventually.join(stranger[0]);
        mutex.unlock();
        assertThat(seen).hasSize(1);
        assertThat(seen.get(0)).hasMessageContaining("every thread slot").hasMessageContaining("slots(n)");
    }

    @Test
    void poolPlaces() {
        OsqMutex mutex = OsqMutex.allocate();
        OsqMutex same = OsqMutex.builder().existing(mutex.poolIndex());
        mutex.lock();
        assertThat(same.isHeldByCurrentThread()).isTrue();
        same.unlock();
        assertThatThrownBy(() -> OsqMutex.at(Arena.global().allocate(8, 8), 0).poolIndex())
                .isInstanceOf(IllegalStateException.class);
        assertThat(mutex.name()).startsWith("mutex at 0x");
        assertThat(mutex.backend()).isEqualTo(Backend.ofDefault());
    }

    /** Works where the library does not load, with conditions and virtual threads. */
    static final class WithoutLibrary {
        public static void main(String[] arguments) throws Exception {
            OsqMutex mutex = OsqMutex.builder().backend(Backend.PURE).allocate();
            Condition condition = mutex.newCondition();
            int[] turns = {0};
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; i++) {
                int me = i;
                threads[i] = (i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual()).start(() -> {
                    for (int n = 0; n < 200; n++) {
                        mutex.lock();
                        while (turns[0] % threads.length != me) {
                            condition.awaitUninterruptibly();
                        }
                        turns[0]++;
                        condition.signalAll();
                        mutex.unlock();
                    }
                });
            }
            for (Thread t : threads) {
                t.join();
            }
            Osq queue = Osq.builder().backend(Backend.PURE).allocate();
            queue.lock();
            queue.unlock();
            System.out.println(turns[0] == 800 && !mutex.isContended() ? "done" : "turns: " + turns[0]);
        }
    }

    @Test
    void pureWorksWithoutTheLibrary() throws Exception {
        Child.Result r = Child.running(WithoutLibrary.class).with("-Dpanalock.library=none").run();
        assertThat(r.output()).isEqualToIgnoringWhitespace("done");
    }

    // ---- OSQ ----

    @ParameterizedTest
    @MethodSource("pairs")
    void osqHasOneHead(Backend a, Backend b) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(64, 64);
            Osq[] queues = {
                Osq.builder().backend(a).at(memory, 0), Osq.builder().backend(b).polling(true).at(memory, 0)
            };
            AtomicInteger inside = new AtomicInteger();
            AtomicInteger left = new AtomicInteger();
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; i++) {
                Osq queue = queues[i % 2];
                int me = i;
                threads[i] = (i < 3 ? Thread.ofPlatform() : Thread.ofVirtual()).start(() -> {
                    for (int n = 0; n < 300; n++) {
                        int round = n;
                        if (me == 0 && n % 2 == 0) {
                            try {
                                if (!queue.lock(20, TimeUnit.MICROSECONDS, () -> round % 4 == 0)) {
                                    left.incrementAndGet();
                                    continue;
                                }
                            } catch (InterruptedException e) {
                                throw new AssertionError(e);
                            }
                        } else if (me != 1 || !queue.tryLock()) {
                            queue.lock();
                        }
                        assertThat(inside.incrementAndGet()).isEqualTo(1);
                        inside.decrementAndGet();
                        queue.unlock();
                    }
                });
            }
            Eventually.join(threads);
            assertThat(queues[0].isLocked()).isFalse();
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void osqReportsMistakes(Backend backend) throws Exception {
        Osq queue = Osq.builder().backend(backend).allocate();
        assertThatThrownBy(queue::unlock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("not the head");
        Osq[] more = new Osq[Layouts.NESTING];
        for (int i = 0; i < more.length; i++) {
            more[i] = Osq.builder().backend(backend).allocate();
            more[i].lock();
        }
        assertThatThrownBy(queue::lock).isInstanceOf(IllegalStateException.class).hasMessageContaining("give one back");
        assertThatThrownBy(more[0]::unlock).isInstanceOf(IllegalMonitorStateException.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> queue.lock(1, TimeUnit.SECONDS, null)).isInstanceOf(InterruptedException.class);
        Eventually.join(Thread.ofPlatform().start(() -> {
            assertThat(more[1].tryLock()).isFalse();
            assertThatThrownBy(() -> {
                        Thread.currentThread().interrupt();
                        more[1].lock(1, TimeUnit.DAYS, null);
                    })
                    .isInstanceOf(InterruptedException.class);
        }));
        for (int i = more.length - 1; i >= 0; i--) {
            more[i].unlock();
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment garbage = arena.allocate(4, 4);
            garbage.fill((byte) 0xfe);
            Osq none = Osq.builder().backend(backend).at(garbage, 0);
            assertThatThrownBy(none::lock).isInstanceOf(IllegalStateException.class).hasMessageContaining("no OSQ");
            assertThatThrownBy(() -> Osq.at(garbage, 2)).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
