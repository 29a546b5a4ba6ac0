// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where only PURE can be had: the record, the search and the limits are Java's own. */
@Tag("pure")
@Timeout(120)
class RqSpinLockWithoutLibraryTest {
    private static RqSpinLock make(Layout layout, String name) {
        return RqSpinLock.builder().backend(Backend.PURE).layout(layout).name(name).allocate();
    }

    @Test
    void locksUnlocksAndRefusesItsOwn() throws Exception {
        for (Layout layout : Layout.values()) {
            RqSpinLock lock = make(layout, "own");
            try (var held = lock.acquire()) {
                assertThat(held).isNotNull();
                assertThatThrownBy(lock::lock).isInstanceOf(DeadlockException.class);
                assertThat(lock.tryLock()).isFalse();
                assertThat(Panalock.dump()).contains("holds \"own\"");
            }
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThat(lock.tryLock(Duration.ofMillis(1))).isTrue();
            lock.unlock();
        }
    }

    @Test
    void aCircleLosesOneThread() throws Exception {
        for (int round = 0; round < 20; round++) {
            int length = 2 + round % 4;
            List<RqSpinLock> locks = new ArrayList<>();
            for (int i = 0; i < length; i++) {
                locks.add(make(Layout.values()[round % 3], "L" + i));
            }
            CyclicBarrier start = new CyclicBarrier(length);
            var deadlocks = new ConcurrentLinkedQueue<DeadlockException>();
            var others = new ConcurrentLinkedQueue<Throwable>();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < length; i++) {
                int n = i;
                threads.add((i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual()).name("T" + i).start(() -> {
                    try (var held = locks.get(n).acquire()) {
                        assertThat(held).isNotNull();
                        start.await();
                        assertThat(locks.get((n + 1) % length).tryLock(Duration.ofSeconds(60))).isTrue();
                        locks.get((n + 1) % length).unlock();
                    } catch (DeadlockException e) {
                        deadlocks.add(e);
                    } catch (Throwable t) {
                        others.add(t);
                    }
                }));
            }
            for (Thread t : threads) {
                t.join();
            }
            assertThat(others).isEmpty();
            assertThat(deadlocks).hasSize(1);
            assertThat(deadlocks.peek().cycle()).hasSize(length);
        }
    }
}
