// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.bench.contend.ContendedPoint.Mode;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a contended run reports adds up, in C and in Java. Windows are short: nothing here is about speed. */
class ContendedTest {
    private static final long WARM_NS = 1_000_000;
    private static final long WINDOW_NS = 20_000_000;
    private static final List<String> IDS = List.of("hybrid-wide-pool", "hybrid-word-arena", "ffm-word-pool",
            "ffm_critical-wide-pool", "jni-byte-pool", "pure-wide-pool", "hybrid-word-pool-spin", Locks.REENTRANT_LOCK,
            Locks.REENTRANT_LOCK_FAIR, Locks.STAMPED_LOCK, Locks.SYNCHRONIZED, Locks.MUTEX_FFM, Locks.MUTEX_JNI,
            Locks.ADAPTIVE_FFM, Locks.SPIN_FFM, "c-word", "c-byte", "c-wide", "c-word-exported",
            "c-wide-spin", "c-pthread-mutex", "c-pthread-spin");

    @Test
    void throughputCountsPerThreadAndNeverMoreThanThereWere() {
        for (String id : IDS) {
            ContendedPoint point = new ContendedPoint(3, 50, 50, Mode.THROUGHPUT);
            Outcome o = Locks.open(id).contend(point, WARM_NS, WINDOW_NS);
            // On a busy machine nobody may get to run in so short a window, least of all with a spinlock.
            for (int i = 0; o.all() == 0 && i < 50; i++) {
                o = Locks.open(id).contend(point, WARM_NS, WINDOW_NS);
            }
            assertThat(o.counts()).as(id).hasSize(3);
            assertThat(o.all()).as(id).isPositive();
            assertThat(o.total()).as(id).isBetween(0L, o.all());
            assertThat(o.windowNs()).as(id).isGreaterThanOrEqualTo(WINDOW_NS);
            assertThat(o.jain()).as(id).isBetween(o.total() == 0 ? 0 : 1.0 / 3 - 1e-9, 1.0 + 1e-9);
            assertThat(o.handovers()).as(id).isBetween(1L, o.all());
            assertThat(o.latencies()).as(id).isEmpty();
            assertThat(o.longestNs()).as(id).isZero();
        }
    }

    /** No CPU gets through a loop in a fifth of a nanosecond, and no two are inside at a time. */
    @Test
    void pausesInsideAreMade() {
        final int pauses = 200_000;
        for (String id : List.of("hybrid-wide-pool", Locks.REENTRANT_LOCK, "c-wide", "c-pthread-mutex")) {
            Lock lock = Locks.open(id);
            long from = System.nanoTime();
            Outcome o = lock.contend(new ContendedPoint(2, 0, pauses, 0, Mode.THROUGHPUT, false), WARM_NS, WINDOW_NS);
            assertThat(o.all() * (pauses / 5)).as(id).isLessThanOrEqualTo(System.nanoTime() - from);
        }
        assertThat(new ContendedPoint(2, 0, pauses, 0, Mode.THROUGHPUT, false).params()).containsEntry("inside_pauses", pauses);
        assertThatThrownBy(() -> new ContendedPoint(2, 0, -1, 0, Mode.LATENCY, false)).hasMessageContaining("negative");
    }

    @Test
    void latencyRecordsEveryAcquisitionCounted() {
        for (String id : IDS) {
            Outcome o = Locks.open(id).contend(new ContendedPoint(3, 0, 0, Mode.LATENCY), WARM_NS, WINDOW_NS);
            assertThat(o.latencies().orElseThrow().getTotalCount()).as(id).isEqualTo(o.total());
            assertThat(o.latencies().orElseThrow().getMaxValue())
                    .as(id)
                    .isBetween((long) (o.longestNs() * 0.98), (long) (o.longestNs() * 1.02) + 2);
        }
    }

    /** The last acquisition of a thread that waits at the stop ends after the window; it is the one that matters most. */
    @Test
    void aThreadThatWaitsThroughTheWindowCountsNothingButItsWaitIsRecorded() throws InterruptedException {
        JavaLock lock = (JavaLock) Locks.open(Locks.REENTRANT_LOCK);
        Control control = new Control();
        Worker worker = new Worker(control, 1, 0, 0, true);
        Worker counting = new Worker(control, 2, 0, 0, false);
        var held = heldLock(lock);
        held.lock();
        Thread timed = Thread.ofPlatform().start(() -> lock.loop().latency(worker));
        Thread counted = Thread.ofPlatform().start(() -> lock.loop().throughput(counting));
        while (held.getQueueLength() < 2) {
            Thread.onSpinWait();
        }
        control.enter(Control.MEASURE);
        long from = System.nanoTime();
        while (System.nanoTime() - from < WINDOW_NS) {
            Thread.onSpinWait();
        }
        control.enter(Control.STOP);
        held.unlock();
        timed.join();
        counted.join();
        assertThat(worker.counted()).isEqualTo(1);
        assertThat(worker.longestNs()).isGreaterThanOrEqualTo(WINDOW_NS);
        assertThat(counting.all()).isEqualTo(1);
        assertThat(counting.counted()).isZero();
    }

    private static java.util.concurrent.locks.ReentrantLock heldLock(JavaLock lock) {
        try {
            var field = lock.loop().getClass().getDeclaredField("lock");
            field.setAccessible(true);
            return (java.util.concurrent.locks.ReentrantLock) field.get(lock.loop());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aLockThatDoesNotExcludeIsFoundOut() {
        JavaLock broken = new JavaLock("broken", java.util.Map.of("lock", "none"), "ReentrantLockLoop");
        broken.loop().reset();
        Control control = new Control();
        control.enter(Control.STOP);
        Worker worker = new Worker(control, 1, 0, 0, false);
        broken.loop().throughput(worker);
        assertThat(broken.loop().protectedCount()).isEqualTo(worker.all());
    }

    @Test
    void pinnedPointsSaySo() {
        ContendedPoint pinned = new ContendedPoint(2, 0, 0, Mode.THROUGHPUT, true);
        assertThat(pinned.params()).containsEntry("pinned", "yes");
        assertThat(new ContendedPoint(2, 0, 0, Mode.THROUGHPUT).params()).doesNotContainKey("pinned");
        for (String id : List.of(Locks.REENTRANT_LOCK, "c-wide")) {
            assertThat(Locks.open(id).contend(pinned, WARM_NS, WINDOW_NS).all()).as(id).isPositive();
        }
    }

    /** A lock of a library that is there is measured; one that is not says so. */
    @Test
    void locksOfAbsentLibrariesAreKnownButNotMeasured() {
        assertThat(Locks.inC()).contains("c-wide", "c-bare").noneMatch(Locks.notBuilt()::contains);
        for (String id : Locks.notBuilt()) {
            assertThatThrownBy(() -> Locks.open(id).contend(new ContendedPoint(2, 0, 0, Mode.THROUGHPUT), 1, 1))
                    .hasMessageContaining("not built");
        }
        for (String id : Locks.inC()) {
            if (Locks.forSeveralThreads(id)) {
                Outcome o = Locks.open(id).contend(new ContendedPoint(2, 0, 0, Mode.THROUGHPUT), WARM_NS, WINDOW_NS);
                assertThat(o.all()).as(id).isPositive();
            }
        }
    }

    @Test
    void pointsOutOfRangeAreRefused() {
        assertThatThrownBy(() -> new ContendedPoint(0, 0, 0, Mode.LATENCY)).hasMessageContaining("1 to 1024");
        assertThatThrownBy(() -> new ContendedPoint(2, -1, 0, Mode.LATENCY)).hasMessageContaining("negative");
        assertThatThrownBy(() -> Locks.open("c-bare")
                        .contend(new ContendedPoint(2, 0, 0, Mode.THROUGHPUT), WARM_NS, WINDOW_NS))
                .hasMessageContaining("out of range");
    }
}
