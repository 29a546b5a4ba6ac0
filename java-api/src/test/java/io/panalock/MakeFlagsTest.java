// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.MakeFlags.Place;
import org.junit.jupiter.api.Test;

class MakeFlagsTest {
    private static Place place(String text) {
        return MakeFlags.parse(text).place();
    }

    @Test
    void bothStylesAndTheOldNameAreUnderstood() {
        assertThat(place(" -j8 --jobserver-auth=3,4")).isEqualTo(new Place.Descriptors(3, 4));
        assertThat(place("k -j8 --jobserver-fds=5,6 --")).isEqualTo(new Place.Descriptors(5, 6));
        assertThat(place(" -j --jobserver-auth=fifo:/tmp/GMfifo1")).isEqualTo(new Place.Fifo("/tmp/GMfifo1"));
    }

    @Test
    void theLastOptionCounts() {
        assertThat(place("--jobserver-auth=3,4 --jobserver-auth=fifo:/f")).isEqualTo(new Place.Fifo("/f"));
        assertThat(place("--jobserver-auth=fifo:/f --jobserver-fds=7,8")).isEqualTo(new Place.Descriptors(7, 8));
    }

    @Test
    void whatFollowsTheDashesAreVariables() {
        assertThat(place("--jobserver-auth=3,4 -- X=--jobserver-auth=5,6 --jobserver-auth=7,8"))
                .isEqualTo(new Place.Descriptors(3, 4));
    }

    @Test
    void negativeDescriptorsAreNoJobserver() {
        assertThat(place("-j2 --jobserver-auth=-2,-2")).isEqualTo(new Place.Withheld());
        assertThat(place("-j2 --jobserver-auth=3,-1")).isEqualTo(new Place.Withheld());
    }

    @Test
    void anythingElseIsUnknown() {
        for (String value : new String[] {"", "fifo:", "3", "3,4,5", "sem:17", "3;4", "99999999999,4"}) {
            assertThat(place("--jobserver-auth=" + value)).isEqualTo(new Place.Unknown(value));
        }
    }

    @Test
    void nothingIsNowhere() {
        assertThat(place("")).isEqualTo(new Place.Nowhere());
        assertThat(place("ks -j")).isEqualTo(new Place.Nowhere());
        assertThat(place("--jobserver-style=fifo")).isEqualTo(new Place.Nowhere());
    }

    @Test
    void dryRunIsALetterOfTheFirstWord() {
        assertThat(MakeFlags.parse("n").dryRun()).isTrue();
        assertThat(MakeFlags.parse("kns -j4").dryRun()).isTrue();
        assertThat(MakeFlags.parse(" -j4 --no-print-directory").dryRun()).isFalse();
        assertThat(MakeFlags.parse("k n").dryRun()).isFalse();
        assertThat(MakeFlags.parse("CC=nonsense").dryRun()).isFalse();
        assertThat(MakeFlags.parse("").dryRun()).isFalse();
    }
}
