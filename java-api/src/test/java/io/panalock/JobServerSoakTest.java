// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A build of 500 targets with a client of ours in each recipe, of which a tenth is killed: no token is lost. */
@Tag("soak")
class JobServerSoakTest {
    private static final int TARGETS = 500;
    private static final int KILLED = 50;
    private static final int JOBS = 8;
    private static final int LEAST = 16;
    private static final int MINUTES = 15;

    @TempDir
    Path directory;

    private static int scaled(int count, int least) {
        return Math.max(least, count * Integer.getInteger("panalock.soak.percent", 1) / 100);
    }

    /** A recipe: uses a second token for a while, if there is one. */
    static final class Recipe {
        public static void main(String[] arguments) throws Exception {
            JobServer jobs = JobServer.fromEnvironment();
            try (JobServer.Token _ = jobs.acquire();
                    JobServer.Token _ = jobs.acquire()) {
                Thread.sleep(20);
            }
        }
    }

    private static String recipe() {
        return Child.running(Recipe.class).with("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC").command().stream()
                .map(word -> "'" + word.replace("$", "$$") + "'")
                .collect(Collectors.joining(" "));
    }

    @Test
    void allTokensAreThereAfterABuildAlsoWhenRecipesAreKilled() throws Exception {
        int targets = scaled(TARGETS, LEAST);
        int victims = scaled(KILLED, 2);
        StringBuilder all = new StringBuilder("all:");
        for (int i = 0; i < targets; i++) {
            all.append(" t").append(i);
        }
        Files.writeString(directory.resolve("Makefile"), all + "\nt%:\n\t-+@" + recipe() + " $@\n");
        try (JobServerHost host = JobServerHost.create(JOBS, JobServerHost.Style.DESCRIPTORS)) {
            Process make = host.command("make", "-k")
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("out").toFile())
                    .start();
            Random random = new Random(7);
            int killed = 0;
            while (make.isAlive() && killed < victims) {
                Thread.sleep(random.nextInt(200));
                List<ProcessHandle> running = make.descendants()
                        .filter(p -> p.info().command().orElse("").endsWith("java"))
                        .toList();
                if (!running.isEmpty()) {
                    running.get(random.nextInt(running.size())).destroyForcibly();
                    killed++;
                }
                host.recover();
            }
            assertThat(make.waitFor(MINUTES, TimeUnit.MINUTES)).isTrue();
            assertThat(killed).isEqualTo(victims);
            host.recover();
            // A client that was killed between its read and its note cannot be told; it is rare, and reset() mends it.
            int missing = host.reset();
            assertThat(missing).isBetween(0, 1 + victims / 10);
            assertThat(host.available()).isEqualTo(JOBS - 1);
            System.out.println("jobserver: " + targets + " targets, " + killed + " killed, " + missing + " tokens uncertain");
        }
    }
}
