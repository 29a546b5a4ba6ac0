// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import io.panalock.internal.Library;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * The program panalock-bench-c, kept running to measure on request. Its loops are compiled into an executable with the
 * compiler's defaults, so that C is measured as a C programmer meets it: calls from an executable to pthread_mutex cost
 * more than calls from a library in the JVM, for one. It travels in this program's jar and runs from a private directory
 * that is deleted as soon as it runs, with the libpanalock that Java uses beside it.
 *
 * <p>One for the whole process; it ends when its input ends, at the latest when the JVM does.
 */
public final class CProgram {
    private static final String NAME = "panalock-bench-c";
    private static final int ACCESS_DENIED = 13;

    /** Words to put in front of the program: an emulator that the kernel does not start by itself. */
    private static final String LAUNCHER = "PANALOCK_LAUNCHER";

    private static CProgram running;

    private final Process process;
    private final BufferedWriter requests;
    private final BufferedReader answers;

    private CProgram(Process process) {
        this.process = process;
        requests = process.outputWriter();
        answers = process.inputReader();
    }

    /** Nanoseconds that so many uncontended pairs of a lock took. */
    public static long pairs(String lock, long pairs) {
        String start = "ns ";
        return Long.parseLong(request("pairs " + lock + " " + pairs, start).substring(start.length()));
    }

    /** The answer to a request, which must begin so. */
    public static synchronized String request(String request, String beginning) {
        try {
            if (running == null) {
                running = start(BenchLibrary.directory());
            }
            return running.ask(request, beginning);
        } catch (IOException e) {
            running = null;
            throw new UncheckedIOException(NAME + ": " + e.getMessage(), e);
        }
    }

    /** The same of a program of its own that a real make has started, and which may take make's one token. */
    public static String requestUnderMake(String request, String beginning) {
        try {
            CProgram recipe = start(BenchLibrary.directory(), Make::command);
            String answer;
            try {
                answer = recipe.ask(request, beginning);
            } finally {
                recipe.close();
            }
            if (recipe.process.waitFor() != 0) {
                throw new IOException("make ended with code " + recipe.process.exitValue());
            }
            return answer;
        } catch (IOException e) {
            throw new UncheckedIOException(NAME + " under make: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private String ask(String request, String beginning) throws IOException {
        requests.write(request);
        requests.newLine();
        requests.flush();
        String answer = answer();
        if (!answer.startsWith(beginning)) {
            throw new IllegalStateException(NAME + ", asked for \"" + request + "\": " + answer);
        }
        return answer;
    }

    private String answer() throws IOException {
        String answer = answers.readLine();
        if (answer == null) {
            throw new IOException("it ended without an answer");
        }
        return answer;
    }

    /** Ends it: its input is over. */
    void close() throws IOException {
        requests.close();
        answers.close();
    }

    /** Starts one in a fresh directory under {@code base}. */
    static CProgram start(Path base) throws IOException {
        return start(base, command -> command);
    }

    private static CProgram start(Path base, UnaryOperator<List<String>> starter) throws IOException {
        BenchLibrary.require();
        Path directory = Files.createTempDirectory(
                base, "panalock-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path program = directory.resolve(NAME);
        Path library = directory.resolve("libpanalock.so.0");
        try {
            BenchLibrary.unpack(BenchLibrary.resource(NAME + ".exe"), program);
            Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
            putLibrary(library);
            CProgram started = new CProgram(launch(program, starter));
            String hello = started.answer();
            if (!hello.equals(NAME + " " + BenchLibrary.VERSION)) {
                throw new IOException("it says \"" + hello + "\", this program wants version " + BenchLibrary.VERSION);
            }
            return started;
        } finally {
            Files.deleteIfExists(program);
            Files.deleteIfExists(library);
            Files.deleteIfExists(directory);
        }
    }

    static Process launch(Path program, UnaryOperator<List<String>> starter) throws IOException {
        try {
            List<String> command = new ArrayList<>();
            String launcher = System.getenv(LAUNCHER);
            if (launcher != null && !launcher.isBlank()) {
                command.addAll(List.of(launcher.strip().split(" +")));
            }
            command.addAll(List.of(program.toString(), "serve"));
            ProcessBuilder builder = new ProcessBuilder(starter.apply(command));
            builder.environment().keySet().removeAll(Make.VARIABLES); // of a make that we run under
            builder.environment().remove("LD_LIBRARY_PATH"); // the library beside it, not another one
            return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        } catch (IOException e) {
            if (String.valueOf(e.getMessage()).matches(".*error[=:] ?" + ACCESS_DENIED + "\\b.*")) {
                throw new IOException("cannot run it from " + program.getParent() + ": mounted noexec. Set -D"
                        + BenchLibrary.EXTRACT_PROPERTY + " to a directory that allows execution.", e);
            }
            throw e;
        }
    }

    /** The file that this JVM has mapped, or, as that has been deleted when it came from the jar, the jar's. */
    private static void putLibrary(Path to) throws IOException {
        Optional<Path> mapped = mappedLibrary();
        if (mapped.isPresent()) {
            Files.copy(mapped.get(), to);
        } else {
            try (InputStream in = Library.class.getResourceAsStream(BenchLibrary.resource("libpanalock.so"))) {
                if (in == null) {
                    throw new IOException("no libpanalock.so in the program: not built for this platform");
                }
                Files.copy(in, to);
            }
        }
    }

    private static Optional<Path> mappedLibrary() throws IOException {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.map(line -> line.replaceFirst("^(\\S+\\s+){5}", ""))
                    .filter(name -> name.matches(".*/libpanalock(\\.so|-)[^/]*"))
                    .map(Path::of)
                    .filter(Files::isReadable)
                    .findFirst();
        }
    }
}
