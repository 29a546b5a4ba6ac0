// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.result;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class StatsTest {
    private static final double EXACT = 1e-12;

    @Test
    void medianOfOddAndEvenNumbersOfValuesInAnyOrder() {
        assertThat(Stats.median(3, 1, 2)).isEqualTo(2);
        assertThat(Stats.median(4, 1, 3, 2)).isEqualTo(2.5);
        assertThat(Stats.median(7)).isEqualTo(7);
    }

    @Test
    void percentilesInterpolateBetweenTheNearestRanks() {
        double[] values = {50, 10, 40, 20, 30};
        assertThat(Stats.percentile(values, 0)).isEqualTo(10);
        assertThat(Stats.percentile(values, 100)).isEqualTo(50);
        assertThat(Stats.percentile(values, 25)).isEqualTo(20);
        assertThat(Stats.percentile(values, 90)).isCloseTo(46, within(EXACT));
        assertThat(values).containsExactly(50, 10, 40, 20, 30);
    }

    @Test
    void spreadIsHalfTheDistanceBetweenTheTenthAndTheNinetiethPercentile() {
        double[] values = new double[101];
        for (int i = 0; i <= 100; i++) {
            values[i] = i;
        }
        assertThat(Stats.spread(values)).isCloseTo(40, within(EXACT));
        assertThat(Stats.spread(5)).isZero();
    }

    @Test
    void oneOutlierInTwentyDoesNotChangeMedianAndSpreadMuch() {
        double[] values = new double[21];
        for (int i = 0; i < 20; i++) {
            values[i] = 10 + i % 2;
        }
        values[20] = 1e9;
        assertThat(Stats.median(values)).isBetween(10.0, 11.0);
        assertThat(Stats.spread(values)).isLessThanOrEqualTo(1);
    }

    @Test
    void minMeanMax() {
        assertThat(Stats.min(3, 1, 2)).isEqualTo(1);
        assertThat(Stats.mean(3, 1, 2)).isEqualTo(2);
        assertThat(Stats.max(3, 1, 2)).isEqualTo(3);
    }

    @Test
    void jainIsOneWhenEqualAndOneInNWhenOneThreadGetsAll() {
        assertThat(Stats.jain(new long[] {5, 5, 5, 5})).isCloseTo(1, within(EXACT));
        assertThat(Stats.jain(new long[] {8, 0, 0, 0})).isCloseTo(0.25, within(EXACT));
        assertThat(Stats.jain(new long[] {1, 2, 3})).isCloseTo(36.0 / 42, within(EXACT));
        assertThat(Stats.jain(new long[] {0, 0})).isZero();
    }

    @Test
    void jainDoesNotOverflow() {
        long large = 4_000_000_000_000_000_000L;
        assertThat(Stats.jain(new long[] {large, large, large, large})).isCloseTo(1, within(EXACT));
    }

    @Test
    void ratiosPairRepeatByRepeat() {
        assertThat(Stats.ratios(new double[] {2, 9}, new double[] {1, 3})).containsExactly(2, 3);
    }

    @Test
    void nothingHasNoStatistics() {
        assertThatThrownBy(Stats::median).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Stats.jain(new long[0])).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Stats.percentile(new double[] {1}, 101)).hasMessageContaining("101");
    }
}
