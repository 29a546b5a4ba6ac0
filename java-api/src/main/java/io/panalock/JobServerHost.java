// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Posix;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The server's side of GNU make's jobserver: programs that it starts, several {@code make} among them, share N jobs.
 *
 * {@snippet :
 * try (JobServerHost host = JobServerHost.create(8)) {
 *     Process a = host.command("make", "-C", "lib").inheritIO().start();
 *     Process b = host.command("make", "-C", "app").inheritIO().start();
 *     a.waitFor();
 *     b.waitFor();
 * }
 * }
 *
 * <p>Each started program owns one job by itself, so the pipe starts with N - 1 tokens, whatever the number of programs
 * that run at once. A client of {@link JobServer} that is killed loses no token, at whatever instant: what it held is put back
 * at the next {@link #recover()}, which {@link #close()} calls too. (For up to {@value #RECORDED_JOBS} jobs, unless the system
 * grants its pipes more buffers than is usual: {@link #isRecorded()}. For more, {@link #reset()} mends it.)
 *
 * <p>Thread-safe. Source: the GNU make manual, "POSIX Jobserver Interaction".
 */
public final class JobServerHost implements AutoCloseable {
    /** The most jobs: one token is one byte in a pipe, and a write must never block. */
    public static final int MAX_JOBS = 4096;

    /** Up to so many jobs are recorded, by default and where a page has 4 KiB: that many buffers a pipe may have, and one. */
    public static final int RECORDED_JOBS = 257;

    /** How programs find the pipe. */
    public enum Style {
        /** By its path; make 4.4 and newer. */
        FIFO,
        /** By a descriptor that they inherit; every make since 3.79. A shell opens it, since Java passes none on. */
        DESCRIPTORS
    }

    private static final int TOKEN = '+';
    private static final int DESCRIPTOR = 8; // free in a program just started; one digit, as every shell wants it

    private final int jobs;
    private final Style style;
    private final Path directory;
    private final Path fifo;
    private final Ledger ledger; // null: too many jobs for this system's pipes
    private final int fd;
    private boolean closed;

    private JobServerHost(int jobs, Style style) throws IOException {
        this.jobs = jobs;
        this.style = style;
        directory = Files.createTempDirectory(
                "panalock-jobserver-",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        fifo = directory.resolve(Ledger.TOKENS);
        int opened = -1;
        try {
            check("make", Posix.mkfifo(fifo.toString()));
            opened = check("open", Posix.open(fifo.toString(), Posix.O_RDWR | Posix.O_NONBLOCK | Posix.O_CLOEXEC));
            for (int i = 1; i < jobs; i++) {
                check("fill", Posix.writeByte(opened, TOKEN));
            }
            ledger = Ledger.create(directory, opened, jobs - 1);
        } catch (IOException e) {
            if (opened >= 0) {
                Posix.close(opened);
            }
            Files.deleteIfExists(fifo);
            Files.deleteIfExists(directory);
            throw e;
        }
        fd = opened;
    }

    private int check(String what, int result) throws IOException {
        if (result < 0) {
            throw new IOException("cannot " + what + " the fifo " + fifo + ": error " + -result);
        }
        return result;
    }

    /**
     * Makes a jobserver for {@code jobs} jobs, for make 4.4 and newer.
     *
     * @param jobs how many may run at once
     * @return the jobserver
     * @throws IllegalArgumentException unless {@code jobs} is 1..{@value #MAX_JOBS}
     * @throws IOException if the directory for temporary files cannot be used
     */
    public static JobServerHost create(int jobs) throws IOException {
        return create(jobs, Style.FIFO);
    }

    /**
     * Makes a jobserver whose programs find it in the given way.
     *
     * @param jobs how many may run at once
     * @param style how programs find it
     * @return the jobserver
     * @throws IllegalArgumentException unless {@code jobs} is 1..{@value #MAX_JOBS}
     * @throws IOException if the directory for temporary files cannot be used
     */
    public static JobServerHost create(int jobs, Style style) throws IOException {
        if (jobs < 1 || jobs > MAX_JOBS) {
            throw new IllegalArgumentException(jobs + " jobs: 1 to " + MAX_JOBS + " are possible");
        }
        return new JobServerHost(jobs, Objects.requireNonNull(style, "style"));
    }

    /** {@return the value of MAKEFLAGS for a program that is to join; with descriptors it must inherit number 8} */
    public String makeFlags() {
        return " -j" + jobs + " --jobserver-auth="
                + (style == Style.FIFO ? "fifo:" + MakeFlags.quote(fifo.toString()) : DESCRIPTOR + "," + DESCRIPTOR);
    }

    /**
     * {@return a builder for a program that joins, its environment set}
     *
     * @param words program and arguments; not make's option -j
     */
    public ProcessBuilder command(String... words) {
        checkOpen();
        List<String> command = new ArrayList<>();
        if (style == Style.DESCRIPTORS) {
            command.addAll(List.of("/bin/sh", "-c", "exec " + DESCRIPTOR + "<>\"$0\"; exec \"$@\"", fifo.toString()));
        }
        command.addAll(List.of(words));
        ProcessBuilder builder = new ProcessBuilder(command);
        Map<String, String> environment = builder.environment();
        environment.put("MAKEFLAGS", makeFlags());
        environment.remove(Ledger.VARIABLE); // of a host that we run under
        if (ledger != null) {
            environment.put(Ledger.VARIABLE, directory.toString());
        }
        return builder;
    }

    /** {@return whether it is recorded which client holds which token, so that those of killed ones can be put back} */
    public boolean isRecorded() {
        return ledger != null;
    }

    /**
     * Puts the tokens of killed clients back. Does not block.
     *
     * @return how many
     */
    public synchronized int recover() {
        checkOpen();
        return ledger == null ? 0 : ledger.sweep(fd);
    }

    /**
     * Counts the tokens in the pipe, taking them out and putting them back; meant for when no program runs that was
     * started here.
     *
     * @return all but those that running programs hold: {@code jobs - 1} when nothing was lost
     */
    public synchronized int available() {
        checkOpen();
        List<Integer> tokens = drain();
        tokens.forEach(token -> Posix.writeByte(fd, token));
        return tokens.size();
    }

    /**
     * When no program runs any more that was started here: makes the pipe hold exactly {@code jobs - 1} tokens again.
     * What is missing was held by killed programs that are no {@link JobServer}.
     *
     * @return how many were missing; negative: how many there were too many
     */
    public synchronized int reset() {
        recover();
        List<Integer> tokens = drain();
        for (int i = 1; i < jobs; i++) {
            Posix.writeByte(fd, i - 1 < tokens.size() ? tokens.get(i - 1) : TOKEN);
        }
        return jobs - 1 - tokens.size();
    }

    private List<Integer> drain() {
        List<Integer> tokens = new ArrayList<>();
        for (int token; (token = Posix.readByte(fd)) >= 0; ) {
            tokens.add(token);
        }
        return tokens;
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("this jobserver is closed");
        }
    }

    /** Removes the pipe. Programs that still run work on one by one. */
    @Override
    public synchronized void close() throws IOException {
        if (closed) {
            return;
        }
        recover();
        closed = true;
        Posix.close(fd);
        if (ledger != null) {
            ledger.close();
        }
        Files.deleteIfExists(fifo);
        Files.deleteIfExists(directory);
    }
}
