// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MeasurementsTest {
    @Test
    void aRepeatIsTheLeastDisturbedOfFourWindowsInARow() {
        assertThat(Measurements.repeats(new double[] {5, 4, 9, 6, 7, 50, 8, 7.5})).containsExactly(4, 7);
        assertThat(Measurements.repeats(new double[40])).hasSize(10);
    }
}
