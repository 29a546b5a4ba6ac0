// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.compare;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QuantityTest {
    @ParameterizedTest
    @ValueSource(strings = {"ns", "ns/call", "ms", "Mops/s", "ops/s", "1/s"})
    void anEmulatorMakesTimesAndRatesMeaningless(String unit) {
        assertThat(Quantity.dependsOnClock(unit)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"B", "B/call", "1", "", "%"})
    void itDoesNotMatterToSizesAndCounts(String unit) {
        assertThat(Quantity.dependsOnClock(unit)).isFalse();
    }
}
