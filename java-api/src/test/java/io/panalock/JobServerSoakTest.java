// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Builds of 500 targets with a client of ours in each recipe: no token is lost, also if a tenth of the recipes is killed. */
@Tag("soak")
class JobServerSoakTest {
    private static final int TARGETS = 500;
    private static final int JOBS = 8;
    private static final int LEAST = 16;
    private static final int VICTIMS = 10; // one of so many
    private static final int MINUTES = 30;

    @TempDir
    Path directory;

    private final int targets = Math.max(LEAST, TARGETS * Integer.getInteger("panalock.soak.percent", 1) / 100);

    /** A recipe: two jobs, together if there is a second token. It never holds one and waits for another. */
    static final class Recipe {
        public static void main(String[] arguments) throws Exception {
            JobServer jobs = JobServer.fromEnvironment();
            if (!jobs.isConnected()) {
                throw new IllegalStateException(jobs.warning().orElse("no jobserver"));
            }
            Thread[] threads = new Thread[2];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = Thread.ofPlatform().start(() -> {
                    try (JobServer.Token _ = jobs.acquire()) {
                        Thread.sleep(100);
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                });
            }
            for (Thread t : threads) {
                t.join();
            }
        }
    }

    /** The last recipe, when no other runs: how many tokens there are, all taken and given back. */
    static final class Count {
        public static void main(String[] arguments) {
            JobServer jobs = JobServer.fromEnvironment();
            int tokens = -1; // the implicit one does not lie in the pipe
            while (jobs.tryAcquire().isPresent()) {
                tokens++;
            }
            System.out.println(tokens + " tokens at the end");
        }
    }

    private static void await(Process make) throws InterruptedException {
        if (!make.waitFor(MINUTES, TimeUnit.MINUTES)) {
            make.descendants().forEach(ProcessHandle::destroyForcibly);
            make.destroyForcibly();
            throw new AssertionError("make hangs");
        }
    }

    @Test
    void allTokensAreThereAfterABuild() throws Exception {
        for (String make : Makefile.makes()) {
            Path out = directory.resolve("out");
            Makefile.write(directory, targets, "+", Recipe.class, "count: all\n\t+@" + Makefile.command(Count.class) + "\n");
            ProcessBuilder builder = new ProcessBuilder(make, "-j" + JOBS, "count");
            builder.environment().keySet().removeAll(List.of("MAKEFLAGS", "MAKELEVEL"));
            Process process = builder.directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(out.toFile())
                    .start();
            await(process);
            // Make counts them too, and complains.
            assertThat(Files.readString(out)).contains(JOBS - 1 + " tokens at the end").doesNotContain("INTERNAL");
            assertThat(process.exitValue()).isZero();
        }
    }

    @Test
    void allTokensAreThereAfterABuildWhoseRecipesAreKilled() throws Exception {
        int victims = Math.max(2, targets / VICTIMS);
        // Half of the tokens are left for the recipes.
        Makefile.write(directory, targets, JOBS / 2, "-+", Recipe.class, "");
        try (JobServerHost host = JobServerHost.create(JOBS, JobServerHost.Style.DESCRIPTORS)) {
            Process make = host.command("make", "-k")
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("out").toFile())
                    .start();
            Random random = new Random(7);
            int killed = 0;
            int recovered = 0;
            while (make.isAlive() && killed < victims) {
                Thread.sleep(random.nextInt(200));
                List<ProcessHandle> running = make.descendants()
                        .filter(p -> p.info().command().orElse("").endsWith("java"))
                        .toList();
                if (!running.isEmpty() && running.get(random.nextInt(running.size())).destroyForcibly()) {
                    killed++;
                }
                recovered += host.recover();
            }
            await(make);
            assertThat(killed).isEqualTo(victims);
            recovered += host.recover();
            assertThat(host.available()).isEqualTo(JOBS - 1);
            System.out.println("jobserver: " + targets + " targets, " + killed + " killed, " + recovered + " tokens recovered");
        }
    }
}
