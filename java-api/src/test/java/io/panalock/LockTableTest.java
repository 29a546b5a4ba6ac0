// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class LockTableTest {
    @Test
    void hasTwoLocksOrTheNextPowerOfTwo() {
        int[][] expected = {{1, 2}, {2, 2}, {3, 4}, {4, 4}, {56, 64}, {96, 128}, {224, 256}, {65_537, 65_536}};
        for (int[] e : expected) {
            assertThat(LockTable.stripes(e[0])).isEqualTo(e[1]).isEqualTo(panalock_h.pl_table_stripes(e[0]));
        }
        assertThat(LockTable.stripes(Integer.MAX_VALUE)).isEqualTo(65_536);
        assertThatThrownBy(() -> LockTable.stripes(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> LockTable.of(2, () -> null)).isInstanceOf(NullPointerException.class);
        Lock one = new ReentrantLock();
        assertThatThrownBy(() -> LockTable.of(2, () -> one))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("same lock twice");
    }

    /** Bug row 38: a hash of no bits. */
    @Test
    void oneCpuHasTwoLocksAndEveryKeyOneOfThem() {
        LockTable<ReentrantLock> table = LockTable.of(1, ReentrantLock::new);
        assertThat(table.stripes()).isEqualTo(2);
        for (long key : new long[] {0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE}) {
            try (LockTable.Held _ = table.lock(key, key + 1)) {
                assertThat(table.get(key).isHeldByCurrentThread()).isTrue();
            }
        }
    }

    @Test
    void equalKeysHaveTheSameLockAndKeysAreSpread() {
        LockTable<ReentrantLock> table = LockTable.of(8, ReentrantLock::new);
        assertThat(table.get(new String("key"))).isSameAs(table.get("key"));
        long[] hits = new long[8];
        List<ReentrantLock> all = new ArrayList<>();
        for (long key = 0; key < 8000; key++) {
            ReentrantLock lock = table.get(key * 64);
            if (!all.contains(lock)) {
                all.add(lock);
            }
            hits[all.indexOf(lock)]++;
        }
        assertThat(Arrays.stream(hits)).allMatch(n -> n > 500 && n < 2000);
    }

    @Test
    void theSameBytesAndHashAsInC() {
        try (Arena arena = Arena.ofShared()) {
            long bytes = panalock_h.pl_table_size(4);
            MemorySegment memory = arena.allocate(bytes, 64);
            MemorySegment out = arena.allocate(8);
            assertThat(panalock_h.pl_table_init(memory, bytes, 4, out)).isZero();
            LockTable<QSpinLock> table = LockTable.at(4, i -> QSpinLock.at(memory, 64L * (i + 1)));
            int log = memory.get(JAVA_INT, 4);
            for (long key : new long[] {0, 1, -1, 64, 0x7fff_1234_5640L}) {
                long index = key * 0x9e3779b97f4a7c15L >>> 64 - log;
                assertThat(table.get(key).word.address()).isEqualTo(memory.address() + 64 * (index + 1));
            }
        }
    }

    static Stream<Supplier<Lock>> kinds() {
        return Stream.of(ReentrantLock::new, QSpinLock::allocate, () -> QSpinLock.builder()
                .backend(Backend.PURE)
                .allocate());
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void twoKeysAreLockedInOrderAndNeverDeadlock(Supplier<Lock> kind) throws Exception {
        int accounts = 32;
        LockTable<Lock> table = LockTable.of(4, kind);
        long[] balance = new long[accounts];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int seed = i;
            threads.add((i % 2 == 0 ? Thread.ofPlatform() : Thread.ofVirtual()).start(() -> {
                Random random = new Random(seed);
                for (int k = 0; k < 3000; k++) {
                    int from = random.nextInt(accounts);
                    int to = random.nextInt(accounts);
                    try (LockTable.Held held = k % 2 == 0 ? table.lock((long) from, to) : table.lock((long) to, from)) {
                        balance[from]--;
                        balance[to]++;
                        assertThat(held).isNotNull();
                    }
                }
            }));
        }
        for (Thread t : threads) {
            t.join();
        }
        long sum = 0;
        for (long b : balance) {
            sum += b;
        }
        assertThat(sum).isZero();
        LockTable.Held held = table.lock("a", "b");
        held.close();
        held.close(); // the second one releases nothing
        assertThat(table.get("a").tryLock()).isTrue();
        table.get("a").unlock();
    }
}
