// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.Layouts;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_domain_options;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Java and native threads on one lock, one queue, one domain. */
class PureWithNativeTest {
    private static final long FOREVER = -1;
    private static final long MS = 1_000_000;

    private NativeDomain n;
    private PureDomain d;
    private Crew crew;
    private long counter; // guarded by the lock under test

    @BeforeEach
    void create() {
        n = new NativeDomain();
        d = n.pure;
        crew = new Crew();
    }

    @AfterEach
    void close() throws InterruptedException {
        if (crew.isDone()) { // after a failure threads may still wait in the domain
            n.close();
        }
    }

    private LockWord pooled(int layout) {
        return LockWord.at(d.memory, Pool.take(d), layout);
    }

    /** How a thread takes and releases the lock. */
    enum Side {
        NATIVE(false),
        JAVA(false),
        VIRTUAL(true);

        final boolean virtual;

        Side(boolean virtual) {
            this.virtual = virtual;
        }

        int lock(NativeDomain n, LockWord lock, MemorySegment slot, int flags, long nanos) {
            return this == NATIVE
                    ? NativeDomain.lock(slot, lock, flags, nanos)
                    : QSpin.lock(n.pure, lock, flags, nanos, n.number(slot));
        }

        void unlock(NativeDomain n, LockWord lock, MemorySegment slot) {
            if (this == NATIVE) {
                NativeDomain.unlock(slot, lock);
            } else {
                QSpin.unlock(n.pure, lock, n.number(slot));
            }
        }
    }

    @Test
    void sameBytes() {
        int slots = 7;
        int locks = 33;
        try (Arena arena = Arena.ofConfined()) {
            long size = PureDomain.size(slots, locks);
            MemorySegment options = pl_domain_options.allocate(arena);
            pl_domain_options.slots(options, slots);
            pl_domain_options.pool_locks(options, locks);
            pl_domain_options.flags(options, Layouts.DOMAIN_CHECKS);
            assertThat(panalock_h.pl_domain_size(options)).isEqualTo(size);
            MemorySegment theirs = arena.allocate(size, 4096);
            NativeDomain.out(p -> panalock_h.pl_domain_create_at(theirs, size, options, 0, p));
            MemorySegment ours = arena.allocate(size, 4096);
            DomainFormat.plan(slots, locks).format(Memory.of(ours), ours.address(), Layouts.DOMAIN_CHECKS);
            MemorySegment entry = theirs.asSlice(Shape.DOMAIN_PROCESSES, Shape.PROCESS);
            assertThat(entry.get(ValueLayout.JAVA_INT, Shape.PROCESS_PID)).isEqualTo(ProcessIdentity.PID);
            assertThat(entry.get(ValueLayout.JAVA_LONG, Shape.PROCESS_INCARNATION))
                    .isEqualTo(ProcessIdentity.incarnation(ProcessIdentity.PID));
            entry.fill((byte) 0);
            assertThat(ours.mismatch(theirs)).isEqualTo(-1);
            MemorySegment opened = NativeDomain.out(p -> panalock_h.pl_domain_open_at(ours, size, p));
            assertThat(opened.address()).isEqualTo(ours.address());
            assertThat(panalock_h.pl_domain_close(opened)).isZero();
            assertThat(panalock_h.pl_domain_close(theirs)).isZero();
        }
    }

    @Test
    void sameClock() {
        MemorySegment slot = n.slot();
        MemorySegment queue = MemorySegment.ofAddress(Pool.take(d));
        long before = System.nanoTime();
        int place = panalock_h.pl_waitq_enter(slot, queue, 0);
        long after = System.nanoTime();
        long node = d.nodeAt(PureDomain.nodeNumber(n.number(slot), place));
        assertThat(d.memory.getLong(node + Shape.NODE_ARRIVAL)).isBetween(before, after);
        panalock_h.pl_waitq_leave(slot, queue, place, 0);
    }

    @Test
    void sameKeys() {
        for (long address : new long[] {d.address() + 64, d.address() - 4, 0x7000_0000}) {
            assertThat(d.key(address)).isEqualTo(panalock_h.pl_lock_key(n.domain, MemorySegment.ofAddress(address)));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "NATIVE,JAVA,0", "NATIVE,JAVA,1", "NATIVE,JAVA,2", "JAVA,NATIVE,0", "JAVA,NATIVE,1", "JAVA,NATIVE,2",
        "VIRTUAL,NATIVE,0", "VIRTUAL,NATIVE,2", "VIRTUAL,JAVA,2", "NATIVE,NATIVE,2"
    })
    void everyReleaseWakesEverySleeper(Side sleeper, Side releaser, int layout) throws Exception {
        LockWord lock = pooled(layout);
        int sleepers = 4;
        AtomicInteger woken = new AtomicInteger();
        MemorySegment mine = n.slot();
        for (int round = 0; round < 5; round++) {
            assertThat(QSpin.tryLock(lock)).isTrue();
            for (int i = 0; i < sleepers; i++) {
                crew.start(sleeper.virtual, () -> {
                    MemorySegment slot = n.slot();
                    assertThat(sleeper.lock(n, lock, slot, 0, FOREVER)).isZero();
                    woken.getAndIncrement();
                    sleeper.unlock(n, lock, slot);
                    assertThat(Slots.release(d, n.number(slot))).isZero();
                });
            }
            Crew.await("asleep", () -> Crew.inLine(d, lock.lineKey(d)) == sleepers);
            releaser.unlock(n, lock, mine);
            int expected = sleepers * (round + 1);
            Crew.await("woken", () -> woken.get() == expected);
        }
        crew.join();
        assertThat(lock.bits()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void excludeEachOtherInEveryWay(int layout) throws Exception {
        LockWord lock = pooled(layout);
        long end = System.nanoTime() + 2000 * MS;
        AtomicInteger taken = new AtomicInteger();
        for (int i = 0; i < 9; i++) {
            Side side = Side.values()[i % 3];
            SplittableRandom random = new SplittableRandom(i);
            crew.start(side.virtual, () -> {
                MemorySegment slot = n.slot();
                while (System.nanoTime() < end) {
                    int flags = random.nextInt(8) == 0 ? Layouts.WAIT_SPIN : 0;
                    long limit = random.nextInt(3) > 0 ? FOREVER : random.nextLong(MS);
                    if (side.lock(n, lock, slot, flags, limit) == 0) {
                        counter++;
                        if (random.nextInt(1000) == 0) {
                            Thread.sleep(1); // a virtual holder is unmounted
                        }
                        taken.getAndIncrement();
                        side.unlock(n, lock, slot);
                    }
                }
                assertThat(Slots.release(d, n.number(slot))).isZero();
            });
        }
        crew.join();
        assertThat(counter).isEqualTo(taken.get());
        assertThat(taken).hasValueGreaterThan(1000);
        assertThat(lock.bits()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void spinnersQueueTogether(int layout) throws Exception {
        LockWord lock = pooled(layout);
        int rounds = 3000;
        for (int i = 0; i < 4; i++) {
            Side side = i % 2 == 0 ? Side.NATIVE : Side.JAVA;
            crew.start(false, () -> {
                MemorySegment slot = n.slot();
                for (int r = 0; r < rounds; r++) {
                    assertThat(side.lock(n, lock, slot, Layouts.WAIT_SPIN, FOREVER)).isZero();
                    counter++;
                    side.unlock(n, lock, slot);
                }
            });
        }
        crew.join();
        assertThat(counter).isEqualTo(4 * rounds);
        assertThat(lock.bits()).isZero();
    }

    /** Seen only by a waiter that looks at its slot after it has joined the line. */
    @ParameterizedTest
    @EnumSource
    void interruptBeforeTheWaitEndsItBehindOtherSleepers(Side side) throws Exception {
        LockWord lock = pooled(Layouts.LAYOUT_WORD);
        assertThat(QSpin.tryLock(lock)).isTrue();
        MemorySegment first = n.slot();
        crew.start(false, () -> assertThat(Side.JAVA.lock(n, lock, first, 0, FOREVER)).isZero());
        Crew.await("asleep", () -> Crew.inLine(d, lock.lineKey(d)) == 1);
        MemorySegment slot = n.slot();
        assertThat(panalock_h.pl_thread_interrupt(slot)).isZero();
        AtomicInteger result = new AtomicInteger(1);
        crew.start(side.virtual, () -> result.set(side.lock(n, lock, slot, Layouts.WAIT_INTERRUPTIBLE, 1000 * Crew.LIMIT.toNanos())));
        Crew.await("ended", () -> result.get() != 1);
        assertThat(result).hasValue(-Layouts.EINTR);
        QSpin.unlock(d, lock, 0);
        crew.join();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void nativeInterruptReachesAJavaSleeper(boolean virtual) throws Exception {
        LockWord lock = pooled(Layouts.LAYOUT_WORD);
        assertThat(QSpin.tryLock(lock)).isTrue();
        MemorySegment slot = n.slot();
        AtomicInteger result = new AtomicInteger(1);
        crew.start(virtual, () -> result.set(
                QSpin.lock(d, lock, Layouts.WAIT_INTERRUPTIBLE, FOREVER, n.number(slot))));
        Crew.await("asleep", () -> Crew.inLine(d, lock.lineKey(d)) == 1);
        assertThat(panalock_h.pl_thread_interrupt(slot)).isZero();
        crew.join();
        assertThat(result).hasValue(-Layouts.EINTR);
    }

    @Test
    void closingNativelyEndsJavaWaits() throws Exception {
        LockWord lock = pooled(Layouts.LAYOUT_WIDE);
        assertThat(QSpin.tryLock(lock)).isTrue();
        AtomicInteger ended = new AtomicInteger();
        for (Side side : Side.values()) {
            MemorySegment slot = n.slot();
            crew.start(side.virtual, () -> {
                assertThat(side.lock(n, lock, slot, 0, FOREVER)).isEqualTo(-Layouts.ESHUTDOWN);
                ended.getAndIncrement();
            });
        }
        Crew.await("asleep", () -> Crew.inLine(d, lock.lineKey(d)) == 3);
        assertThat(panalock_h.pl_domain_poison(n.domain)).isZero();
        crew.join();
        assertThat(ended).hasValue(3);
    }

    @ParameterizedTest
    @CsvSource({"false,false", "false,true", "true,false", "true,true"})
    void waitQueueWakesAcrossTheBorder(boolean nativeSleeper, boolean nativeWaker) throws Exception {
        MemorySegment line = MemorySegment.ofAddress(Pool.take(d));
        PureWaitQueue queue = new PureWaitQueue(d, d.memory, line.address());
        AtomicInteger chosen = new AtomicInteger();
        int sleepers = 3;
        for (int i = 0; i < sleepers; i++) {
            int before = i;
            crew.start(i == 2 && !nativeSleeper, () -> {
                MemorySegment slot = n.slot();
                int s = n.number(slot);
                if (nativeSleeper) {
                    int place = panalock_h.pl_waitq_enter(slot, line, 1);
                    assertThat(panalock_h.pl_waitq_sleep(slot, line, place, FOREVER, 0)).isZero();
                    assertThat(panalock_h.pl_waitq_leave(slot, line, place, 1)).isZero();
                } else {
                    int place = queue.enter(s, true);
                    assertThat(queue.sleep(s, place, FOREVER, false)).isZero();
                    assertThat(queue.leave(s, place, true)).isZero();
                }
                chosen.getAndIncrement();
            });
            Crew.await("in line", () -> length(line.address()) == before + 1);
        }
        for (int count : new int[] {1, 2}) {
            int woken = nativeWaker ? panalock_h.pl_waitq_wake(n.service(), line, count) : queue.wake(0, count);
            assertThat(woken).isEqualTo(count);
        }
        crew.join();
        assertThat(chosen).hasValue(sleepers);
    }

    private int length(long line) {
        int count = 0;
        long key = d.key(line);
        Line.lock(d, d.memory, line);
        for (int i = Line.find(d, d.memory, line, 0, key); i != 0; i = Line.find(d, d.memory, line, i, key)) {
            count++;
        }
        Line.unlock(d, d.memory, line);
        return count;
    }
}
