// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.panalock.Promptly;
import io.panalock.internal.Layouts;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The pure lock on real memory, without the native library. */
@Tag("pure")
class PureLockTest {
    private static final int WORD = Layouts.LAYOUT_WORD;
    private static final int SPIN = Layouts.WAIT_SPIN;
    private static final int INTERRUPTIBLE = Layouts.WAIT_INTERRUPTIBLE;
    private static final long FOREVER = -1;
    private static final long MS = 1_000_000;

    private Arena arena;
    private PureDomain domain;
    private Crew crew;
    private long counter; // guarded by the lock under test

    @BeforeEach
    void create() {
        arena = Arena.ofShared();
        domain = PureDomain.create(arena, 1100, 8, 0, Waker.NONE);
        crew = new Crew();
    }

    @AfterEach
    void close() {
        if (crew.isDone()) { // after a failure threads may still wait in the domain
            arena.close();
        }
    }

    private LockWord pooled(int layout) {
        return LockWord.at(domain.memory, Pool.take(domain), layout);
    }

    private void assertUntouched(LockWord lock) {
        assertThat(lock.bits()).as("bits left behind").isZero();
    }

    private void unlock(LockWord lock) {
        QSpin.unlock(domain, lock, 0);
    }

    /** Starts a thread that waits for the lock, notes the result, and releases it again if it got it. */
    private Thread waiter(LockWord lock, boolean virtual, int flags, long nanos, AtomicInteger result) {
        int slot = Crew.slot(domain);
        return crew.start(virtual, () -> {
            int r = QSpin.lock(domain, lock, flags, nanos, slot);
            if (r == 0) {
                QSpin.unlock(domain, lock, slot);
            }
            result.set(r);
            assertThat(Slots.release(domain, slot)).isZero();
        });
    }

    private void awaitSleepers(LockWord lock, int n) throws InterruptedException {
        Crew.await(n + " asleep", () -> Crew.inLine(domain, lock.lineKey(domain)) == n);
    }

    @ParameterizedTest
    @CsvSource({"0,0,false", "0,0,true", "0,1,false", "1,0,false", "1,1,false", "2,0,false", "2,0,true", "2,1,false"})
    void excludes(int layout, int flags, boolean virtual) throws Exception {
        LockWord lock = pooled(layout);
        int threads = 6;
        int rounds = flags == SPIN ? 4_000 : 20_000;
        for (int t = 0; t < threads; t++) {
            crew.start(virtual, () -> {
                int slot = Crew.slot(domain);
                for (int i = 0; i < rounds; i++) {
                    assertThat(QSpin.lock(domain, lock, flags, FOREVER, slot)).isZero();
                    counter++;
                    QSpin.unlock(domain, lock, slot);
                }
                Slots.release(domain, slot);
            });
        }
        crew.join();
        assertThat(counter).isEqualTo((long) threads * rounds);
        assertUntouched(lock);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void bothPoliciesExcludeEachOther(int layout) throws Exception {
        LockWord lock = pooled(layout);
        int threads = 6;
        int rounds = 4_000;
        for (int t = 0; t < threads; t++) {
            int flags = t % 3 == 0 ? SPIN : 0;
            long limit = t % 2 == 0 ? FOREVER : 1000 * Crew.LIMIT.toNanos();
            crew.start(t % 3 == 1, () -> {
                int slot = Crew.slot(domain);
                for (int i = 0; i < rounds; i++) {
                    assertThat(QSpin.lock(domain, lock, flags, limit, slot)).isZero();
                    counter++;
                    QSpin.unlock(domain, lock, slot);
                }
            });
        }
        crew.join();
        assertThat(counter).isEqualTo((long) threads * rounds);
        assertUntouched(lock);
    }

    @ParameterizedTest
    @CsvSource({"0,false", "1,false", "2,false", "0,true", "2,true"})
    void releaseReachesEverySleeper(int layout, boolean virtual) throws Exception {
        LockWord lock = pooled(layout);
        int sleepers = 8;
        AtomicInteger[] results = new AtomicInteger[sleepers];
        assertThat(QSpin.tryLock(lock)).isTrue();
        for (int i = 0; i < sleepers; i++) {
            results[i] = new AtomicInteger(1);
            waiter(lock, virtual, 0, FOREVER, results[i]);
        }
        awaitSleepers(lock, sleepers);
        assertThat(QSpin.isContended(lock)).isTrue();
        unlock(lock);
        crew.join();
        assertThat(results).allMatch(r -> r.get() == 0);
        assertUntouched(lock);
    }

    @ParameterizedTest
    @CsvSource({"0,0,false", "1,0,false", "2,0,false", "2,0,true", "0,1,false", "2,1,false"})
    void timesOutThoughNobodyReleases(int layout, int flags, boolean virtual) throws Exception {
        LockWord lock = pooled(layout);
        assertThat(QSpin.tryLock(lock)).isTrue();
        Promptly.within(500, () -> {
            AtomicInteger result = new AtomicInteger(1);
            long start = System.nanoTime();
            waiter(lock, virtual, flags, 30 * MS, result);
            crew.join();
            long took = System.nanoTime() - start;
            assertThat(result).hasValue(-Layouts.ETIMEDOUT);
            assertThat(took).isGreaterThanOrEqualTo(30 * MS);
            return took;
        });
        unlock(lock);
        assertUntouched(lock);
        assertThat(QSpin.lock(domain, lock, flags, 0, Crew.slot(domain))).isZero();
    }

    @ParameterizedTest
    @CsvSource({"0,0,false", "2,0,false", "2,0,true", "0,1,false"})
    void interruptEndsAnInterruptibleWaitAtOnce(int layout, int flags, boolean virtual) throws Exception {
        LockWord lock = pooled(layout);
        assertThat(QSpin.tryLock(lock)).isTrue();
        AtomicInteger result = new AtomicInteger(1);
        AtomicInteger other = new AtomicInteger(1);
        waiter(lock, virtual, 0, FOREVER, other);
        awaitSleepers(lock, 1);
        Thread t = waiter(lock, virtual, flags | INTERRUPTIBLE, FOREVER, result);
        if (flags == 0) {
            awaitSleepers(lock, 2);
        } else {
            Thread.sleep(20);
        }
        t.interrupt();
        Crew.await("interrupted", () -> result.get() != 1);
        assertThat(result).hasValue(-Layouts.EINTR);
        unlock(lock);
        crew.join();
        assertThat(other).hasValue(0);
        assertUntouched(lock);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void interruptIsKeptByAWaitThatItDoesNotEnd(boolean virtual) throws Exception {
        LockWord lock = pooled(WORD);
        assertThat(QSpin.tryLock(lock)).isTrue();
        AtomicInteger kept = new AtomicInteger();
        Thread t = crew.start(virtual, () -> {
            int slot = Crew.slot(domain);
            assertThat(QSpin.lock(domain, lock, 0, FOREVER, slot)).isZero();
            kept.set(Thread.interrupted() ? 1 : -1);
            QSpin.unlock(domain, lock, slot);
        });
        awaitSleepers(lock, 1);
        t.interrupt();
        Thread.sleep(20);
        assertThat(kept).hasValue(0);
        unlock(lock);
        crew.join();
        assertThat(kept).hasValue(1);
    }

    /** It would be seen only by a waiter that looks at its slot after it has joined the line. */
    @Test
    void slotInterruptBeforeTheWaitEndsItBehindOtherSleepers() throws Exception {
        LockWord lock = pooled(WORD);
        assertThat(QSpin.tryLock(lock)).isTrue();
        AtomicInteger first = new AtomicInteger(1);
        waiter(lock, false, 0, FOREVER, first);
        awaitSleepers(lock, 1);
        int slot = Crew.slot(domain);
        assertThat(Slots.interrupt(domain, slot)).isZero();
        assertThat(QSpin.lock(domain, lock, INTERRUPTIBLE, 100_000 * MS, slot)).isEqualTo(-Layouts.EINTR);
        assertThat(QSpin.lock(domain, lock, INTERRUPTIBLE, 20 * MS, slot)).isEqualTo(-Layouts.ETIMEDOUT);
        unlock(lock);
        crew.join();
    }

    @Test
    void slotInterruptWakesASleeper() throws Exception {
        LockWord lock = pooled(WORD);
        assertThat(QSpin.tryLock(lock)).isTrue();
        int slot = Crew.slot(domain);
        AtomicInteger result = new AtomicInteger(1);
        crew.start(true, () -> result.set(QSpin.lock(domain, lock, INTERRUPTIBLE, FOREVER, slot)));
        awaitSleepers(lock, 1);
        assertThat(Slots.interrupt(domain, slot)).isZero();
        crew.join();
        assertThat(result).hasValue(-Layouts.EINTR);
        assertThat(Slots.interrupt(domain, 0)).isEqualTo(-Layouts.EINVAL);
    }

    @ParameterizedTest
    @CsvSource({"0,0", "1,0", "2,0", "0,1", "1,1", "2,1"})
    void closingTheDomainEndsAllWaits(int layout, int flags) throws Exception {
        LockWord lock = pooled(layout);
        assertThat(QSpin.tryLock(lock)).isTrue();
        AtomicInteger[] results = new AtomicInteger[5];
        for (int i = 0; i < results.length; i++) {
            results[i] = new AtomicInteger(1);
            waiter(lock, i == 0, flags, FOREVER, results[i]);
        }
        awaitSleepers(lock, flags == SPIN ? 1 : results.length);
        Thread.sleep(5);
        Pool.poison(domain);
        crew.join();
        assertThat(results).allMatch(r -> r.get() == -Layouts.ESHUTDOWN);
        unlock(lock);
        assertThat(QSpin.tryLock(lock)).isFalse();
        assertThat(QSpin.whyBusy(lock)).isEqualTo(-Layouts.ESHUTDOWN);
        assertThat(lock.bits()).isEqualTo(Layouts.Q_POISON);
    }

    @Test
    void anUnlockOfAFreeLockSaysSoAndDoesNoHarm() {
        for (int layout = WORD; layout < Layouts.LAYOUT_WIDE; layout++) {
            LockWord lock = pooled(layout);
            assertThatThrownBy(() -> unlock(lock))
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .hasMessageContaining("that nobody holds");
            assertThat(lock.bits()).isZero();
            lock.memory().set(lock.owner(), -1);
            assertThat(QSpin.tryLock(lock)).isFalse();
            assertThat(QSpin.whyBusy(lock)).isEqualTo(-Layouts.EBADFD);
            lock.memory().set(lock.owner(), 0);
        }
    }

    @Test
    void badArgumentsAreRefused() {
        LockWord lock = pooled(WORD);
        int slot = Crew.slot(domain);
        assertThat(QSpin.lockWait(domain, lock, 8, FOREVER, slot)).isEqualTo(-Layouts.EINVAL);
        assertThat(QSpin.lockWait(domain, lock, 0, FOREVER, 0)).isEqualTo(-Layouts.EINVAL);
        assertThat(QSpin.lockWait(domain, lock, 0, FOREVER, 1100)).isEqualTo(-Layouts.EINVAL);
        long address = lock.owner();
        assertThatIllegalArgumentException().isThrownBy(() -> LockWord.at(domain.memory, address + 2, WORD));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockWord.at(domain.memory, address + 4, Layouts.LAYOUT_WIDE));
        assertThatIllegalArgumentException().isThrownBy(() -> LockWord.at(domain.memory, address, 4));
        assertThatIllegalArgumentException().isThrownBy(() -> Memory.of(MemorySegment.ofArray(new int[1])));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void lockInAnArenaThatIsClosedUnderItsWaiters(int layout) throws Exception {
        Arena users = Arena.ofShared();
        MemorySegment segment = users.allocate(64, 64);
        LockWord lock = LockWord.at(Memory.of(segment), segment.address(), layout);
        assertThat(QSpin.tryLock(lock)).isTrue();
        AtomicInteger thrown = new AtomicInteger();
        int waiters = 4;
        for (int i = 0; i < waiters; i++) {
            int flags = i % 2 == 0 ? 0 : SPIN;
            crew.start(i == 2, () -> {
                int slot = Crew.slot(domain);
                assertThatIllegalStateException()
                        .isThrownBy(() -> QSpin.lock(domain, lock, flags, FOREVER, slot));
                thrown.getAndIncrement();
                assertThat(Slots.release(domain, slot)).as("no longer waiting").isZero();
            });
        }
        awaitSleepers(lock, waiters / 2);
        Thread.sleep(5);
        users.close();
        QSpin.kick(domain, lock, 0);
        crew.join();
        assertThat(thrown).hasValue(waiters);
        assertThat(Crew.inLine(domain, lock.lineKey(domain))).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void reservationOfAWaiterThatWasKilledIsVoid(int layout) {
        LockWord lock = pooled(layout);
        lock.setBits(Layouts.Q_PENDING);
        long start = System.nanoTime();
        assertThat(QSpin.lock(domain, lock, 0, 2000 * MS, Crew.slot(domain))).isZero();
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(Shape.RESERVATION_NS);
        unlock(lock);
        assertUntouched(lock);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void chosenWaiterThatWasKilledDelaysTheOthersBriefly(int layout) throws Exception {
        LockWord lock = pooled(layout);
        Promptly.within(500, () -> {
            assertThat(QSpin.tryLock(lock)).isTrue();
            AtomicInteger result = new AtomicInteger(1);
            waiter(lock, false, 0, FOREVER, result);
            awaitSleepers(lock, 1);
            lock.setBits(Layouts.Q_STANDBY); // as if it had been chosen and died
            unlock(lock);
            long start = System.nanoTime();
            crew.join();
            assertThat(result).hasValue(0);
            assertUntouched(lock);
            return System.nanoTime() - start;
        });
    }

    @Test
    void virtualThreadsGetOnWithTheHolderUnmounted() throws Exception {
        LockWord lock = pooled(Layouts.LAYOUT_WIDE);
        int threads = 1000;
        CountDownLatch started = new CountDownLatch(threads);
        Semaphore go = new Semaphore(0);
        for (int i = 0; i < threads; i++) {
            boolean blocks = i % 100 == 0;
            crew.start(true, () -> {
                started.countDown();
                go.acquire();
                int slot = Crew.slot(domain);
                assertThat(QSpin.lock(domain, lock, 0, FOREVER, slot)).isZero();
                counter++;
                if (blocks) {
                    Thread.sleep(2);
                }
                QSpin.unlock(domain, lock, slot);
                Slots.release(domain, slot);
            });
        }
        started.await();
        go.release(threads);
        crew.join();
        assertThat(counter).isEqualTo(threads);
        assertUntouched(lock);
    }

    @Test
    void waitsFromInsideAWaitQueueUseTheirOwnLevel() {
        LockWord lock = pooled(WORD);
        int slot = Crew.slot(domain);
        PureWaitQueue queue = new PureWaitQueue(domain, domain.memory, Pool.take(domain));
        int[] places = new int[Layouts.NESTING];
        for (int i = 0; i < Layouts.NESTING; i++) {
            assertThat(QSpin.tryLock(lock)).isTrue();
            assertThat(QSpin.lock(domain, lock, 0, MS, slot)).isEqualTo(-Layouts.ETIMEDOUT);
            unlock(lock);
            places[i] = queue.enter(slot, false);
            assertThat(places[i]).isEqualTo(i);
        }
        assertThat(queue.enter(slot, false)).isEqualTo(-Layouts.ENOSPC);
        assertThat(QSpin.tryLock(lock)).isTrue();
        assertThat(QSpin.lock(domain, lock, 0, MS, slot)).as("no level left").isEqualTo(-Layouts.ETIMEDOUT);
        unlock(lock);
        assertThat(QSpin.lock(domain, lock, 0, MS, slot)).isZero();
        for (int i = Layouts.NESTING - 1; i >= 0; i--) {
            assertThat(queue.leave(slot, places[i], false)).isZero();
        }
        assertThat(Slots.release(domain, slot)).isZero();
    }
}
