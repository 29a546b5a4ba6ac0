// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A check that needs the sources: {@code failed} is 0 or 1, {@code minutes} how long it took. What it prints is shown if it
 * fails.
 *
 * @param command what to run, from the top of the sources
 * @param fresh whether in a clone of what is committed, made for this, rather than where the program was built
 */
record SourceCheck(List<String> command, boolean fresh) implements Point.Whole {
    private static final String LANDMARK = "scripts/test-arm64.sh";
    private static final double NS_PER_MINUTE = 60e9;

    @Override
    public String batch() {
        return String.join(" ", command);
    }

    @Override
    public Map<String, Object> params() {
        return Map.of("command", batch(), "fresh", fresh);
    }

    @Override
    public String unit(String metric) {
        return metric.equals("minutes") ? "min" : "1";
    }

    @Override
    public int repeats(Bench bench) {
        return 1;
    }

    /** The sources that this program was built from, or that are the working directory. */
    static Optional<Path> sources() {
        return Stream.of(codeSource(), Path.of("").toAbsolutePath())
                .flatMap(start -> Stream.iterate(start, p -> p != null, Path::getParent))
                .filter(p -> Files.isExecutable(p.resolve(LANDMARK)) && Files.exists(p.resolve(".git")))
                .findFirst();
    }

    private static Path codeSource() {
        try {
            return Path.of(SourceCheck.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public Map<String, Double> measure(Bench bench) {
        Path sources = sources().orElseThrow(() -> new IllegalStateException("not in a checkout of the sources"));
        try {
            Path work = Files.createTempDirectory("panalock-check-");
            try {
                Path directory = sources;
                if (fresh) {
                    directory = work.resolve("clone");
                    must(run(work, "git", "clone", "-q", "--no-hardlinks", sources.toString(), directory.toString()), work);
                }
                long start = System.nanoTime();
                boolean fine = run(directory, work, command);
                double minutes = (System.nanoTime() - start) / NS_PER_MINUTE;
                if (!fine) {
                    System.err.println(batch() + " fails:\n" + Files.readString(work.resolve("output")));
                }
                return Map.of("failed", fine ? 0.0 : 1.0, "minutes", minutes);
            } finally {
                delete(work);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(batch() + ": " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + batch() + " ran", e);
        }
    }

    private static boolean run(Path work, String... command) throws IOException, InterruptedException {
        return run(work, work, List.of(command));
    }

    private static boolean run(Path directory, Path work, List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(work.resolve("output").toFile())
                .start();
        try {
            return process.waitFor() == 0;
        } finally {
            process.destroy();
        }
    }

    private static void must(boolean fine, Path work) throws IOException {
        if (!fine) {
            throw new IOException(Files.readString(work.resolve("output")));
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
