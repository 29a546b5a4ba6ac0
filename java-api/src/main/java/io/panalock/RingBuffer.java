// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.Library;
import io.panalock.internal.Natives;
import io.panalock.internal.Parking;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_domain;
import io.panalock.internal.ffm.pl_ring;
import io.panalock.internal.ffm.pl_ring_header;
import io.panalock.internal.ffm.pl_ring_options;
import io.panalock.pure.Memory;
import io.panalock.pure.PureWaitQueue;
import io.panalock.pure.Ring;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A ring buffer for many producers and one consumer, with records of any length, in memory that Java, C and other processes
 * share; the kernel's BPF ring buffer for user space.
 *
 * <pre>{@code
 * RingBuffer ring = RingBuffer.create(1 << 20);
 *
 * try (var rec = ring.reserve(16)) {       // a producer: any thread
 *     rec.setLong(0, id).setLong(8, value);
 *     rec.commit();                        // without it, close discards the record
 * }
 *
 * while (true) {                           // the consumer: one thread at a time
 *     ring.await();
 *     ring.drain(rec -> handle(rec.getLong(0), rec.getLong(8)));
 * }
 * }</pre>
 *
 * <p>A producer holds a lock only while it reserves. It fills its record in place, without a lock, and commits it, without a
 * lock too. The consumer sees records in the order in which they were reserved, each after its commit; a record that is
 * still open holds up those behind it.
 *
 * <p>Memory effects: what a thread did before it committed a record happens before what the consumer does with it.
 * Reserving, committing, draining allocate no Java object in the long run. Reserving waits for the lock only, never for room;
 * a virtual thread then parks. Only {@link #await()} and its like wait for records; they can be interrupted, and park virtual
 * threads.
 *
 * <p>When a process is killed with open records in a ring file, the consumer skips them. A thread that leaves a record open
 * in a JVM that lives on holds up the ring: use try-with-resources.
 *
 * <p>{@link #close} ends the use of the ring; its memory is unmapped once nothing can reach it.
 */
public final class RingBuffer implements AutoCloseable {
    private static final long LOOK_NANOS = 10_000; // before the consumer parks
    private static final long FOREVER = -1;
    private static final int PIECES = 16; // of the ring: how often a drain gives room back
    private static final VarHandle CONSUMING;

    static {
        try {
            CONSUMING = MethodHandles.lookup().findVarHandle(RingBuffer.class, "consuming", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Ring ring;
    private final RingAccess access;
    private final MemorySegment memory; // of the ring; what keeps it mapped
    private final MemorySegment data;
    private final MemorySegment handle; // pl_ring; null without the library
    private final LockDomain domain;
    private final PureWaitQueue line;
    private final Backend backend;
    private final RingLock lock;
    private final boolean reaps; // other processes' open records
    private final int flags;
    private final ThreadLocal<Producer> producers = new ThreadLocal<>();
    private final Entry entry;
    private final MemorySegment copy; // overwrite mode: of the record being consumed

    @SuppressWarnings("unused") // CONSUMING
    private boolean consuming;

    private volatile boolean closed;

    private RingBuffer(Plan p) {
        ring = p.ring;
        memory = p.memory;
        handle = p.handle;
        domain = p.domain;
        backend = p.backend;
        lock = p.lock;
        reaps = p.reaps;
        flags = p.flags;
        access = p.access();
        data = memory.asSlice(p.dataOffset);
        line = new PureWaitQueue(
                domain.pure(),
                p.handle != null ? Memory.whole() : Memory.of(memory),
                memory.address() + Ring.HEADER_LINE);
        entry = new Entry(this);
        copy = (flags & Layouts.RING_OVERWRITE) != 0 ? Arena.ofAuto().allocate(ring.bytes, Long.BYTES) : null;
    }

    // ---- making one ----

    /**
     * A ring for the threads of this process, with all defaults.
     *
     * @param bytes of data: a power of two, at least 4,096
     * @return an empty ring
     */
    public static RingBuffer create(long bytes) {
        return builder().bytes(bytes).create();
    }

    /**
     * The ring that another process has created in a file. Everything that the file claims is checked before it is used.
     *
     * @param path the file
     * @return the ring
     * @throws IllegalStateException there is no valid ring of this version, or the file cannot be opened for writing
     */
    public static RingBuffer open(Path path) {
        return builder().open(path);
    }

    /** {@return a builder, to choose everything that can be chosen} */
    public static Builder builder() {
        return new Builder();
    }

    /** Chooses size, backend, lock and mode. The defaults are {@link Backend#ofDefault()} and {@link RingLock#QSPINLOCK}. */
    public static final class Builder {
        private long bytes;
        private Backend backend = Backend.ofDefault();
        private RingLock lock = RingLock.QSPINLOCK;
        private LockDomain domain;
        private int flags;

        private Builder() {}

        /**
         * How much the ring holds, 8 bytes a record included.
         *
         * @param bytes a power of two from 4,096 (or the system's page size) to 1 GiB
         * @return this
         */
        public Builder bytes(long bytes) {
            if (bytes < Layouts.RING_MIN_BYTES || bytes > Layouts.RING_MAX_BYTES || Long.bitCount(bytes) != 1) {
                throw new IllegalArgumentException("bytes: " + bytes + " is not a power of two from "
                        + Layouts.RING_MIN_BYTES + " to " + Layouts.RING_MAX_BYTES);
            }
            this.bytes = bytes;
            return this;
        }

        /**
         * How this object's producers reach the ring; consuming is Java code in all of them.
         *
         * @param backend the object's backend
         * @return this
         */
        public Builder backend(Backend backend) {
            this.backend = Objects.requireNonNull(backend, "backend");
            return this;
        }

        /**
         * What producers hold while they reserve. {@link #open} takes what the ring has.
         *
         * @param lock the ring's lock
         * @return this
         */
        public Builder lock(RingLock lock) {
            this.lock = Objects.requireNonNull(lock, "lock");
            return this;
        }

        /**
         * The domain in which those who wait meet; for {@link #create()} only, a ring file has its own.
         *
         * @param domain a domain of this process
         * @return this
         */
        public Builder domain(LockDomain domain) {
            this.domain = Objects.requireNonNull(domain, "domain");
            return this;
        }

        /**
         * A full ring gives up its oldest records instead of refusing new ones. Open records are never given up.
         *
         * @param on whether it does
         * @return this
         */
        public Builder overwrite(boolean on) {
            flags = on ? flags | Layouts.RING_OVERWRITE : flags & ~Layouts.RING_OVERWRITE;
            return this;
        }

        /**
         * The data is mapped once, and its end is padded; without it, where there is a native library, twice in a row.
         * Padded rings hold records up to half their size.
         *
         * @param on whether it is
         * @return this
         */
        public Builder padded(boolean on) {
            flags = on ? flags | Layouts.RING_PADDED : flags & ~Layouts.RING_PADDED;
            return this;
        }

        /**
         * A ring for the threads of this process: Java, and C code that is given {@link RingBuffer#nativeHandle}.
         *
         * @return an empty ring
         * @throws IllegalArgumentException the backend cannot take the lock
         * @throws UnsatisfiedLinkError the backend needs the native library and there is none
         */
        public RingBuffer create() {
            requireBytes();
            if (backend == Backend.PURE && !Library.isLoaded()) {
                return new RingBuffer(inJava());
            }
            Natives.require();
            LockDomain d = domain != null ? domain : LockDomain.ofDefault();
            if (!d.isNative()) {
                throw new IllegalArgumentException(d + " was made without the native library; a ring cannot use it now.");
            }
            Natives.Made made = Natives.made(
                    (arena, out) -> panalock_h.pl_ring_create(options(arena, d.memory()), out));
            check("create", "a ring buffer of " + bytes + " bytes", made.result());
            return new RingBuffer(inC(made.at(), d));
        }

        /**
         * A ring in a new file that only the owner can read and write.
         *
         * @param path a file that does not exist; on tmpfs ({@code /dev/shm}) it never reaches a disk
         * @return an empty ring
         * @throws IllegalStateException the file exists or cannot be made
         * @throws IllegalArgumentException a lock of this JVM only, or a domain was named
         */
        public RingBuffer create(Path path) {
            requireBytes();
            Natives.require();
            if (lock == RingLock.REENTRANT_LOCK) {
                throw new IllegalArgumentException(
                        "lock: other processes cannot take a ReentrantLock; use QSPINLOCK or PTHREAD_MUTEX for a ring file.");
            }
            if (domain != null) {
                throw new IllegalArgumentException("domain: a ring file has its own.");
            }
            Natives.Made made = Natives.made((arena, out) -> panalock_h.pl_ring_create_path(
                    arena.allocateFrom(path.toString()), options(arena, MemorySegment.NULL), out));
            check("create", "ring buffer " + path, made.result());
            return new RingBuffer(inC(made.at(), null));
        }

        /**
         * The ring in a file, see {@link RingBuffer#open}. Size, lock and mode are what its creator chose.
         *
         * @param path the file
         * @return the ring, as it is
         * @throws IllegalStateException there is no valid ring of this version, or the file cannot be opened for writing
         */
        public RingBuffer open(Path path) {
            Natives.require();
            Natives.Made made = Natives.made(
                    (arena, out) -> panalock_h.pl_ring_open_path(arena.allocateFrom(path.toString()), out));
            check("open", "ring buffer " + path, made.result());
            return new RingBuffer(inC(made.at(), null));
        }

        private void requireBytes() {
            if (bytes == 0) {
                throw new IllegalArgumentException("bytes: say how many, RingBuffer.builder().bytes(1 << 20)");
            }
        }

        private MemorySegment options(Arena arena, MemorySegment domain) {
            MemorySegment o = pl_ring_options.allocate(arena);
            o.fill((byte) 0);
            pl_ring_options.bytes(o, bytes);
            pl_ring_options.flags(o, flags);
            pl_ring_options.lock(o, lock.number);
            pl_ring_options.domain(o, domain);
            return o;
        }

        private static void check(String verb, String what, int result) {
            if (result == 0) {
                return;
            }
            String why = switch (-result) {
                case Layouts.EEXIST -> "the file exists; open it, or delete it first if no process uses it";
                case Layouts.ENOENT -> "there is no such file or directory";
                case Layouts.EBADMSG -> "the file holds no ring buffer, or a damaged one";
                case Layouts.EPROTO -> "it was made by another version of Panalock, or on a system with other pages";
                case Layouts.EACCES -> "it must be readable and writable";
                case Layouts.EUSERS -> "too many processes have it open";
                case Layouts.ENOMEM, Layouts.ENOSPC -> "not enough memory or space";
                case Layouts.EINVAL -> "this system's pages are larger";
                default -> "error " + -result;
            };
            throw new IllegalStateException("cannot " + verb + " " + what + ": " + why + ".");
        }

        /** A ring that C made or opened; unmapped when its memory cannot be reached any more. */
        private Plan inC(MemorySegment at, LockDomain given) {
            Plan p = new Plan();
            MemorySegment view = at.reinterpret(pl_ring.sizeof());
            long header = pl_ring.header(view).address();
            long domainAddress = pl_ring.domain(view).address();
            boolean own = pl_ring.own_domain(view) != 0;
            Arena arena = Arena.ofAuto();
            p.handle = MemorySegment.ofAddress(at.address());
            p.memory = MemorySegment.ofAddress(header).reinterpret(pl_ring.mapped(view), arena, unreachable -> {
                if (own) {
                    Parking.forget(domainAddress);
                }
                panalock_h.pl_ring_close(MemorySegment.ofAddress(at.address()));
            });
            MemorySegment first = p.memory.asSlice(0, pl_ring_header.sizeof());
            int page = pl_ring_header.page_bytes(first);
            p.dataOffset = 3L * page;
            p.flags = pl_ring.flags(view);
            p.lock = RingLock.of(pl_ring.lock_kind(view));
            p.backend = backend;
            p.reaps = own;
            if (own) {
                MemorySegment d = MemorySegment.ofAddress(domainAddress);
                long size = pl_domain.size(d.reinterpret(pl_domain.sizeof()));
                p.domain = LockDomain.ofRing(d.reinterpret(size, arena, null));
                p.domain.pure().attach(header, p.dataOffset, Layouts.RING_REGION);
            } else {
                p.domain = given;
            }
            p.inSegment = backend == Backend.PURE;
            p.ring = new Ring(
                    p.inSegment ? 0 : header,
                    page,
                    pl_ring.bytes(view),
                    p.flags,
                    pl_ring.owner(view),
                    p.domain.pure().releaseNeedsFence());
            return p;
        }

        /** Without the library: memory of this JVM, padded. */
        private Plan inJava() {
            int page = Layouts.RING_MIN_BYTES;
            Plan p = new Plan();
            p.flags = flags | Layouts.RING_PADDED;
            p.dataOffset = 3L * page;
            p.memory = Arena.ofAuto().allocate(p.dataOffset + bytes, page);
            int[] header = {
                Layouts.RING_MAGIC_LO, Layouts.RING_MAGIC_HI, Layouts.RING_VERSION, p.flags, (int) bytes, 0, page, lock.number
            };
            for (int i = 0; i < header.length; i++) {
                p.memory.setAtIndex(ValueLayout.JAVA_INT, i, header[i]);
            }
            p.lock = lock;
            p.backend = backend;
            p.domain = domain != null ? domain : LockDomain.defaultFor(Backend.PURE);
            p.inSegment = true;
            p.ring = new Ring(0, page, bytes, p.flags, 0, true);
            return p;
        }
    }

    /** What the constructor needs. */
    private static final class Plan {
        Ring ring;
        MemorySegment memory;
        MemorySegment handle;
        LockDomain domain;
        Backend backend;
        RingLock lock;
        long dataOffset;
        int flags;
        boolean reaps;
        boolean inSegment;

        RingAccess access() {
            Lock javaLock = switch (lock) {
                case QSPINLOCK -> QSpinLock.builder()
                        .domain(domain)
                        .backend(backend)
                        .layout(Layout.WORD)
                        .name("ring buffer")
                        .atUnclosable(memory, Ring.HEADER_LOCK);
                case REENTRANT_LOCK -> new ReentrantLock();
                case PTHREAD_MUTEX -> null;
                case RQSPINLOCK -> backend != Backend.PURE
                        ? null
                        : RqSpinLock.builder()
                                .domain(domain)
                                .backend(backend)
                                .layout(Layout.WORD)
                                .name("ring buffer")
                                .at(memory, Ring.HEADER_LOCK);
                case OSQ_MUTEX -> backend != Backend.PURE
                        ? null
                        : OsqMutex.builder()
                                .domain(domain)
                                .backend(backend)
                                .name("ring buffer")
                                .at(memory, Ring.HEADER_LOCK);
            };
            boolean ownLock = lock == RingLock.REENTRANT_LOCK;
            if (javaLock == null && backend == Backend.PURE) {
                throw new IllegalArgumentException("lock: PURE cannot take a pthread_mutex; use another backend, or a ring"
                        + " with another lock.");
            }
            RingAccess.Caller caller = new RingAccess.Caller(domain, lock != RingLock.PTHREAD_MUTEX);
            return switch (backend) {
                case HYBRID -> javaLock == null
                        ? new RingAccess.NativeLock(handle, caller, ring)
                        : new RingAccess.Whole(ring, javaLock);
                case PURE -> new RingAccess.Segment(ring, memory, javaLock);
                case FFM -> new RingAccess.Ffm(handle, caller, javaLock, ownLock, false);
                case FFM_CRITICAL -> new RingAccess.Ffm(handle, caller, javaLock, ownLock, true);
                case JNI -> new RingAccess.OverJni(handle, caller, javaLock, ownLock);
            };
        }
    }

    // ---- producing ----

    /**
     * Reserves a record. Each thread can have one open at a time; {@link #producer} gives more.
     *
     * @param bytes its length, 0 to {@link #maxRecord}
     * @return the open record, not cleared; to be committed or discarded, and closed
     * @throws RingFullException there is no room now
     * @throws IllegalArgumentException not a length that this ring can take
     * @throws IllegalStateException this thread's last record is open still, or the ring is closed or damaged
     */
    public Reservation reserve(int bytes) {
        return mine().reserve(bytes);
    }

    /**
     * Reserves a record if there is room.
     *
     * @param bytes its length, 0 to {@link #maxRecord}
     * @return as {@link #reserve}; null when the ring is full, which try-with-resources takes
     * @throws IllegalArgumentException not a length that this ring can take
     * @throws IllegalStateException this thread's last record is open still, or the ring is closed or damaged
     */
    public Reservation tryReserve(int bytes) {
        return mine().tryReserve(bytes);
    }

    /**
     * Copies bytes into a new record and commits it.
     *
     * @param source what to copy
     * @throws RingFullException there is no room now
     * @throws IllegalArgumentException longer than {@link #maxRecord}
     */
    public void put(MemorySegment source) {
        try (Reservation r = reserve((int) Math.min(source.byteSize(), Integer.MAX_VALUE))) {
            r.segment().copyFrom(source);
            r.commit();
        }
    }

    private Producer mine() {
        Producer p = producers.get();
        if (p == null) {
            p = new Producer(this);
            producers.set(p);
        }
        return p;
    }

    /** {@return a producer's handle, which saves looking the thread's own up; for one thread at a time, one open record each} */
    public Producer producer() {
        return new Producer(this);
    }

    /** Reserves records one after the other. For one thread at a time. */
    public static final class Producer {
        private final RingBuffer ring;
        private final Reservation record;

        private Producer(RingBuffer ring) {
            this.ring = ring;
            this.record = new Reservation(ring);
        }

        /**
         * As {@link RingBuffer#reserve}.
         *
         * @param bytes the record's length
         * @return the open record
         * @throws RingFullException there is no room now
         */
        public Reservation reserve(int bytes) {
            Reservation r = tryReserve(bytes);
            if (r == null) {
                throw new RingFullException("no room for a record of " + bytes + " bytes in " + ring);
            }
            return r;
        }

        /**
         * As {@link RingBuffer#tryReserve}.
         *
         * @param bytes the record's length
         * @return the open record, or null
         */
        public Reservation tryReserve(int bytes) {
            RingBuffer r = ring;
            if (record.open || bytes < 0 || bytes > r.ring.maxRecord || r.closed) {
                throw r.refusal(record.open, bytes);
            }
            long at = r.access.reserve(bytes);
            if (at < 0) {
                return r.noRecord(at);
            }
            record.begin(at, bytes);
            return record;
        }
    }

    private RuntimeException refusal(boolean open, int bytes) {
        if (closed) {
            return new IllegalStateException(this + " is closed");
        }
        if (open) {
            return new IllegalStateException("the last record of this producer is open still: commit or close it first."
                    + " For several at once use RingBuffer.producer().");
        }
        return new IllegalArgumentException("bytes: " + bytes + " is not a number from 0 to " + ring.maxRecord
                + ", the longest record of " + this);
    }

    private Reservation noRecord(long result) {
        if (result == -Layouts.EAGAIN) {
            return null;
        }
        throw switch ((int) -result) {
            case Layouts.EBADMSG -> new IllegalStateException(this + " is damaged");
            case Layouts.ENOSPC -> domain.noSlot();
            case Layouts.EDEADLK -> new IllegalStateException(
                    "waiting for the lock of " + this + " would be a deadlock: who holds it waits for the caller");
            case Layouts.ETIMEDOUT -> new IllegalStateException(
                    "the lock of " + this + " was not to be had in time: its holder does not run, or is dead");
            default -> new IllegalStateException(this + ": error " + -result);
        };
    }

    /** A reserved record: to be filled, committed or discarded, and closed. */
    public static final class Reservation extends RingRecord implements AutoCloseable {
        private final RingBuffer ring;
        private boolean open;

        private Reservation(RingBuffer ring) {
            this.ring = ring;
            this.memory = ring.data;
        }

        private void begin(long at, int bytes) {
            offset = at;
            size = bytes;
            open = true;
        }

        @Override
        void check() {
            if (!open) {
                throw new IllegalStateException("the record is not open: it was committed or discarded.");
            }
        }

        /**
         * Sets the byte at an index. Plain access.
         *
         * @param index of the byte
         * @param value the new byte
         * @return this
         */
        public Reservation setByte(int index, byte value) {
            putByte(index, value);
            return this;
        }

        /**
         * Sets the int at an index, in the machine's byte order. Plain access.
         *
         * @param index of its first byte
         * @param value the new int
         * @return this
         */
        public Reservation setInt(int index, int value) {
            putInt(index, value);
            return this;
        }

        /**
         * Sets the long at an index, in the machine's byte order. Plain access.
         *
         * @param index of its first byte
         * @param value the new long
         * @return this
         */
        public Reservation setLong(int index, long value) {
            putLong(index, value);
            return this;
        }

        /**
         * Hands the record to the consumer, and wakes it if it waits for this record. Release.
         *
         * @throws IllegalStateException the record is not open
         */
        public void commit() {
            finish(false, 0);
        }

        /**
         * Hands the record to the consumer.
         *
         * @param wakeup whether to wake it
         * @throws IllegalStateException the record is not open
         */
        public void commit(Wakeup wakeup) {
            finish(false, wakeup.flags);
        }

        /**
         * Gives the record up: the consumer will skip it.
         *
         * @throws IllegalStateException the record is not open
         */
        public void discard() {
            finish(true, 0);
        }

        /** Discards the record unless it was committed or discarded. */
        @Override
        public void close() {
            if (open) {
                finish(true, 0);
            }
        }

        private void finish(boolean discard, int flags) {
            check();
            open = false;
            RingBuffer r = ring;
            int wake = r.access.finish(offset, discard, flags);
            if (wake != 0) {
                r.wakeOrFail(wake);
            }
            Reference.reachabilityFence(r);
        }
    }

    /** Whether a commit wakes the consumer. */
    public enum Wakeup {
        /** If it waits for this very record; what {@code commit()} does. */
        AUTO(0),
        /** Never: more records follow at once. */
        NONE(Layouts.RING_NO_WAKEUP),
        /** If it waits at all. */
        FORCE(Layouts.RING_FORCE_WAKEUP);

        private final int flags;

        Wakeup(int flags) {
            this.flags = flags;
        }
    }

    private void wakeOrFail(int result) {
        if (result < 0) {
            throw new IllegalStateException("the record is not open any more in " + this
                    + ": another process took this one for dead, or the memory is damaged.");
        }
        wake();
    }

    /** Whether a consumer stands in the line; a hint. */
    boolean hasWaiter() {
        return ring.hasWaiter(segment());
    }

    /** Ends the wait of the consumer, if it waits at this moment, as if a record had come. */
    public void wake() {
        line.wake(0, Layouts.WAITQ_ALL);
    }

    // ---- consuming ----

    /** A record that is being consumed; valid during the handler's call only. */
    public static final class Entry extends RingRecord {
        private final RingBuffer ring;
        private boolean inside;

        private Entry(RingBuffer ring) {
            this.ring = ring;
        }

        @Override
        void check() {
            if (!inside) {
                throw new IllegalStateException("the record was consumed: it cannot be used after its handler.");
            }
        }
    }

    /** What is done with each record. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Called for one record.
         *
         * @param record its bytes, during this call only
         */
        void accept(Entry record);
    }

    /**
     * Consumes all records that are there, without waiting.
     *
     * @param handler what to do with each; when it throws, its record counts as consumed
     * @return how many
     * @throws IllegalStateException another thread consumes right now, or the ring is closed or damaged
     */
    public int drain(Handler handler) {
        return drain(handler, Integer.MAX_VALUE);
    }

    /**
     * Consumes the records that are there, but no more than so many, without waiting. Room is given back in pieces while
     * it runs.
     *
     * @param handler what to do with each; when it throws, its record counts as consumed
     * @param max how many at most, 1 or more
     * @return how many
     * @throws IllegalStateException another thread consumes right now, or the ring is closed or damaged
     */
    public int drain(Handler handler, int max) {
        Objects.requireNonNull(handler, "handler");
        if (max < 1) {
            throw new IllegalArgumentException("max: " + max + " is not a number of 1 or more");
        }
        if (closed) {
            throw refusal(false, 0);
        }
        if (!CONSUMING.compareAndSet(this, false, true)) {
            throw new IllegalStateException("another thread consumes " + this + " right now; there can be one at a time.");
        }
        try {
            return copy == null ? inPlace(handler, max) : byCopy(handler, max);
        } finally {
            CONSUMING.setRelease(this, false);
            Reference.reachabilityFence(this);
        }
    }

    /** Positions of this call alone, so that the compiler keeps them in registers. */
    private int inPlace(Handler handler, int max) {
        MemorySegment m = segment();
        Entry e = entry;
        e.memory = data;
        long at = ring.consumed(m);
        long published = at;
        long known = at;
        int count = 0;
        try {
            while (count < max) {
                int word = ring.look(m, at, known);
                if (word < 0) {
                    if (word != Ring.NOTHING || (known = ring.produced(m)) == at) {
                        damaged(word, count);
                        break;
                    }
                    continue;
                }
                long next = Ring.behind(at, word);
                if ((word & Layouts.RING_DISCARD) == 0) {
                    e.offset = ring.offsetAt(at);
                    e.size = word;
                    e.inside = true;
                    at = next; // also if the handler throws
                    count++;
                    handler.accept(e);
                }
                at = next;
                if (at - published >= ring.bytes / PIECES) {
                    ring.publish(m, at);
                    published = at;
                }
            }
        } finally {
            e.inside = false;
            if (at != published) {
                ring.publish(m, at);
            }
        }
        return count;
    }

    /** Overwrite mode: a record is copied, and handed out if it was still there afterwards. */
    private int byCopy(Handler handler, int max) {
        MemorySegment m = segment();
        Entry e = entry;
        e.memory = copy;
        e.offset = 0;
        long at = ring.consumed(m);
        int count = 0;
        try {
            while (count < max) {
                at = ring.wholeFrom(m, at);
                long known = ring.produced(m);
                int word = ring.look(m, at, known);
                boolean record = word >= 0 && (word & Layouts.RING_DISCARD) == 0;
                if (record) {
                    copyOut(ring.offsetAt(at), word);
                }
                if (!ring.stillThere(m, at)) {
                    continue;
                }
                if (word < 0) {
                    damaged(word, count);
                    break;
                }
                at = Ring.behind(at, word);
                if (record) {
                    e.size = word;
                    e.inside = true;
                    count++;
                    handler.accept(e);
                }
            }
        } finally {
            e.inside = false;
            ring.publish(m, at);
        }
        return count;
    }

    private void copyOut(long offset, int length) {
        MemorySegment.copy(data, offset, copy, 0, length);
    }

    private void damaged(int word, int count) {
        if (word == Ring.DAMAGED && count == 0) {
            throw new IllegalStateException(this + " is damaged: there is no record at its consumer's position.");
        }
    }

    private MemorySegment segment() {
        return backend == Backend.PURE ? memory : io.panalock.internal.Words.Whole.ALL;
    }

    /**
     * Waits until a record is ready.
     *
     * @throws InterruptedException the thread was interrupted
     * @throws IllegalStateException the ring is closed or gets closed
     */
    public void await() throws InterruptedException {
        await(FOREVER);
    }

    /**
     * Waits until a record is ready, but no longer than that.
     *
     * @param timeout how long
     * @return whether one is ready, or {@link #wake} was called
     * @throws InterruptedException the thread was interrupted
     * @throws IllegalStateException the ring is closed or gets closed
     */
    public boolean await(Duration timeout) throws InterruptedException {
        return await(Math.max(0, TimeUnit.NANOSECONDS.convert(timeout)));
    }

    private boolean ready() {
        MemorySegment m = segment();
        long at;
        int word;
        do {
            at = ring.wholeFrom(m, ring.consumed(m));
            word = ring.look(m, at, ring.produced(m));
        } while (!ring.stillThere(m, at));
        return word >= 0 || word == Ring.DAMAGED; // drain says so
    }

    private boolean await(long nanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long start = System.nanoTime();
        long looked = nanos < 0 ? LOOK_NANOS : Math.min(LOOK_NANOS, nanos);
        do {
            if (closed) {
                throw refusal(false, 0);
            }
            if (ready()) {
                return true;
            }
            Thread.onSpinWait();
        } while (System.nanoTime() - start < looked);
        LockThread me = domain.current();
        int slot = me.enter();
        if (slot < 0) {
            throw domain.noSlot();
        }
        try {
            return inLine(slot, start, nanos);
        } finally {
            me.exit(slot);
            Reference.reachabilityFence(this);
        }
    }

    private boolean inLine(int slot, long start, long nanos) throws InterruptedException {
        int place = line.enter(slot, false);
        if (place < 0) {
            throw new IllegalStateException("cannot wait for " + this + ": error " + -place);
        }
        try {
            for (; ; ) {
                domain.pure().heavyFence(); // X10J: heavy fence, we in the line before the look; pairs with X9, X11, X11J
                if (closed) {
                    throw refusal(false, 0);
                }
                if (ready()) {
                    return true;
                }
                long left = nanos < 0 ? Long.MAX_VALUE : nanos - (System.nanoTime() - start);
                if (left <= 0) {
                    return false;
                }
                long nap = reaps ? Math.min(left, Layouts.RING_REAP_NS) : left;
                int result = line.sleep(slot, place, nap == Long.MAX_VALUE ? FOREVER : nap, true);
                if (result == -Layouts.EINTR) {
                    throw new InterruptedException();
                }
                if (result != -Layouts.ETIMEDOUT) {
                    if (closed) {
                        throw refusal(false, 0);
                    }
                    return true;
                }
                if (reaps) {
                    panalock_h.pl_ring_reap(handle);
                }
            }
        } finally {
            line.leave(slot, place, true);
        }
    }

    // ---- asking ----

    /** {@return bytes between the consumer's and the producers' positions, headers included; a hint while others work} */
    public long available() {
        long n = ring.available(segment());
        Reference.reachabilityFence(this);
        return n;
    }

    /** {@return bytes of data that the ring holds} */
    public long capacity() {
        return ring.bytes;
    }

    /** {@return the longest record, in bytes} */
    public int maxRecord() {
        return ring.maxRecord;
    }

    /** {@return overwrite mode: how many records were overwritten before the consumer had passed them} */
    public long lost() {
        long n = ring.lost(segment());
        Reference.reachabilityFence(this);
        return n;
    }

    /** {@return the consumer's position: bytes since the ring was made} */
    public long consumerPosition() {
        long n = ring.consumed(segment());
        Reference.reachabilityFence(this);
        return n;
    }

    /** {@return the producers' position: bytes since the ring was made} */
    public long producerPosition() {
        long n = ring.produced(segment());
        Reference.reachabilityFence(this);
        return n;
    }

    /** {@return how this object's producers reach the ring} */
    public Backend backend() {
        return backend;
    }

    /** Where the lock lies, for tests that hold it. */
    MemorySegment memory() {
        return memory;
    }

    /** {@return what producers hold while they reserve} */
    public RingLock lock() {
        return lock;
    }

    /** {@return whether a full ring gives up its oldest records} */
    public boolean overwrites() {
        return ring.overwrites();
    }

    /** {@return whether its data is mapped once, and padded} */
    public boolean padded() {
        return (flags & Layouts.RING_PADDED) != 0;
    }

    /**
     * The {@code pl_ring *} of this ring, for C code of this process; valid while this object can be reached.
     *
     * @return the address
     * @throws UnsupportedOperationException the ring was made without the native library
     */
    public MemorySegment nativeHandle() {
        if (handle == null) {
            throw new UnsupportedOperationException(this + " was made without the native library");
        }
        return handle;
    }

    /**
     * Ends the use of the ring by this object: later calls throw {@link IllegalStateException}, a waiting consumer too. What
     * was reserved can still be committed. A ring file lives on. Idempotent.
     */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            wake();
        }
    }

    @Override
    public String toString() {
        return "ring buffer of " + ring.bytes + " bytes at 0x" + Long.toHexString(memory.address());
    }
}
