// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import io.panalock.Backend;
import io.panalock.bench.peer.Make;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.List;

/** A game between threads of a JVM that a real make has started as its recipe, about make's token. */
final class MakeGame {
    private MakeGame() {}

    static Outcome play(int players, boolean virtual, int passes) throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(Make.command(Jvm.command(List.of(), MakeGame.class, players, virtual, passes)));
        builder.environment().keySet().removeAll(Make.VARIABLES); // of a make that we run under
        Process make = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader said = make.inputReader()) {
            List<String> lines = said.lines().toList();
            if (make.waitFor() != 0 || lines.isEmpty()) {
                throw new IOException("the game under make ended with code " + make.exitValue());
            }
            return Outcome.parse(passes, lines.getLast());
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        } finally {
            make.destroyForcibly();
        }
    }

    /** The recipe: players, whether they are virtual threads, passes. */
    public static void main(String[] arguments) {
        int players = Integer.parseInt(arguments[0]);
        boolean virtual = Boolean.parseBoolean(arguments[1]);
        int passes = Integer.parseInt(arguments[2]);
        System.out.println(new JavaGame("make", Backend.ofDefault(), players, virtual, passes).play().line());
    }
}
