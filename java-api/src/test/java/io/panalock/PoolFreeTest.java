// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.pure.Pool;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.Lock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Locks of the pool that are freed: every kind of lock, backend and layout. */
class PoolFreeTest {
    /** What the kinds of lock have in common here. */
    record Kind<L extends Lock>(
            String name,
            Backend backend,
            Function<LockDomain, L> allocate,
            Function<L, L> same,
            Consumer<L> free,
            Function<L, Boolean> isLocked,
            ToIntFunction<L> index,
            BiConsumer<L, LockThread> lockBy) {
        @Override
        public String toString() {
            return name;
        }

        void lock(L lock, LockDomain domain) {
            lockBy.accept(lock, LockThread.current(domain));
        }
    }

    static Stream<Kind<?>> kinds() {
        return Stream.of(Backend.values()).filter(Backend::isAvailable).flatMap(PoolFreeTest::kinds);
    }

    private static Stream<Kind<?>> kinds(Backend b) {
        List<Kind<?>> all = new ArrayList<>();
        for (Layout y : Layout.values()) {
            all.add(new Kind<QSpinLock>(
                    "QSpinLock " + b + " " + y,
                    b,
                    d -> QSpinLock.builder().domain(d).backend(b).layout(y).name("orders").allocate(),
                    l -> QSpinLock.builder().domain(l.domain()).backend(b).layout(y).name("orders").existing(l.poolIndex()),
                    QSpinLock::free,
                    QSpinLock::isLocked,
                    QSpinLock::poolIndex,
                    QSpinLock::lock));
            all.add(new Kind<RqSpinLock>(
                    "RqSpinLock " + b + " " + y,
                    b,
                    d -> RqSpinLock.builder().domain(d).backend(b).layout(y).name("orders").allocate(),
                    l -> RqSpinLock.builder().domain(l.domain()).backend(b).layout(y).name("orders").existing(l.poolIndex()),
                    RqSpinLock::free,
                    RqSpinLock::isLocked,
                    RqSpinLock::poolIndex,
                    RqSpinLock::lock));
        }
        all.add(new Kind<OsqMutex>(
                "OsqMutex " + b,
                b,
                d -> OsqMutex.builder().domain(d).backend(b).name("orders").allocate(),
                m -> OsqMutex.builder().domain(m.domain()).backend(b).name("orders").existing(m.poolIndex()),
                OsqMutex::free,
                OsqMutex::isLocked,
                OsqMutex::poolIndex,
                OsqMutex::lock));
        return all.stream();
    }

    private static LockDomain domain(int locks, boolean checks) {
        return LockDomain.builder().slots(16).locks(locks).checks(checks).create();
    }

    /** Every way to acquire it throws the same. */
    private static <L extends Lock> void refuses(Kind<L> kind, L lock, LockDomain domain, String message) {
        ThrowingCallable[] all = {
            lock::lock,
            lock::tryLock,
            lock::lockInterruptibly,
            () -> lock.tryLock(1, TimeUnit.MINUTES),
            () -> lock.tryLock(0, TimeUnit.MINUTES),
            () -> kind.lock(lock, domain)
        };
        for (ThrowingCallable call : all) {
            assertThatThrownBy(call).isInstanceOf(IllegalStateException.class).hasMessage(message);
        }
    }

    private static void inBothKindsOfThread(Runnable body) {
        for (Thread.Builder kind : new Thread.Builder[] {Thread.ofPlatform(), Thread.ofVirtual()}) {
            assertThat(Eventually.thrownIn(kind, body::run)).isNull();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    <L extends Lock> void whoUsesAFreedLockIsToldSo(Kind<L> kind) {
        for (boolean checks : new boolean[] {false, true}) {
            LockDomain domain = domain(2, checks);
            inBothKindsOfThread(() -> {
                L lock = kind.allocate().apply(domain);
                L same = kind.same().apply(lock);
                lock.lock();
                lock.unlock();
                kind.free().accept(lock);
                for (L l : List.of(lock, same)) {
                    refuses(kind, l, domain, "\"orders\" cannot be locked: it was freed.");
                    assertThat(kind.isLocked().apply(l)).isFalse();
                }
                assertThatThrownBy(() -> kind.same().apply(lock))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("lock " + kind.index().applyAsInt(lock) + " of the pool of " + domain)
                        .hasMessageContaining("was given back");
            });
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    <L extends Lock> void aHeldLockIsNotFreed(Kind<L> kind) {
        LockDomain domain = domain(1, false);
        L lock = kind.allocate().apply(domain);
        lock.lock();
        String refusal = "\"orders\" cannot be freed: it is locked or waited for. Unlock it and let its waiters finish.";
        assertThatThrownBy(() -> kind.free().accept(lock)).isInstanceOf(IllegalStateException.class).hasMessage(refusal);
        inBothKindsOfThread(() ->
                assertThatThrownBy(() -> kind.free().accept(lock)).isInstanceOf(IllegalStateException.class).hasMessage(refusal));
        assertThat(kind.isLocked().apply(lock)).isTrue();
        lock.unlock();
        lock.lock(); // as if nothing had been
        lock.unlock();
        kind.free().accept(lock);
        kind.free().accept(kind.allocate().apply(domain)); // the only word there is
    }

    @ParameterizedTest
    @MethodSource("kinds")
    <L extends Lock> void aLockThatIsWaitedForIsNotFreedAndItsWaitersGetIt(Kind<L> kind) {
        LockDomain domain = domain(1, false);
        L lock = kind.allocate().apply(domain);
        AtomicInteger passed = new AtomicInteger();
        lock.lock();
        Thread[] waiters = {
            Thread.ofPlatform().unstarted(() -> pass(lock, passed)), Thread.ofVirtual().unstarted(() -> pass(lock, passed))
        };
        for (Thread t : waiters) {
            t.start();
            Thread.yield();
            assertThatThrownBy(() -> kind.free().accept(lock)).hasMessageContaining("it is locked or waited for");
        }
        lock.unlock();
        Eventually.join(waiters);
        assertThat(passed).hasValue(2);
        kind.free().accept(lock);
    }

    private static void pass(Lock lock, AtomicInteger passed) {
        lock.lock();
        passed.incrementAndGet();
        lock.unlock();
    }

    private static void passThrough(Lock lock) {
        lock.lock();
        lock.unlock();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    <L extends Lock> void freeingTwiceDoesNotTakeTheWordFromItsNextOwner(Kind<L> kind) {
        LockDomain domain = domain(1, false);
        L first = kind.allocate().apply(domain);
        kind.free().accept(first);
        L second = kind.allocate().apply(domain);
        assertThat(kind.index().applyAsInt(second)).isEqualTo(kind.index().applyAsInt(first));
        kind.free().accept(first);
        second.lock();
        kind.free().accept(first); // no complaint either: what was its own is free
        second.unlock();
        assertThat(Pool.isTaken(domain.pure(), kind.index().applyAsInt(second))).isTrue();
        passThrough(second);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    <L extends Lock> void aFreedLockMayOutliveItsDomainsEnd(Kind<L> kind) {
        LockDomain domain = domain(2, false);
        L freed = kind.allocate().apply(domain);
        L held = kind.allocate().apply(domain);
        kind.free().accept(freed);
        held.lock();
        domain.close();
        refuses(kind, freed, domain, "\"orders\" cannot be locked: its domain is closed.");
        assertThatThrownBy(() -> kind.free().accept(held)).hasMessageContaining("it is locked or waited for");
        held.unlock();
        kind.free().accept(held);
        kind.free().accept(held);
        refuses(kind, held, domain, "\"orders\" cannot be locked: its domain is closed.");
        assertThatThrownBy(() -> kind.allocate().apply(domain)).hasMessageContaining("is closed");
    }

    @ParameterizedTest
    @MethodSource("kinds")
    <L extends Lock> void onlyWhoTookTheWordFreesIt(Kind<L> kind) {
        LockDomain domain = domain(1, false);
        L lock = kind.allocate().apply(domain);
        L same = kind.same().apply(lock);
        assertThatThrownBy(() -> kind.free().accept(same))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("\"orders\" cannot be freed through this object")
                .hasMessageContaining("allocate()");
        passThrough(lock);
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void aLockAtASegmentIsNotFreed(Backend backend) {
        try (Arena arena = Arena.ofShared()) {
            QSpinLock spin = QSpinLock.builder().backend(backend).at(arena.allocate(64, 64), 0);
            RqSpinLock resilient = RqSpinLock.builder().backend(backend).at(arena.allocate(64, 64), 0);
            OsqMutex mutex = OsqMutex.builder().backend(backend).at(arena.allocate(64, 64), 0);
            for (ThrowingCallable free : new ThrowingCallable[] {spin::free, resilient::free, mutex::free}) {
                assertThatThrownBy(free)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("cannot be freed through this object")
                        .hasMessageContaining("or the memory it lies in");
            }
            passThrough(spin);
            passThrough(resilient);
            passThrough(mutex);
        }
    }

    /** The word of an object that was freed, and then collected, is somebody else's. */
    @ParameterizedTest
    @MethodSource("kinds")
    <L extends Lock> void aFreedLockThatIsCollectedGivesNothingBack(Kind<L> kind) throws Exception {
        LockDomain domain = domain(1, false);
        allocateAndFree(kind, domain);
        L second = kind.allocate().apply(domain);
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(5);
        }
        assertThat(Pool.isTaken(domain.pure(), kind.index().applyAsInt(second))).isTrue();
        passThrough(second);
    }

    private static <L extends Lock> void allocateAndFree(Kind<L> kind, LockDomain domain) {
        kind.free().accept(kind.allocate().apply(domain));
    }

    /** More locks come and go than there are words, some freed and some forgotten, from threads of both kinds. */
    @ParameterizedTest
    @EnumSource(Backend.class)
    void wordsHaveOneOwnerAtATime(Backend backend) {
        int words = 8;
        LockDomain domain = LockDomain.builder().slots(16).locks(words).create();
        AtomicIntegerArray owners = new AtomicIntegerArray(words);
        ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            Thread.Builder kind = i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual();
            int me = i + 1;
            threads[i] = kind.start(() -> {
                try {
                    for (int n = 0; n < 3000; n++) {
                        QSpinLock lock = QSpinLock.builder().domain(domain).backend(backend).allocate();
                        assertThat(owners.getAndSet(lock.poolIndex(), me)).isZero();
                        assertThat(lock.tryLock()).isTrue();
                        lock.unlock();
                        assertThat(owners.getAndSet(lock.poolIndex(), 0)).isEqualTo(me);
                        if (ThreadLocalRandom.current().nextInt(1000) > 0) { // else the garbage collector does it
                            lock.free();
                        }
                    }
                } catch (Throwable e) {
                    thrown.add(e);
                }
            });
        }
        Eventually.join(threads);
        assertThat(thrown).isEmpty();
    }

    /** Two threads free one object: one of them does it, and neither takes the word from whoever has it then. */
    @Test
    void twoFreeAtOnce() {
        LockDomain domain = domain(1, false);
        for (int round = 0; round < 2000; round++) {
            QSpinLock lock = QSpinLock.builder().domain(domain).allocate(); // thrown if the word is not there
            Thread other = Thread.ofVirtual().start(lock::free);
            lock.free();
            QSpinLock next = QSpinLock.builder().domain(domain).allocate();
            Eventually.join(other);
            passThrough(next);
            next.free();
        }
    }

    @Test
    void otherProcessesAreRefusedToo(@TempDir Path directory) {
        Path file = directory.resolve("domain");
        try (LockDomain mine = LockDomain.createShared(file);
                LockDomain theirs = LockDomain.openShared(file)) {
            QSpinLock a = QSpinLock.builder().domain(mine).name("orders").allocate();
            QSpinLock b = QSpinLock.builder().domain(theirs).name("orders").existing(a.poolIndex());
            b.lock();
            assertThatThrownBy(a::free).hasMessageContaining("it is locked or waited for");
            b.unlock();
            a.free();
            for (QSpinLock lock : List.of(a, b)) {
                assertThatThrownBy(lock::lock)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage("\"orders\" cannot be locked: it was freed.");
            }
        }
    }

    /** With debug checks a virtual thread has a slot while it holds; one that is refused has none to hold on to. */
    @Test
    void refusedVirtualThreadsLeaveNoSlotTaken() throws Exception {
        LockDomain domain = LockDomain.builder().slots(3).checks(true).create();
        QSpinLock freed = QSpinLock.builder().domain(domain).name("orders").allocate();
        QSpinLock good = QSpinLock.builder().domain(domain).allocate();
        freed.free();
        Arena arena = Arena.ofShared();
        QSpinLock closed = QSpinLock.builder().domain(domain).at(arena.allocate(64, 64), 0);
        arena.close();
        List<Thread> alive = new ArrayList<>();
        CountDownLatch end = new CountDownLatch(1);
        ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();
        for (int i = 0; i < 20; i++) {
            CountDownLatch done = new CountDownLatch(1);
            alive.add(Thread.ofVirtual().start(() -> {
                try {
                    for (QSpinLock lock : List.of(freed, closed)) {
                        for (ThrowingCallable call : new ThrowingCallable[] {
                            lock::tryLock, lock::lock, lock::lockInterruptibly, () -> lock.tryLock(1, TimeUnit.SECONDS)
                        }) {
                            assertThatThrownBy(call).isInstanceOf(IllegalStateException.class);
                        }
                    }
                    assertThat(good.tryLock(100, TimeUnit.SECONDS)).isTrue();
                    good.unlock();
                    done.countDown();
                    end.await();
                } catch (Throwable e) {
                    thrown.add(e);
                    done.countDown();
                }
            }));
            assertThat(done.await(100, TimeUnit.SECONDS)).isTrue();
        }
        end.countDown();
        Eventually.join(alive.toArray(Thread[]::new));
        assertThat(thrown).isEmpty();
    }
}
