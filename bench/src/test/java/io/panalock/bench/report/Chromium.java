// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A browser without a window; each run starts from an empty profile. */
final class Chromium {
    private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome");
    private static final int TIMEOUT_S = 240;

    private final Path directory;
    private int runs;

    record Ran(String out, String err) {}

    /** @param directory for profiles and output */
    Chromium(Path directory) {
        this.directory = directory;
    }

    private static Path program() {
        Optional<Path> found = Optional.ofNullable(System.getenv("CHROMIUM")).map(Path::of)
                .or(() -> Stream.of(System.getenv("PATH").split(File.pathSeparator))
                        .flatMap(dir -> NAMES.stream().map(name -> Path.of(dir, name)))
                        .filter(Files::isExecutable)
                        .findFirst());
        return found.orElseThrow(() -> new AssertionError(
                "no Chromium: the report cannot be tested. scripts/setup.sh test installs it; CHROMIUM=... names another."));
    }

    Ran run(Path page, String... options) throws IOException, InterruptedException {
        Path run = Files.createDirectory(directory.resolve("run" + runs++));
        List<String> command = new ArrayList<>(List.of(program().toString(), "--headless", "--no-sandbox", "--disable-gpu",
                "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                "--disable-sync", "--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0", "--hide-scrollbars",
                "--user-data-dir=" + run.resolve("profile")));
        command.addAll(List.of(options));
        command.add(page.toUri().toString());
        Path out = run.resolve("out");
        Path err = run.resolve("err");
        Process process = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        try {
            if (!process.waitFor(TIMEOUT_S, TimeUnit.SECONDS)) {
                throw new AssertionError("Chromium did not end: " + Files.readString(err));
            }
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        return new Ran(Files.readString(out), Files.readString(err));
    }
}
