// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.Backend;
import io.panalock.bench.peer.Make;
import io.panalock.bench.tokens.TokensCommand.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(300)
class TokensTest {
    private static final int PASSES = 301;

    static Stream<Arguments> games() {
        List<Arguments> all = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            kind.vias().forEach(via -> all.add(Arguments.of(kind, via)));
        }
        return all.stream();
    }

    /** Real make too, as the host of the token: it is there wherever this is built. */
    @ParameterizedTest
    @MethodSource("games")
    void everyGameIsPlayedToItsEnd(Kind kind, String via) {
        int players = 3;
        Outcome o = kind.play(via, Backend.ofDefault(), players, PASSES);
        assertThat(o.passes()).isEqualTo(PASSES);
        assertThat(o.least()).isBetween(0L, (long) PASSES / players);
        assertThat(o.most()).isBetween((long) PASSES / players, (long) PASSES);
        assertThat(o.self()).isBetween(0L, (long) PASSES);
        assertThat(o.jain()).isBetween(1.0 / players - 0.01, 1.01);
        assertThat(o.elapsedNs()).isPositive();
    }

    @Test
    void wordsForMakeArriveAsTheyAre() throws Exception {
        List<String> words = List.of("printf", "%s|", "it's", "$HOME $(x)", "a  b");
        Process make = new ProcessBuilder(Make.command(words)).redirectErrorStream(true).start();
        assertThat(new String(make.getInputStream().readAllBytes())).isEqualTo("it's|$HOME $(x)|a  b|");
    }
}
