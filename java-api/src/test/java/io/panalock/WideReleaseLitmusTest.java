// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.panalock.internal.Words;
import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The store-buffer litmus behind the WIDE layout. A releaser stores one word and loads another, without a fence, as
 * {@link WholeWide#unlock} does; a sleeper stores the second and loads the first, with the heavy fence between. Never may
 * both loads miss the other's store. The control, without any fence, must show that outcome, or the test proves nothing.
 */
class WideReleaseLitmusTest {
    private static final int BATCH = 64; // pairs of words for one meeting of the two threads
    private static final long LINE = 64;

    private static long[] unseen(boolean fence, long millis) throws Exception {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment words = arena.allocate(BATCH * 2 * LINE, LINE);
            MemorySegment turn = arena.allocate(2 * LINE, LINE);
            int[] releaserSaw = new int[BATCH];
            int[] sleeperSaw = new int[BATCH];
            long[] stop = {0};
            Thread releaser = Thread.ofPlatform().start(() -> {
                for (int round = 1; ; round++) {
                    await(turn, 0, round);
                    if (stop[0] != 0) {
                        return;
                    }
                    for (int i = 0; i < BATCH; i++) {
                        releaserSaw[i] = release(words.address() + i * 2 * LINE);
                    }
                    Words.INT.setVolatile(turn, LINE, round);
                }
            });
            long both = 0;
            long total = 0;
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
            int round = 0;
            while (System.nanoTime() - end < 0) {
                round++;
                words.fill((byte) 0);
                Words.INT.setVolatile(turn, 0L, round);
                for (int i = 0; i < BATCH; i++) {
                    sleeperSaw[i] = park(words.address() + i * 2 * LINE, fence);
                }
                await(turn, LINE, round);
                for (int i = 0; i < BATCH; i++) {
                    both += releaserSaw[i] == 0 && sleeperSaw[i] == 0 ? 1 : 0;
                }
                total += BATCH;
            }
            stop[0] = 1;
            Words.INT.setVolatile(turn, 0L, round + 1);
            Eventually.join(releaser);
            return new long[] {both, total};
        }
    }

    private static void await(MemorySegment turn, long offset, int round) {
        for (int i = 0; (int) Words.INT.getVolatile(turn, offset) != round; i++) {
            Thread.onSpinWait();
            if (i > 10_000) {
                LockSupport.parkNanos(1);
            }
        }
    }

    /** Releases "owner" and looks at "queue", each on a cache line of its own. */
    private static int release(long address) {
        Words.INT.setRelease(Words.Whole.ALL, address, 1);
        return (int) Words.INT.getOpaque(Words.Whole.ALL, address + LINE);
    }

    private static int park(long address, boolean fence) {
        Words.INT.setOpaque(Words.Whole.ALL, address + LINE, 1);
        if (fence) {
            panalock_h.pl_heavy_fence(0);
        }
        return (int) Words.INT.getOpaque(Words.Whole.ALL, address);
    }

    @BeforeEach
    void fencesThatTwoCpusNeed() {
        assumeTrue(!Words.RELEASE_NEEDS_FENCE, "releases are fenced here");
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "one CPU reorders nothing");
    }

    @Test
    void theHeavyFenceOrdersBothSides() throws Exception {
        long[] fenced = unseen(true, 1500);
        System.out.println("store-buffer litmus: fenced " + fenced[0] + " of " + fenced[1]);
        assertThat(fenced[0]).isZero();
    }

    /** Not in an emulator, which takes so long from the store to the load that the store has arrived. */
    @Test
    @Tag("hardware")
    void withoutItBothSidesMissEachOther() throws Exception {
        long[] control = unseen(false, 500);
        for (int i = 0; i < 10 && control[0] == 0; i++) {
            control = unseen(false, 1000);
        }
        System.out.println("store-buffer litmus: control " + control[0] + " of " + control[1]);
        assertThat(control[0]).as("the control shows the reordering").isPositive();
    }
}
