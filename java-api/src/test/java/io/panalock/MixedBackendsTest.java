// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Objects of different backends and policies on one word exclude each other. */
class MixedBackendsTest {
    private static final int ROUNDS = 4000;

    static Stream<Arguments> pairs() {
        List<Arguments> all = new ArrayList<>();
        for (Layout layout : Layout.values()) {
            for (Backend a : Backend.values()) {
                for (Backend b : Backend.values()) {
                    if (a.compareTo(b) <= 0) {
                        all.add(Arguments.of(layout, a, b));
                    }
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void excludeEachOther(Layout layout, Backend a, Backend b) throws Exception {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(64, 64);
            for (WaitPolicy p : WaitPolicy.values()) {
                for (WaitPolicy q : WaitPolicy.values()) {
                    QSpinLock one = lock(layout, a, p, memory);
                    QSpinLock two = lock(layout, b, q, memory);
                    // Spinners in a queue need a CPU each.
                    boolean spin = p == WaitPolicy.SPIN && q == WaitPolicy.SPIN;
                    count(one, two, spin ? 1 : 2, spin ? ROUNDS / 10 : ROUNDS);
                }
            }
        }
    }

    private static QSpinLock lock(Layout layout, Backend backend, WaitPolicy policy, MemorySegment memory) {
        return QSpinLock.builder().layout(layout).backend(backend).policy(policy).at(memory, 0);
    }

    /** Two threads that add to a plain counter, on each side. */
    private static void count(QSpinLock one, QSpinLock two, int perSide, int rounds) throws InterruptedException {
        long[] counter = {0};
        boolean[] inside = {false};
        List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
        CountDownLatch ready = new CountDownLatch(2 * perSide);
        Thread[] threads = new Thread[2 * perSide];
        for (int i = 0; i < threads.length; i++) {
            QSpinLock lock = i % 2 == 0 ? one : two;
            threads[i] = Thread.ofPlatform().start(() -> {
                try {
                    ready.countDown();
                    ready.await();
                    for (int n = 0; n < rounds; n++) {
                        lock.lock();
                        try {
                            if (inside[0]) {
                                throw new AssertionError("two inside");
                            }
                            inside[0] = true;
                            counter[0]++;
                            inside[0] = false;
                        } finally {
                            lock.unlock();
                        }
                    }
                } catch (Throwable e) {
                    failures.add(e);
                }
            });
        }
        Eventually.join(threads);
        assertThat(failures).isEmpty();
        assertThat(counter[0]).isEqualTo((long) threads.length * rounds);
        assertThat(one.isLocked()).isFalse();
        assertThat(two.isContended()).isFalse();
    }
}
