// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Posix;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Map;

/**
 * Who holds a token of a {@link JobServerHost}, so that the tokens of killed processes can be told from those in use: an
 * entry a token, each of which is a FIFO of its own and a byte of a file to lock.
 *
 * <p>A client locks the byte of an entry; the kernel drops that lock when the process ends, however it ends. Then it
 * <em>moves</em> a token from the pipe into the entry's FIFO, and later back, by one system call each. So at every moment the
 * token lies in exactly one of the two, and a FIFO that is not empty though nobody locks its entry holds a dead process's.
 *
 * <p>A byte that was moved takes a buffer of the pipe for itself, and a pipe has few, so there is no ledger where they are
 * fewer than the tokens: a write into the pipe, which make does too, must never wait.
 */
final class Ledger implements AutoCloseable {
    /** Names the directory; set by the host for the programs that it starts. */
    static final String VARIABLE = "PANALOCK_JOBSERVER_LEDGER";

    /** The pipe's name in that directory. */
    static final String TOKENS = "tokens";

    private static final String LOCKS = "locks";
    private static final String HELD = "held-";

    private final Path directory;
    private final FileChannel file; // for its locks only: an interrupted thread's read or write would close it
    private final int entries;
    private final int[] kept; // the host's openings, without which what lies in a FIFO is gone with its last user

    private Ledger(Path directory, FileChannel file, int entries, int[] kept) {
        this.directory = directory;
        this.file = file;
        this.entries = entries;
        this.kept = kept;
    }

    /**
     * The ledger that the environment names, or null: there is none, the host has gone, or it is about another pipe than
     * ours, as in a recipe of a make that was started inside with its own -j.
     */
    static Ledger named(Map<String, String> environment, int pipe) {
        String name = environment.get(VARIABLE);
        if (name == null) {
            return null;
        }
        try {
            Path directory = Path.of(name);
            if (!Files.isSameFile(directory.resolve(TOKENS), Path.of("/proc/self/fd/" + pipe))) {
                return null;
            }
            FileChannel file =
                    FileChannel.open(directory.resolve(LOCKS), StandardOpenOption.READ, StandardOpenOption.WRITE);
            return new Ledger(directory, file, (int) file.size(), null);
        } catch (IOException e) {
            return null;
        }
    }

    /** A new ledger in the directory for a pipe of so many tokens, which lie in it; null if it cannot be had here. */
    static Ledger create(Path directory, int pipe, int tokens) throws IOException {
        if (tokens == 0 || Posix.growPipe(pipe, tokens) < tokens) {
            return null;
        }
        Path locks = directory.resolve(LOCKS);
        RandomAccessFile lengthened = new RandomAccessFile(locks.toFile(), "rw");
        try {
            lengthened.setLength(tokens); // nothing is written: it takes no room, which a full disk has not
        } catch (IOException e) {
            lengthened.close();
            Files.deleteIfExists(locks);
            return null;
        }
        Ledger ledger = new Ledger(directory, lengthened.getChannel(), tokens, new int[tokens]);
        Arrays.fill(ledger.kept, -1);
        for (int i = 0; i < tokens; i++) {
            String path = ledger.held(i);
            if (Posix.mkfifo(path) < 0 || (ledger.kept[i] = Posix.open(path, Posix.O_RDWR | Posix.O_NONBLOCK | Posix.O_CLOEXEC)) < 0) {
                ledger.close();
                return null;
            }
            Posix.shrinkPipe(ledger.kept[i]);
        }
        // Not every kernel moves bytes between pipes.
        if (Posix.move(pipe, ledger.kept[0]) < 0 || Posix.move(ledger.kept[0], pipe) < 0) {
            ledger.close();
            return null;
        }
        return ledger;
    }

    private String held(int index) {
        return directory.resolve(HELD + index).toString();
    }

    /** What one process is about to take, or holds. */
    final class Entry {
        private final int index;
        private final FileLock lock;
        private final int fifo;

        private Entry(int index, FileLock lock, int fifo) {
            this.index = index;
            this.lock = lock;
            this.fifo = fifo;
        }

        /** Takes a token: 0, or why not. Without one the entry has ended. */
        int take(int pipe) {
            // A killed process's token may lie here, which is as good as another one.
            int error = Posix.pollIn(fifo, 0) > 0 ? 0 : Posix.move(pipe, fifo);
            if (error != 0) {
                end();
            }
            return error;
        }

        /** Puts the token back and ends: 0, or why not; then the host finds it. */
        int giveBack(int pipe) {
            int error = Posix.move(fifo, pipe);
            end();
            return error;
        }

        private void end() {
            Posix.close(fifo);
            release(lock);
        }

        @Override
        public String toString() {
            return HELD + index;
        }
    }

    /** An entry of our own, or null if none is free, or locks cannot be had: then the token is not recorded. */
    Entry begin() {
        int first = (int) (ProcessHandle.current().pid() % entries); // others start elsewhere
        for (int k = 0; k < entries; k++) {
            int i = (first + k) % entries;
            FileLock lock = tryLock(i);
            if (lock == null) {
                continue;
            }
            int fifo = Posix.open(held(i), Posix.O_RDWR | Posix.O_NONBLOCK | Posix.O_CLOEXEC);
            if (fifo >= 0) {
                return new Entry(i, lock, fifo);
            }
            release(lock);
        }
        return null;
    }

    /** Puts the tokens of processes that have ended back into the pipe: how many. For the host. */
    int sweep(int pipe) {
        int count = 0;
        for (int i = 0; i < entries; i++) {
            if (Posix.pollIn(kept[i], 0) <= 0) {
                continue;
            }
            FileLock lock = tryLock(i);
            if (lock == null) {
                continue;
            }
            count += Posix.move(kept[i], pipe) == 0 ? 1 : 0; // else given back just before
            release(lock);
        }
        return count;
    }

    private FileLock tryLock(int index) {
        try {
            return file.tryLock(index, 1, false);
        } catch (OverlappingFileLockException e) {
            return null; // ours already
        } catch (IOException e) {
            return null; // the system has no more locks
        }
    }

    private static void release(FileLock lock) {
        try {
            lock.release();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends it; for the host, who made the files. */
    @Override
    public void close() throws IOException {
        file.close();
        for (int i = 0; i < entries; i++) {
            if (kept[i] >= 0) {
                Posix.close(kept[i]);
            }
            Files.deleteIfExists(Path.of(held(i)));
        }
        Files.deleteIfExists(directory.resolve(LOCKS));
    }
}
