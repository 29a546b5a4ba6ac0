// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Who holds a token of a {@link JobServerHost}, so that the tokens of killed processes can be told from those in use: a
 * file of one entry a token. A holder keeps a file lock on its entry's byte, which the kernel drops when the process ends,
 * however it ends; the byte says what it holds.
 *
 * <p>Before it reads from the pipe a client locks a free entry and writes TAKING; after it, the token. A killed client thus
 * leaves an unlocked entry with a token (the host puts it back), or with TAKING: it may or may not have read one.
 */
final class Ledger implements AutoCloseable {
    /** Names the file; set by the host for the programs that it starts. */
    static final String VARIABLE = "PANALOCK_JOBSERVER_LEDGER";

    private static final int FREE = 0;
    private static final int TAKING = 1;
    private static final int TOKEN = 0x100; // plus the byte
    private static final int ENTRY_BYTES = Short.BYTES;

    private final FileChannel file; // for its locks only: an interrupted thread's read or write would close it
    private final MappedByteBuffer states;
    private final int entries;

    private Ledger(FileChannel file) throws IOException {
        this.file = file;
        entries = (int) (file.size() / ENTRY_BYTES);
        states = file.map(FileChannel.MapMode.READ_WRITE, 0, (long) entries * ENTRY_BYTES);
    }

    /** The ledger that the environment names, or null. */
    static Ledger named(Map<String, String> environment) {
        String path = environment.get(VARIABLE);
        if (path == null) {
            return null;
        }
        try {
            return open(Path.of(path));
        } catch (IOException e) {
            return null; // the host has gone; its pipe may live on
        }
    }

    static Ledger open(Path path) throws IOException {
        return new Ledger(FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE));
    }

    static Ledger create(Path path, int entries) throws IOException {
        FileChannel file = FileChannel.open(
                path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
        file.write(ByteBuffer.allocate(entries * ENTRY_BYTES));
        return new Ledger(file);
    }

    /** What one process is about to take, or holds. */
    final class Entry {
        private final int index;
        private final FileLock lock;

        private Entry(int index, FileLock lock) {
            this.index = index;
            this.lock = lock;
        }

        void holds(int token) {
            put(index, TOKEN | token);
        }

        void end() {
            put(index, FREE);
            try {
                lock.release();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** An entry of our own, or null if none is free: then the token is not recorded. */
    Entry begin() {
        for (int i = 0; i < entries; i++) {
            FileLock lock = tryLock(i);
            if (lock == null) {
                continue;
            }
            if (get(i) == FREE) {
                put(i, TAKING);
                return new Entry(i, lock);
            }
            release(lock); // a killed process's, for the host to see to
        }
        return null;
    }

    /** The tokens of processes that have ended; their entries, and those that cannot be told, are free afterwards. */
    List<Integer> sweep() {
        List<Integer> abandoned = new ArrayList<>();
        for (int i = 0; i < entries; i++) {
            FileLock lock = get(i) == FREE ? null : tryLock(i);
            if (lock == null) {
                continue;
            }
            int state = get(i);
            put(i, FREE);
            release(lock);
            if ((state & TOKEN) != 0) {
                abandoned.add(state & 0xff);
            }
        }
        return abandoned;
    }

    private FileLock tryLock(int index) {
        try {
            return file.tryLock((long) index * ENTRY_BYTES, 1, false);
        } catch (OverlappingFileLockException e) {
            return null; // ours already
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void release(FileLock lock) {
        try {
            lock.release();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private int get(int index) {
        return states.getShort(index * ENTRY_BYTES);
    }

    private void put(int index, int value) {
        states.putShort(index * ENTRY_BYTES, (short) value);
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
