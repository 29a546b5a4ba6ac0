// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.panalock.internal.Layouts;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("pure")
class PureWaitQueueTest {
    private static final long MS = 1_000_000;
    private static final int ALL = Integer.MAX_VALUE;

    private Arena arena;
    private PureDomain domain;
    private PureWaitQueue queue;
    private long line;
    private Crew crew;
    private final AtomicInteger chosen = new AtomicInteger();
    private final AtomicInteger timedOut = new AtomicInteger();

    @BeforeEach
    void create() {
        arena = Arena.ofShared();
        domain = PureDomain.create(arena, 200, 8, 0, Waker.NONE);
        line = Pool.take(domain);
        queue = new PureWaitQueue(domain, domain.memory, line);
        crew = new Crew();
    }

    @AfterEach
    void close() {
        if (crew.isDone()) { // after a failure threads may still wait in the domain
            arena.close();
        }
    }

    private void sleeper(boolean virtual, boolean exclusive, long nanos) throws InterruptedException {
        int before = length();
        crew.start(virtual, () -> {
            int slot = Crew.slot(domain);
            int place = queue.enter(slot, exclusive);
            int result = queue.sleep(slot, place, nanos, true);
            queue.leave(slot, place, result == 0);
            (result == 0 ? chosen : timedOut).getAndIncrement();
            Slots.release(domain, slot);
        });
        Crew.await("in line", () -> length() == before + 1);
    }

    private int length() {
        int n = 0;
        long key = domain.key(line);
        Line.lock(domain, domain.memory, line);
        for (int i = Line.find(domain, domain.memory, line, 0, key); i != 0; i = Line.find(domain, domain.memory, line, i, key)) {
            n++;
        }
        Line.unlock(domain, domain.memory, line);
        return n;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void wakesAllNonExclusiveAndSoManyOthers(boolean virtual) throws Exception {
        for (int i = 0; i < 6; i++) {
            sleeper(virtual, i % 2 == 0, -1);
        }
        assertThat(queue.wake(0, 1)).isEqualTo(4);
        Crew.await("four woken", () -> chosen.get() == 4);
        assertThat(length()).isEqualTo(2);
        assertThat(queue.wake(0, 1)).isEqualTo(1);
        assertThat(queue.wake(0, ALL)).isEqualTo(1);
        assertThat(queue.wake(0, ALL)).isZero();
        crew.join();
        assertThat(chosen).hasValue(6);
    }

    @Test
    void wakesMoreThanFitIntoOneGo() throws Exception {
        for (int i = 0; i < 100; i++) {
            sleeper(true, i % 2 == 0, -1);
        }
        assertThat(queue.wake(0, ALL)).isEqualTo(100);
        crew.join();
        assertThat(chosen).hasValue(100);
    }

    /** As in C: who is woken joins again at its old place, in front; a wake-up of all must end all the same. */
    @Test
    void wakingAllEndsThoughTheWokenJoinAgain() throws Exception {
        int waiters = 100;
        java.util.concurrent.atomic.AtomicBoolean stop = new java.util.concurrent.atomic.AtomicBoolean();
        for (int i = 0; i < waiters; i++) {
            boolean virtual = i % 2 == 0;
            int before = length();
            crew.start(virtual, () -> {
                int slot = Crew.slot(domain);
                int place = queue.enter(slot, false);
                while (!stop.get()) {
                    queue.sleep(slot, place, -1, false);
                }
                queue.leave(slot, place, true);
                Slots.release(domain, slot);
            });
            Crew.await("in line", () -> length() == before + 1);
        }
        for (int i = 0; i < 20; i++) {
            assertThat(queue.wake(0, ALL)).isLessThanOrEqualTo(waiters);
        }
        stop.set(true);
        Crew.await("all gone", () -> {
            queue.wake(0, ALL);
            return length() == 0;
        });
        crew.join();
    }

    @Test
    void memoryThatHoldsNoQueueIsRefused() {
        int slot = Crew.slot(domain);
        int beyond = Layouts.DEFAULT_SLOTS * Layouts.NESTING + 1;
        int[][] damaged = { // lock, head, tail
            {0, -1, -1}, {0, beyond, beyond}, {0, 5, 0}, {0, 0, 5}, {0, 5, beyond}, {0x7fffffff, 0, 0}, {-1, -1, -1}, {4, 0, 0}
        };
        for (int[] words : damaged) {
            domain.memory.set(line + Shape.WAITQ_LOCK, words[0]);
            domain.memory.set(line + Shape.WAITQ_HEAD, words[1]);
            domain.memory.set(line + Shape.WAITQ_TAIL, words[2]);
            assertThat(queue.enter(slot, true)).isEqualTo(-Layouts.EINVAL);
            if (words[0] != 0 || words[1] != 0) {
                assertThat(queue.wake(0, 1)).isEqualTo(-Layouts.EINVAL);
            }
            assertThat(domain.memory.get(domain.slotAt(slot) + Shape.THREAD_DEPTH)).isZero();
            assertThat(domain.memory.get(line + Shape.WAITQ_LOCK)).isEqualTo(words[0]);
            assertThat(domain.memory.get(line + Shape.WAITQ_HEAD)).isEqualTo(words[1]);
        }
        domain.memory.set(line + Shape.WAITQ_LOCK, 0);
        domain.memory.set(line + Shape.WAITQ_HEAD, 0);
        domain.memory.set(line + Shape.WAITQ_TAIL, 0);
        assertThat(queue.leave(slot, 0, true)).isEqualTo(-Layouts.EINVAL);
        assertThat(queue.sleep(slot, 0, 0, false)).isEqualTo(-Layouts.EINVAL);
        Slots.release(domain, slot);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void timesOutAndIsInterrupted(boolean virtual) throws Exception {
        sleeper(virtual, true, 10 * MS);
        crew.join();
        assertThat(timedOut).hasValue(1);
        int slot = Crew.slot(domain);
        int place = queue.enter(slot, true);
        Thread.currentThread().interrupt();
        assertThat(queue.sleep(slot, place, -1, true)).isEqualTo(-Layouts.EINTR);
        assertThat(Thread.interrupted()).isFalse();
        Slots.interrupt(domain, slot);
        assertThat(queue.sleep(slot, place, -1, true)).isEqualTo(-Layouts.EINTR);
        Thread.currentThread().interrupt();
        assertThat(queue.sleep(slot, place, MS, false)).isEqualTo(-Layouts.ETIMEDOUT);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(queue.leave(slot, place, false)).isZero();
        assertThat(length()).isZero();
    }

    @Test
    void unusedWakeUpIsPassedOn() throws Exception {
        int slot = Crew.slot(domain);
        int place = queue.enter(slot, true);
        sleeper(true, true, -1);
        assertThat(queue.wake(0, 1)).isEqualTo(1); // chooses us, who have never slept
        assertThat(queue.leave(slot, place, false)).isZero();
        crew.join();
        assertThat(chosen).hasValue(1);
    }

    @Test
    void whoSleepsAgainKeepsItsPlace() throws Exception {
        int slot = Crew.slot(domain);
        int place = queue.enter(slot, true);
        sleeper(true, true, 20_000 * MS);
        assertThat(queue.wake(0, 1)).isEqualTo(1);
        assertThat(queue.sleep(slot, place, -1, false)).isZero(); // chosen
        assertThat(queue.sleep(slot, place, -1, false)).isZero(); // joins again
        assertThat(queue.wake(0, 1)).isEqualTo(1);
        assertThat(queue.sleep(slot, place, -1, false)).isZero();
        assertThat(queue.leave(slot, place, false)).isZero();
        crew.join();
        assertThat(chosen).hasValue(1);
    }

    @Test
    void badArgumentsAreRefused() {
        int slot = Crew.slot(domain);
        assertThatIllegalArgumentException().isThrownBy(() -> new PureWaitQueue(domain, domain.memory, line + 2));
        assertThat(queue.enter(0, false)).isEqualTo(-Layouts.EINVAL);
        assertThat(queue.sleep(slot, 0, -1, false)).isEqualTo(-Layouts.EINVAL);
        assertThat(queue.leave(slot, 0, false)).isEqualTo(-Layouts.EINVAL);
        assertThat(queue.wake(0, -1)).isEqualTo(-Layouts.EINVAL);
        assertThat(queue.wake(200, 1)).isEqualTo(-Layouts.EINVAL);
        int outer = queue.enter(slot, false);
        int inner = queue.enter(slot, false);
        assertThat(queue.leave(slot, outer, false)).as("not the last that was entered").isEqualTo(-Layouts.EINVAL);
        assertThat(queue.leave(slot, inner, false)).isZero();
        assertThat(queue.leave(slot, outer, false)).isZero();
    }
}
