// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.peer.CPeers;
import org.junit.jupiter.api.Test;

class CalibrationTest {
    /** The same work, or "100 ns inside" would mean two things. */
    @Test
    void workInJavaAndInCIsTheSameChain() {
        LockLoop loop = ((JavaLock) Locks.open(Locks.REENTRANT_LOCK)).loop();
        for (long seed : new long[] {0, 1, -1, 0x123456789abcdefL}) {
            for (int steps : new int[] {0, 1, 2, 3, 17, 100_000}) {
                assertThat(loop.work(seed, steps)).as(seed + "/" + steps).isEqualTo(CPeers.work(seed, steps));
            }
        }
    }

    /** A chain that a compiler can fold needs less than a clock cycle a step. No CPU does a multiplication in that. */
    @Test
    void aStepIsARealOne() {
        LockLoop loop = ((JavaLock) Locks.open(Locks.SYNCHRONIZED)).loop();
        assertThat(loop.stepNs()).isPositive().isFinite();
        assertThat(CPeers.calibrate()).isPositive().isFinite();
    }

    @Test
    void bucketsCoverAllValuesWithoutGapAndWithinHalfAPerCent() {
        for (int bucket = 0; bucket < (40 - 8 + 1) * 256; bucket++) {
            long floor = CPeers.bucketFloor(bucket);
            assertThat(CPeers.bucketOf(floor)).isEqualTo(bucket);
            if (bucket > 0) {
                assertThat(CPeers.bucketOf(floor - 1)).isEqualTo(bucket - 1);
                assertThat(floor - CPeers.bucketFloor(bucket - 1)).isLessThanOrEqualTo(Math.max(1, floor / 256));
            }
        }
        assertThat(CPeers.bucketOf(Long.MAX_VALUE)).isEqualTo((40 - 8 + 1) * 256 - 1);
    }

    @Test
    void bucketsBecomeAHistogramWithTheSameCounts() {
        long[] buckets = new long[(40 - 8 + 1) * 256];
        buckets[CPeers.bucketOf(30)] = 90;
        buckets[CPeers.bucketOf(1_000_000)] = 9;
        buckets[CPeers.bucketOf(80_000_000)] = 1;
        var histogram = CLock.histogram(buckets);
        assertThat(histogram.getTotalCount()).isEqualTo(100);
        assertThat(histogram.getValueAtPercentile(50)).isEqualTo(30);
        assertThat(histogram.getValueAtPercentile(99)).isBetween(990_000L, 1_010_000L);
        assertThat(histogram.getMaxValue()).isBetween(79_000_000L, 81_000_000L);
    }
}
