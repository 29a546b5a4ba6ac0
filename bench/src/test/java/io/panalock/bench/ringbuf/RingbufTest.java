// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.panalock.bench.ringbuf.RingPeer.Point;
import io.panalock.bench.ringbuf.RingPeer.Samples;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class RingbufTest {
    private static final long MS = 1_000_000;

    static Stream<Arguments> kinds() {
        List<Arguments> all = new ArrayList<>();
        for (String via : Contender.VIAS) {
            for (String lock : Contender.lockNames()) {
                if (Contender.possible(via, lock)) {
                    all.add(Arguments.of(via, lock));
                }
            }
        }
        return all.stream();
    }

    /** Each run checks by itself that every record arrives once, intact, in order. */
    @ParameterizedTest
    @MethodSource("kinds")
    void everyKindIsMeasured(String via, String lock) {
        Contender contender = Contender.open(via, lock);
        for (int producers : new int[] {1, 5}) {
            Samples samples = contender.measure(new Point(producers, 10 * MS, 20 * MS, 3));
            assertThat(samples.hits()).hasSize(3);
            assertThat(samples.drops()).hasSize(3);
            assertThat(java.util.Arrays.stream(samples.hits()).min().orElseThrow()).isNotNegative();
        }
        assertThat(contender.params()).containsEntry("lock", lock).containsEntry("side", via.equals("c") ? "c" : "java");
    }

    @Test
    void samplesAreMillionsASecond() {
        Samples s = Samples.of(new long[] {2_000_000}, new long[] {500_000}, new long[] {500_000_000});
        assertThat(s.hits()).containsExactly(4.0);
        assertThat(s.drops()).containsExactly(1.0);
    }

    @Test
    void deviationIsThatOfASample() {
        assertThat(RingbufCommand.deviation(new double[] {2, 4, 4, 4, 5, 5, 7, 9})).isCloseTo(2.138, within(0.001));
        assertThat(RingbufCommand.deviation(new double[] {3})).isZero();
    }
}
