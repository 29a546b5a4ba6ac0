// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.internal.Layouts;
import io.panalock.internal.Slot;
import io.panalock.internal.ffm.pl_thread;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A lock that refuses to deadlock, in every backend and layout. */
@Timeout(120)
class RqSpinLockTest {
    static Stream<Arguments> kinds() {
        return Stream.of(Backend.values())
                .flatMap(b -> Stream.of(Layout.values())
                        .filter(l -> b != Backend.PURE || l != Layout.BYTE)
                        .map(l -> Arguments.of(b, l)));
    }

    private static RqSpinLock make(Backend backend, Layout layout, String name) {
        return RqSpinLock.builder()
                .domain(LockDomain.ofDefault())
                .backend(backend)
                .layout(layout)
                .name(name)
                .allocate();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void locksAndUnlocksInEveryWay(Backend backend, Layout layout) throws Exception {
        RqSpinLock lock = make(backend, layout, "one");
        LockThread self = LockThread.current(lock.domain());
        for (int i = 0; i < 3; i++) {
            lock.lock();
            assertThat(lock.isLocked()).isTrue();
            assertThat(lock.isHeldByCurrentThread()).isTrue();
            lock.unlock();
            lock.lock(self);
            lock.unlock(self);
            assertThat(lock.tryLock()).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(self)).isTrue();
            lock.unlock();
            assertThat(lock.tryLock(Duration.ofMillis(1))).isTrue();
            lock.unlock();
            lock.lockInterruptibly();
            lock.unlock();
            try (var held = lock.acquire()) {
                assertThat(held).isNotNull();
                assertThat(lock.isLocked()).isTrue();
            }
            assertThat(lock.isLocked()).isFalse();
            assertThat(lock.isHeldByCurrentThread()).isFalse();
        }
        assertThat(lock.toString()).startsWith("RqSpinLock");
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void itsOwnLockIsRefusedAtOnce(Backend backend, Layout layout) throws Exception {
        RqSpinLock a = make(backend, layout, "a");
        RqSpinLock b = make(backend, layout, "b");
        try (var heldA = a.acquire(); var heldB = b.acquire()) {
            assertThatThrownBy(a::lock)
                    .isInstanceOf(DeadlockException.class)
                    .hasMessage(Thread.currentThread().getName() + " locks \"a\", which it holds already: the lock is not recursive.")
                    .satisfies(e -> assertThat(((DeadlockException) e).cycle()).hasSize(1));
            assertThatThrownBy(b::lockInterruptibly).isInstanceOf(DeadlockException.class);
            assertThatThrownBy(() -> b.tryLock(Duration.ofSeconds(1))).isInstanceOf(DeadlockException.class);
            assertThat(a.tryLock()).isFalse();
            assertThat(heldA).isNotSameAs(heldB);
        }
        assertThat(a.tryLock()).isTrue();
        a.unlock();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void anyOrderOfUnlocksAndNoFalseAlarm(Backend backend, Layout layout) {
        List<RqSpinLock> locks = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            locks.add(make(backend, layout, "lock " + i));
            locks.get(i).lock();
        }
        for (int i : new int[] {3, 0, 11, 7, 1, 2, 10, 4, 9, 8, 6, 5}) {
            locks.get(i).unlock();
            assertThat(locks.get(i).tryLock()).isTrue();
            locks.get(i).unlock();
            assertThatThrownBy(locks.get(i)::unlock)
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .hasMessageContaining("it does not hold");
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aStrangerCannotUnlock(Backend backend, Layout layout) throws Exception {
        RqSpinLock lock = make(backend, layout, "mine");
        lock.lock();
        var failure = new Throwable[1];
        Thread stranger = Thread.ofPlatform().name("stranger").start(() -> {
            try {
                lock.unlock();
            } catch (Throwable t) {
                failure[0] = t;
            }
        });
        stranger.join();
        assertThat(failure[0])
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("stranger unlocks \"mine\", which " + Thread.currentThread().getName() + " holds.");
        assertThat(lock.isLocked()).isTrue();
        lock.unlock();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void aLimitPassesAndNamesTheHolder(Backend backend, Layout layout) throws Exception {
        RqSpinLock lock = make(backend, layout, "held for long");
        lock.lock();
        try {
            for (boolean virtual : new boolean[] {false, true}) {
                var failure = new Throwable[2];
                Thread waiter = (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).name("waiter").start(() -> {
                    try {
                        assertThat(lock.tryLock(Duration.ofMillis(20))).isFalse();
                        long start = System.nanoTime();
                        try {
                            lock.lock();
                        } catch (LockTimeoutException e) {
                            failure[0] = e;
                        }
                        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(Layouts.LIMIT_FIRST_NS);
                    } catch (Throwable t) {
                        failure[1] = t;
                    }
                });
                waiter.join();
                assertThat(failure[1]).isNull();
                assertThat(failure[0])
                        .hasMessage("waiter waited for \"held for long\" to the limit; "
                                + Thread.currentThread().getName() + " holds it.");
            }
        } finally {
            lock.unlock();
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void anInterruptEndsTheWait(Backend backend) throws Exception {
        RqSpinLock lock = make(backend, Layout.WIDE, "interrupted");
        lock.lock();
        var outcome = new ConcurrentLinkedQueue<String>();
        Thread waiter = Thread.ofPlatform().start(() -> {
            try {
                outcome.add(lock.tryLock(Duration.ofSeconds(60)) ? "acquired" : "timed out");
            } catch (InterruptedException e) {
                outcome.add("interrupted");
            }
        });
        Thread.sleep(30);
        waiter.interrupt();
        waiter.join();
        assertThat(outcome).containsExactly("interrupted");
        lock.unlock();
    }

    /** The threads of a circle, each with a backend and a kind of its own. */
    private static void circle(int length, Layout layout, List<Backend> backends, boolean virtual) throws Exception {
        List<RqSpinLock> words = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            words.add(make(Backend.HYBRID, layout, "L" + i));
        }
        CyclicBarrier start = new CyclicBarrier(length);
        var deadlocks = new ConcurrentLinkedQueue<DeadlockException>();
        var others = new ConcurrentLinkedQueue<Throwable>();
        AtomicInteger through = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            int n = i;
            Backend backend = backends.get(i % backends.size());
            Runnable run = () -> {
                try {
                    RqSpinLock mine = view(words.get(n), backend);
                    RqSpinLock next = view(words.get((n + 1) % length), backend);
                    try (var held = mine.acquire()) {
                        assertThat(held).isNotNull();
                        start.await();
                        if (next.tryLock(Duration.ofSeconds(60))) {
                            next.unlock();
                            through.incrementAndGet();
                        } else {
                            others.add(new AssertionError("time-out"));
                        }
                    }
                } catch (DeadlockException e) {
                    deadlocks.add(e);
                } catch (Throwable t) {
                    others.add(t);
                }
            };
            boolean v = virtual && n % 2 == 0;
            threads.add((v ? Thread.ofVirtual() : Thread.ofPlatform()).name("T" + n).start(run));
        }
        for (Thread t : threads) {
            t.join();
        }
        assertThat(others).isEmpty();
        assertThat(deadlocks).hasSize(1);
        assertThat(through.get()).isEqualTo(length - 1);
        List<DeadlockException.Participant> cycle = deadlocks.peek().cycle();
        assertThat(cycle).hasSize(length);
        int first = Integer.parseInt(cycle.getFirst().thread().substring(1));
        for (int i = 0; i < length; i++) {
            int n = (first + i) % length;
            assertThat(cycle.get(i))
                    .isEqualTo(new DeadlockException.Participant("T" + n, "L" + n, "L" + (n + 1) % length));
        }
        assertThat(deadlocks.peek().getMessage()).contains("T" + first + " holds \"L" + first + "\", waits for \"L");
        words.forEach(w -> assertThat(w.isLocked()).isFalse());
    }

    private static RqSpinLock view(RqSpinLock lock, Backend backend) {
        return RqSpinLock.builder()
                .domain(lock.domain())
                .backend(backend)
                .layout(lock.layout())
                .name(lock.name())
                .existing(lock.poolIndex());
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void twoThreadsThatWaitForEachOther(Backend backend, Layout layout) throws Exception {
        for (int round = 0; round < 5; round++) {
            circle(2, layout, List.of(backend), false);
            circle(2, layout, List.of(backend), true);
        }
    }

    @ParameterizedTest
    @EnumSource(Layout.class)
    void circlesOfAllKindsOfThreads(Layout layout) throws Exception {
        List<Backend> backends = new ArrayList<>(List.of(Backend.HYBRID, Backend.FFM, Backend.JNI, Backend.FFM_CRITICAL));
        for (int length : new int[] {3, 4, 5, 8}) {
            for (int round = 0; round < 5; round++) {
                circle(length, layout, backends, round % 2 == 1);
            }
        }
    }

    @Test
    void manyThreadsManyOrders() throws Exception {
        List<RqSpinLock> locks = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            locks.add(make(Backend.HYBRID, Layout.WIDE, "L" + i));
        }
        int[] counters = new int[4];
        AtomicInteger done = new AtomicInteger();
        AtomicInteger deadlocks = new AtomicInteger();
        var failures = new ConcurrentLinkedQueue<Throwable>();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 8; t++) {
            int seed = t;
            threads.add((t % 2 == 0 ? Thread.ofVirtual() : Thread.ofPlatform()).start(() -> {
                try {
                    var random = new java.util.SplittableRandom(seed);
                    for (int i = 0; i < 400; i++) {
                        int a = random.nextInt(4);
                        int b = (a + 1 + random.nextInt(3)) % 4;
                        if (!locks.get(a).tryLock(Duration.ofSeconds(60))) {
                            throw new AssertionError("time-out");
                        }
                        counters[a]++;
                        try {
                            if (!locks.get(b).tryLock(Duration.ofSeconds(60))) {
                                throw new AssertionError("time-out");
                            }
                            counters[b]++;
                            locks.get(b).unlock();
                            done.addAndGet(2);
                        } catch (DeadlockException e) {
                            deadlocks.incrementAndGet();
                            done.incrementAndGet();
                        }
                        locks.get(a).unlock();
                    }
                } catch (Throwable e) {
                    failures.add(e);
                }
            }));
        }
        for (Thread t : threads) {
            t.join();
        }
        assertThat(failures).isEmpty();
        assertThat(counters[0] + counters[1] + counters[2] + counters[3]).isEqualTo(done.get());
    }

    @Test
    void listenersAreToldAndTheBeanCounts() throws Exception {
        RqSpinLock lock = make(Backend.HYBRID, Layout.WIDE, "listened to");
        var told = new ConcurrentLinkedQueue<String>();
        BiConsumer<RqSpinLock, RuntimeException> listener = (l, e) -> {
            told.add(l.name() + ": " + e.getClass().getSimpleName());
            throw new IllegalArgumentException("of the listener");
        };
        Panalock.registerMXBean();
        Panalock.registerMXBean();
        var server = ManagementFactory.getPlatformMBeanServer();
        var name = new ObjectName("io.panalock:type=Panalock");
        long before = (Long) server.getAttribute(name, "Deadlocks");
        Panalock.addLockFailureListener(listener);
        try (var held = lock.acquire()) {
            assertThat(held).isNotNull();
            assertThatThrownBy(lock::lock).satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
            assertThat((String) server.getAttribute(name, "Dump"))
                    .contains(Thread.currentThread().getName() + " holds \"listened to\"");
        } finally {
            assertThat(Panalock.removeLockFailureListener(listener)).isTrue();
        }
        assertThat(told).containsExactly("listened to: DeadlockException");
        assertThat((Long) server.getAttribute(name, "Deadlocks")).isGreaterThan(before);
        assertThat(Panalock.dump()).doesNotContain("listened to");
    }

    @Test
    void theDumpNamesWaiters() throws Exception {
        RqSpinLock lock = make(Backend.HYBRID, Layout.WIDE, "dumped");
        lock.lock();
        CountDownLatch waits = new CountDownLatch(1);
        Thread waiter = Thread.ofPlatform().name("dumped waiter").start(() -> {
            waits.countDown();
            try {
                lock.tryLock(Duration.ofSeconds(60));
                lock.unlock();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        waits.await();
        Eventually.until("a waiter in the dump", () -> Panalock.dump().contains("dumped waiter waits for \"dumped\""));
        lock.unlock();
        waiter.join();
    }

    @Test
    void aClosedDomainSaysSo() {
        LockDomain d = LockDomain.ofPrivate();
        RqSpinLock lock = RqSpinLock.builder().domain(d).name("closed").allocate();
        lock.lock();
        lock.unlock();
        d.close();
        assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
    }

    @Test
    void memoryOfOnesOwn() {
        try (Arena arena = Arena.ofShared()) {
            RqSpinLock lock = RqSpinLock.at(arena.allocate(64, 8), 8, "in a segment");
            lock.lock();
            assertThatThrownBy(lock::lock).isInstanceOf(DeadlockException.class);
            lock.unlock();
        }
    }

    @Test
    void theFastPathsOffsetsAreTheBindings() throws Exception {
        for (String field : new String[] {"DEPTH", "HELD_TOP", "HELD"}) {
            Field f = Slot.class.getDeclaredField(field);
            f.setAccessible(true);
            long expected = (long) pl_thread.class.getMethod(field.toLowerCase(java.util.Locale.ROOT) + "$offset").invoke(null);
            assertThat(f.getLong(null)).as(field).isEqualTo(expected);
        }
    }
}
