// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.pure.PurePipe;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A bounded channel of bytes or records in off-heap memory, between threads of any kind, C code and processes: a pipe
 * without its system calls. Whoever waits is woken one at a time, first come, first served.
 *
 * {@snippet :
 * TokenPipe pipe = TokenPipe.allocate(4096);
 * try (TokenPipe.Writer out = pipe.openWriter(); TokenPipe.Reader in = pipe.openReader()) {
 *     out.write(MemorySegment.ofArray(new int[] {42}));
 *     int bytes = in.read(buffer);
 * }
 * }
 *
 * <p>One write goes in as one piece and is never mixed with another; with {@link Mode#RECORDS} it comes out as one, too. A
 * reader sees what the writer did before it wrote. Of the threads that wait two at most are awake, which hand the data to
 * and fro without a system call; after a millisecond the next sleeper gets its turn.
 *
 * <p>Objects of this class are views of the memory: any number may stand for one pipe. Thread-safe. C code uses the same
 * bytes by {@code pl_pipe_at()}. Sources: pipe(7), and the exclusive waits of Linux 5.6.
 */
public final class TokenPipe {
    /** How a pipe behaves; set when it is made, for all its users. */
    public enum Mode {
        /** What one write wrote, one read reads. Without it the pipe carries bytes. */
        RECORDS(1),
        /** Every write wakes every reader, as pipes did before exclusive waits. To measure against. */
        WAKE_ALL(2),
        /** A running thread may take what it has just written: highest rate, no fairness. */
        GREEDY(4);

        private final int bit;

        Mode(int bit) {
            this.bit = bit;
        }
    }

    /** How a pipe is made or opened. Each setting has a default. */
    public static final class Builder {
        private LockDomain domain;
        private Backend backend;
        private final Set<Mode> modes = EnumSet.noneOf(Mode.class);

        private Builder() {}

        /**
         * The domain in which its users wait; all of them must name the same. The default is the process's own.
         *
         * @param d the domain
         * @return this
         */
        public Builder domain(LockDomain d) {
            domain = Objects.requireNonNull(d, "domain");
            return this;
        }

        /**
         * Who moves the data: HYBRID and PURE do it in Java, FFM, FFM_CRITICAL and JNI in native code (of virtual threads in
         * Java, always). Default HYBRID, or PURE where there is no native library.
         *
         * @param b the backend
         * @return this
         */
        public Builder backend(Backend b) {
            backend = Objects.requireNonNull(b, "backend");
            return this;
        }

        /**
         * Adds modes; for a pipe that exists they are what its maker chose.
         *
         * @param m modes
         * @return this
         */
        public Builder modes(Mode... m) {
            modes.addAll(Set.of(m));
            return this;
        }

        private LockDomain domainOf(Backend b) {
            return domain != null ? domain : LockDomain.defaultFor(b);
        }

        private Backend backendOrDefault() {
            return backend != null ? backend : Backend.ofDefault();
        }

        /**
         * A new pipe in memory of its own, for the threads of this process.
         *
         * @param capacity bytes that it can hold, see {@link TokenPipe#size}
         * @return the pipe
         */
        public TokenPipe allocate(int capacity) {
            requireCapacity(capacity);
            return create(Arena.ofAuto().allocate(size(capacity), Layouts.CACHE_LINE), capacity);
        }

        /**
         * Makes a new pipe, without open ends, in native memory that nobody uses otherwise. For several processes the memory
         * is attached to their shared domain ({@link LockDomain#attach}).
         *
         * @param memory of {@link TokenPipe#size} bytes or more
         * @param capacity bytes that it can hold
         * @return the pipe
         * @throws IllegalArgumentException the capacity, the memory's size or its alignment is wrong
         */
        public TokenPipe create(MemorySegment memory, int capacity) {
            requireCapacity(capacity);
            check(memory);
            if (memory.byteSize() < size(capacity)) {
                throw new IllegalArgumentException("a pipe of " + capacity + " bytes needs " + size(capacity)
                        + " bytes of memory, this segment has " + memory.byteSize() + ".");
            }
            if (memory.isReadOnly()) {
                throw new IllegalArgumentException("a pipe needs memory that can be written; this segment is read-only.");
            }
            Backend b = backendOrDefault();
            LockDomain d = domainOf(b);
            int bits = modes.stream().mapToInt(m -> m.bit).sum();
            return new TokenPipe(d, b, memory, PurePipe.create(d.pure(), memory.asSlice(0, size(capacity)), capacity, bits));
        }

        /**
         * The pipe that is in native memory.
         *
         * @param memory where it was made
         * @return the pipe
         * @throws IllegalArgumentException there is none, or a damaged one
         */
        public TokenPipe open(MemorySegment memory) {
            check(memory);
            Backend b = backendOrDefault();
            LockDomain d = domainOf(b);
            PurePipe p = PurePipe.at(d.pure(), memory);
            if (p == null) {
                throw new IllegalArgumentException("there is no pipe in this memory, or a damaged one: make one by create().");
            }
            return new TokenPipe(d, b, memory, p);
        }

        private static void check(MemorySegment memory) {
            if (!memory.isNative()) {
                throw new IllegalArgumentException(
                        "a pipe needs native memory; this segment is on the heap. Allocate it from an Arena.");
            }
            if (memory.address() == 0 || memory.address() % Long.BYTES != 0) {
                throw new IllegalArgumentException("a pipe needs an address divisible by 8, not 0x"
                        + Long.toHexString(memory.address()) + ": allocate with that alignment.");
            }
        }
    }

    private final LockDomain domain;
    private final PurePipe pure;
    private final NativePipe nativePipe; // null: platform threads, too, go through Java

    private TokenPipe(LockDomain domain, Backend backend, MemorySegment memory, PurePipe pure) {
        this.domain = domain;
        this.pure = pure;
        this.nativePipe = NativePipe.of(domain, backend, memory);
    }

    /**
     * A new pipe for the threads of this process, in the default domain.
     *
     * @param capacity bytes that it can hold, see {@link #size}
     * @return the pipe
     */
    public static TokenPipe allocate(int capacity) {
        return builder().allocate(capacity);
    }

    /** {@return a builder, to choose domain, backend and modes} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return the bytes of memory that a pipe of this capacity takes}
     *
     * @param capacity bytes that it can hold: a power of two, 8 to 2^30. A record takes 4 bytes more than it is long.
     * @throws IllegalArgumentException it is not such a number
     */
    public static long size(int capacity) {
        requireCapacity(capacity);
        return PurePipe.size(capacity);
    }

    private static void requireCapacity(int capacity) {
        if (PurePipe.size(capacity) == 0) {
            throw new IllegalArgumentException(
                    "a pipe's capacity is a power of two from 8 to 1073741824 bytes, not " + capacity + ".");
        }
    }

    /** {@return bytes that it can hold} */
    public int capacity() {
        return pure.capacity();
    }

    /** {@return bytes that lie in it, the lengths of records included; out of date at once} */
    public int available() {
        return Math.max(0, pure.usedAtOnce());
    }

    /** {@return a newly opened end to read from} */
    public Reader openReader() {
        return new Reader(this);
    }

    /** {@return a newly opened end to write to} */
    public Writer openWriter() {
        return new Writer(this);
    }

    @Override
    public String toString() {
        return "TokenPipe[" + available() + " of " + capacity() + " bytes, " + domain + "]";
    }

    // ---- ends ----

    /** An open end. Closing it twice has no effect; what the other side then sees is said there. */
    public abstract static sealed class End implements AutoCloseable {
        final TokenPipe pipe;
        private final int readers;
        private final int writers;
        private boolean closed;

        private End(TokenPipe pipe, int readers, int writers) {
            this.pipe = pipe;
            this.readers = readers;
            this.writers = writers;
            pipe.withSlot(slot -> {
                pipe.pure.open(slot, readers, writers);
                return 0;
            });
        }

        final void checkOpen() {
            if (closed) {
                throw new IllegalStateException("this end of the pipe is closed.");
            }
        }

        /** {@return the pipe} */
        public final TokenPipe pipe() {
            return pipe;
        }

        @Override
        public final synchronized void close() {
            if (!closed) {
                closed = true;
                pipe.withSlot(slot -> pipe.pure.close(slot, readers, writers) ? 0 : 1);
            }
        }
    }

    /** An end to read from. With the last one closed, writers get an {@link IllegalStateException}. */
    public static final class Reader extends End {
        private Reader(TokenPipe pipe) {
            super(pipe, 1, 0);
        }

        /**
         * Reads up to {@code to.byteSize()} bytes, or one record, waiting as long as it takes.
         *
         * @param to native or heap memory of one byte or more
         * @return how many bytes; -1 when the pipe is empty and no writer is open any more
         * @throws InterruptedException the thread was interrupted; nothing was read
         * @throws IllegalArgumentException the record is longer than {@code to}; it stays
         * @throws IllegalStateException the end, the memory's arena or the domain is closed, or the memory is damaged
         */
        public int read(MemorySegment to) throws InterruptedException {
            return interruptible(pipe.transfer(this, to, false, false, Long.MAX_VALUE));
        }

        /**
         * The same for at most {@code limit}.
         *
         * @param to as above
         * @param limit nothing or less: does not wait
         * @return as above; 0 when nothing came
         * @throws InterruptedException the thread was interrupted; nothing was read
         */
        public int read(MemorySegment to, Duration limit) throws InterruptedException {
            return interruptible(pipe.transfer(this, to, false, false, nanos(limit)));
        }

        /**
         * Reads what is there, without waiting.
         *
         * @param to as above
         * @return as above; 0 when nothing is there
         */
        public int tryRead(MemorySegment to) {
            return pipe.transfer(this, to, false, true, 0);
        }
    }

    /** An end to write to. With the last one closed, readers get what is left, and then -1. */
    public static final class Writer extends End {
        private Writer(TokenPipe pipe) {
            super(pipe, 0, 1);
        }

        /**
         * Writes all of it in one piece, waiting for room as long as it takes.
         *
         * @param from native or heap memory of one byte or more
         * @throws InterruptedException the thread was interrupted; nothing was written
         * @throws IllegalArgumentException it is longer than the pipe can ever hold
         * @throws IllegalStateException no reader is open, or the end, the memory's arena or the domain is closed
         */
        public void write(MemorySegment from) throws InterruptedException {
            interruptible(pipe.transfer(this, from, true, false, Long.MAX_VALUE));
        }

        /**
         * The same for at most {@code limit}.
         *
         * @param from as above
         * @param limit nothing or less: does not wait
         * @return false when there was no room
         * @throws InterruptedException the thread was interrupted; nothing was written
         */
        public boolean write(MemorySegment from, Duration limit) throws InterruptedException {
            return interruptible(pipe.transfer(this, from, true, false, nanos(limit))) != 0;
        }

        /**
         * Writes without waiting.
         *
         * @param from as above
         * @return false when there is no room
         */
        public boolean tryWrite(MemorySegment from) {
            return pipe.transfer(this, from, true, true, 0) != 0;
        }
    }

    private static long nanos(Duration limit) {
        return Math.max(0, TimeUnit.NANOSECONDS.convert(limit));
    }

    private static final int INTERRUPTED = -2;
    private static final int ENDED = -1;

    private static int interruptible(int result) throws InterruptedException {
        if (result == INTERRUPTED) {
            throw new InterruptedException();
        }
        return result;
    }

    // ---- transfers ----

    /** With a slot of the calling thread. */
    interface WithSlot {
        int run(int slot);
    }

    private int withSlot(WithSlot body) {
        LockThread me = domain.current();
        int slot = me.enter();
        if (slot == -Layouts.ENOSPC) {
            throw domain.noSlot();
        }
        if (slot < 0) {
            throw new IllegalStateException("the pipe's domain is closed.");
        }
        try {
            return body.run(slot);
        } finally {
            me.exit(slot);
        }
    }

    private int transfer(End end, MemorySegment buffer, boolean writing, boolean nonBlocking, long nanos) {
        end.checkOpen();
        if (buffer.byteSize() == 0) {
            throw new IllegalArgumentException("a transfer needs a buffer of one byte or more.");
        }
        if (!writing && buffer.isReadOnly()) {
            throw new IllegalArgumentException("data cannot be read into a read-only segment.");
        }
        if (writing && buffer.byteSize() > pure.longest()) {
            throw new IllegalArgumentException("this pipe can take " + pure.longest() + " bytes in one piece, not "
                    + buffer.byteSize() + ".");
        }
        int result = withSlot(slot -> {
            if (nativePipe != null && !Thread.currentThread().isVirtual()) {
                return nativePipe.transfer(slot, buffer, writing, nonBlocking, nanos);
            }
            long limit = nanos == Long.MAX_VALUE ? -1 : nanos;
            return writing
                    ? pure.write(slot, buffer, nonBlocking, !nonBlocking, limit)
                    : pure.read(slot, buffer, nonBlocking, !nonBlocking, limit);
        });
        return translated(result, writing);
    }

    private static int translated(int result, boolean writing) {
        return switch (-result) {
            case Layouts.EAGAIN, Layouts.ETIMEDOUT -> 0;
            case Layouts.EINTR -> INTERRUPTED;
            case 0 -> ENDED; // only a read transfers nothing
            case NativePipe.EPIPE -> throw new IllegalStateException("nobody reads from this pipe any more.");
            case NativePipe.EMSGSIZE -> throw new IllegalArgumentException(
                    "the next record is longer than the buffer; it stays in the pipe.");
            case Layouts.EBADMSG -> throw new IllegalStateException("the pipe's memory is damaged.");
            case Layouts.ENOSPC -> throw new IllegalStateException(
                    "more than " + Layouts.NESTING + " waits of one thread are nested.");
            default -> {
                if (result < 0) {
                    throw new IllegalStateException("the pipe cannot be used: error " + -result + ".");
                }
                yield result;
            }
        };
    }
}
