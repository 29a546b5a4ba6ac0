// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.Layouts;
import io.panalock.internal.Parking;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Virtual and platform threads, every way to wait, random limits and interruptions: no overlap, no lost wake-up. */
class PureHammerTest {
    private static final int PLATFORM = 6;
    private static final int VIRTUAL = 24;

    private Thread[] threads;
    private long inside; // guarded by the lock under test
    private final AtomicLong taken = new AtomicLong();
    private final AtomicInteger left = new AtomicInteger();

    @Tag("pure")
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void everyWait(int layout) throws Exception {
        hammer(layout, Duration.ofMillis(1500), Pacer.REAL);
    }

    /** The watch timer, meant for waiters that were killed, would hide a wake-up that got lost. */
    @Tag("pure")
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void noWakeUpIsLostWithoutTheWatchTimer(int layout) throws Exception {
        hammer(layout, Duration.ofMillis(1500), new NoWatch());
    }

    @Tag("soak")
    @Test
    void tenMinutes() throws Exception {
        int percent = Integer.getInteger("panalock.soak.percent", 1);
        Duration each = Duration.ofSeconds(100).multipliedBy(percent).dividedBy(100);
        for (int layout = Layouts.LAYOUT_WORD; layout <= Layouts.LAYOUT_WIDE; layout++) {
            hammer(layout, each, Pacer.REAL);
            hammer(layout, each, new NoWatch());
        }
    }

    private void hammer(int layout, Duration length, Pacer pacer) throws Exception {
        DomainFormat format = DomainFormat.plan(PLATFORM + VIRTUAL + 1, 1);
        MemorySegment segment = Arena.ofAuto().allocate(format.size(), 4096);
        format.format(Memory.of(segment), segment.address(), 0);
        PureDomain domain = new PureDomain(
                Memory.of(segment), segment.address(), Waker.NONE, pacer, new Parking(format.slots()), 1, 0);
        domain.memory.set(domain.processAt(0) + Shape.PROCESS_PID, 1);
        LockWord lock = LockWord.at(domain.memory, Pool.take(domain), layout);
        long end = System.nanoTime() + length.toNanos();
        Crew crew = new Crew(length.plus(Crew.LIMIT));
        threads = new Thread[PLATFORM + VIRTUAL];
        inside = 0;
        taken.set(0);
        left.set(0);
        for (int i = 0; i < threads.length; i++) {
            long seed = i;
            threads[i] = crew.start(i >= PLATFORM, () -> work(domain, lock, end, new SplittableRandom(seed)));
        }
        SplittableRandom random = new SplittableRandom(4711);
        long before = -1;
        for (long now; (now = System.nanoTime()) < end; ) {
            for (long next = now + 500_000_000; System.nanoTime() < Math.min(next, end); ) {
                threads[random.nextInt(threads.length)].interrupt();
                Thread.sleep(0, 200_000);
            }
            long last = before;
            Crew.await("acquisitions go on", () -> taken.get() > last);
            before = taken.get();
        }
        crew.join();
        assertThat(inside).isEqualTo(taken.get());
        assertThat(lock.bits()).as("bits left behind").isZero();
        assertThat(taken.get()).isPositive();
        assertThat(left.get()).as("waits that gave up").isPositive();
    }

    private void work(PureDomain domain, LockWord lock, long end, SplittableRandom random) throws Exception {
        int slot = Crew.slot(domain);
        while (System.nanoTime() < end) {
            int flags = random.nextInt(4); // policy and interruptibility
            long limit = random.nextInt(3) == 0 ? -1 : random.nextLong(NoWatch.LONGEST_LIMIT);
            int result = QSpin.lock(domain, lock, flags, limit, slot);
            if (result == 0) {
                inside++;
                hold(random);
                taken.getAndIncrement();
                QSpin.unlock(domain, lock, slot);
            } else {
                assertThat(result).isIn(-Layouts.ETIMEDOUT, -Layouts.EINTR);
                left.getAndIncrement();
            }
            pause(random.nextInt(8));
        }
        Thread.interrupted();
        assertThat(Slots.release(domain, slot)).isZero();
    }

    /** Now and then long, now and then unmounted. */
    private static void hold(SplittableRandom random) {
        int what = random.nextInt(400);
        if (what == 0) {
            boolean interrupted = Thread.interrupted();
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        } else if (what < 20) {
            Thread.yield();
        }
    }

    private static void pause(int what) {
        if (what == 0) {
            Thread.yield();
        } else {
            for (int i = 0; i < what * 50; i++) {
                Thread.onSpinWait();
            }
        }
    }
}
