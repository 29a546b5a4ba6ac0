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
        Line.lock(domain, domain.memory, line, 0);
        for (int i = Line.find(domain, domain.memory, line, 0, 0); i != 0; i = Line.find(domain, domain.memory, line, i, 0)) {
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
