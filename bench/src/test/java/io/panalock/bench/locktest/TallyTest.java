// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.locktest;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Bug row 20: minimum and maximum come from acquisitions of all threads, and from nothing else. */
class TallyTest {
    @Test
    void countsAcquisitionsOfAllThreads() {
        Tally t = Tally.of(new long[] {30, 0, 10, 20}, 2_000_000_000L, 2);
        assertThat(t.min()).isZero();
        assertThat(t.max()).isEqualTo(30);
        assertThat(t.total()).isEqualTo(60);
        assertThat(t.mean()).isEqualTo(15);
        assertThat(t.maxOverMean()).isEqualTo(2);
        assertThat(t.kops()).isEqualTo(0.03);
        assertThat(t.kopsPerCpu()).isEqualTo(0.015);
    }

    @Test
    void noMoreCpusThanThreads() {
        assertThat(Tally.of(new long[] {8_000}, 1_000_000_000L, 64).kopsPerCpu()).isEqualTo(8);
    }

    @Test
    void nobodyGotAnything() {
        Tally t = Tally.of(new long[2], 1_000_000_000L, 2);
        assertThat(t.maxOverMean()).isZero();
        assertThat(t.min()).isZero();
    }

    /** The published figures of the kernel's mutex: the words and the arithmetic are theirs. */
    @Test
    void speaksAsTheOriginal() {
        long[] counts = new long[224];
        java.util.Arrays.fill(counts, 123_143);
        counts[0] = 316;
        counts[1] = 2 * 123_143 - 316;
        assertThat(Tally.of(counts, 10_000_000_000L, 224).lines())
                .isEqualToNormalizingNewlines("Threads = 224, Min/Mean/Max = 316/123143/245970\n"
                        + "Threads = 224, Total Rate = 2758 kop/s; Percpu Rate = 12 kop/s");
    }
}
