// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.Layouts;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** 64 threads on one OSQ or mutex, of which half leave at random: at the end the queue is empty and nobody is stuck. */
class PureLeaversTest {
    private static final int THREADS = 64;
    private static final int US = 1000;
    private static final Duration WHOLE = Duration.ofSeconds(60);

    private Arena arena;
    private PureDomain domain;
    private Crew crew;
    private long counter; // guarded by the lock under test
    private final AtomicLong taken = new AtomicLong();
    private final AtomicLong left = new AtomicLong();
    private final AtomicBoolean stop = new AtomicBoolean();

    @BeforeEach
    void create() {
        arena = Arena.ofShared();
        domain = PureDomain.create(arena, THREADS + 2, 2, 0, Waker.NONE);
    }

    @AfterEach
    void close() {
        if (crew.isDone()) { // after a failure threads may still wait in the domain
            arena.close();
        }
    }

    private interface Waits {
        /** Acquires, or leaves if it is one that may. */
        int take(int slot, boolean leaver, SplittableRandom random);

        void release(int slot);
    }

    private static long limit(boolean leaver, SplittableRandom random) {
        return leaver && random.nextBoolean() ? random.nextLong(200 * US) : -1;
    }

    private Waits osq(long queue) {
        return new Waits() {
            @Override
            public int take(int slot, boolean leaver, SplittableRandom random) {
                int flags = random.nextBoolean() ? Layouts.WAIT_POLL : 0;
                boolean moody = leaver && random.nextBoolean();
                return PureOsq.lock(domain, domain.memory, queue, slot, flags, limit(leaver, random),
                        moody ? () -> random.nextInt(16) == 0 : null);
            }

            @Override
            public void release(int slot) {
                assertThat(PureOsq.unlock(domain, domain.memory, queue, slot)).isZero();
            }
        };
    }

    private Waits mutex(LockWord lock) {
        return new Waits() {
            @Override
            public int take(int slot, boolean leaver, SplittableRandom random) {
                int flags = random.nextBoolean() ? Layouts.WAIT_BLOCK : 0;
                if (leaver && random.nextInt(4) == 0) {
                    Thread.currentThread().interrupt();
                }
                return PureMutex.lock(domain, lock, leaver ? flags | Layouts.WAIT_INTERRUPTIBLE : flags,
                        limit(leaver, random), slot);
            }

            @Override
            public void release(int slot) {
                assertThat(PureMutex.unlock(domain, lock, slot)).isZero();
            }
        };
    }

    private void comeAndGo(int index, Waits waits) {
        int slot = Crew.slot(domain);
        boolean leaver = index % 2 == 1;
        SplittableRandom random = new SplittableRandom(index);
        while (!stop.get()) {
            int result = waits.take(slot, leaver, random);
            if (result == 0) {
                counter++;
                taken.getAndIncrement();
                if (random.nextInt(64) == 0) {
                    Thread.yield();
                }
                waits.release(slot);
            } else {
                assertThat(leaver).as("leaves with " + result).isTrue();
                left.getAndIncrement();
            }
        }
        Thread.interrupted();
        assertThat(Slots.release(domain, slot)).isZero();
    }

    private void crowd(Waits waits, Duration length) throws Exception {
        crew = new Crew(length.plus(Crew.LIMIT));
        counter = 0;
        taken.set(0);
        left.set(0);
        stop.set(false);
        for (int i = 0; i < THREADS; i++) {
            int index = i;
            crew.start(false, () -> comeAndGo(index, waits));
        }
        Thread.sleep(length);
        Crew.await("some have it, some leave", () -> taken.get() > 0 && left.get() > 0);
        stop.set(true);
        crew.join();
        assertThat(counter).isEqualTo(taken.get());
    }

    private void both(Duration each) throws Exception {
        long queue = Pool.take(domain);
        crowd(osq(queue), each);
        assertThat(domain.memory.get(queue)).as("tail").isZero();
        LockWord lock = PureMutex.at(domain.memory, Pool.take(domain));
        crowd(mutex(lock), each);
        assertThat(lock.bits()).as("bits left behind").isZero();
        assertThat(PureMutex.owner(lock)).isZero();
    }

    @Tag("pure")
    @Test
    void queueStaysWholeWhenHalfLeave() throws Exception {
        both(Duration.ofMillis(700));
    }

    @Tag("soak")
    @Test
    void queueStaysWholeForAMinute() throws Exception {
        both(WHOLE.multipliedBy(Integer.getInteger("panalock.soak.percent", 1)).dividedBy(100));
    }
}
