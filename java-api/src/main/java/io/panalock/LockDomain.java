// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Doorbell;
import io.panalock.internal.Layouts;
import io.panalock.internal.Library;
import io.panalock.internal.Natives;
import io.panalock.internal.Parking;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_domain;
import io.panalock.pure.Memory;
import io.panalock.pure.NativeWaker;
import io.panalock.pure.Pool;
import io.panalock.pure.PureDomain;
import io.panalock.pure.Slots;
import io.panalock.pure.Waker;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The memory in which the waiters of locks meet: thread slots, lines of sleepers, and a pool of lock words. Every lock is
 * used with one domain; all its users, in whatever process or language, must name the same one. Most programs never
 * mention it and use the default domain, which C code of the process reaches by {@code pl_domain_default()}.
 *
 * <p>Processes share locks through a domain in a file: one calls {@link #createShared}, the others {@link #openShared}.
 *
 * <p>{@link #close} ends the use of a domain, not its memory: acquiring a lock of its pool fails afterwards with
 * {@link IllegalStateException}, and the memory is unmapped once neither the domain nor one of its locks can be reached. What
 * becomes of locks that are held or waited for then, {@code close} says.
 */
public final class LockDomain implements AutoCloseable {
    private static final int MAX_REGION = 32767;
    private static final int PAGE = 4096;
    private static final Cleaner CLEANER = Cleaner.create();

    /** Debug checks in domains that this JVM makes. */
    static final boolean CHECKS = Boolean.getBoolean("panalock.checks");

    private final boolean isNative;
    private final boolean isDefault;
    private final boolean shared;
    private final boolean checked;
    private final int slots;
    private final int locks;
    private final PureDomain pure;
    private final Parking parking;

    /** The domain's bytes; what keeps them mapped. */
    private final MemorySegment memory;

    /** Slot 0, for calls that need a slot but no thread; null without the library. */
    private final MemorySegment service;

    /** Through this arena the pool of a shared domain is seen, so that closing takes it away from this process only. */
    private final Arena poolArena;

    private final MemorySegment pool;

    private static final Map<LockDomain, Boolean> ALL = new WeakHashMap<>(); // guarded by itself
    private final LockNames lockNames = new LockNames();
    private final ThreadLocal<LockThread> current = new ThreadLocal<>();
    private final List<MemorySegment> attached = new ArrayList<>();
    private volatile boolean closed;

    /** A native domain. */
    private LockDomain(MemorySegment memory, boolean isDefault) {
        this.isNative = true;
        this.isDefault = isDefault;
        this.memory = memory;
        int flags = pl_domain.flags(memory);
        shared = (flags & Layouts.DOMAIN_SHARED) != 0;
        checked = (flags & Layouts.DOMAIN_CHECKS) != 0;
        slots = pl_domain.slots(memory);
        locks = pl_domain.pool_locks(memory);
        service = panalock_h.pl_domain_service(memory);
        parking = Parking.of(memory.address(), slots);
        pure = PureDomain.open(
                Memory.whole(),
                memory.address(),
                memory.byteSize(),
                new NativeWaker(),
                parking,
                panalock_h.pl_domain_doorbell(memory).address());
        Doorbell.install(this, memory, parking);
        poolArena = shared ? Arena.ofShared() : null;
        pool = shared
                ? MemorySegment.ofAddress(memory.address()).reinterpret(memory.byteSize(), poolArena, null)
                : memory;
        enlist();
    }

    /** A domain of this class loader's Java code only. */
    private LockDomain(PureDomain pure, MemorySegment memory, int slots, int locks, boolean checked, boolean isDefault) {
        this.isNative = false;
        this.isDefault = isDefault;
        this.memory = memory;
        this.pure = pure;
        this.slots = slots;
        this.locks = locks;
        this.checked = checked;
        shared = false;
        service = null;
        parking = pure.parking();
        poolArena = null;
        pool = memory;
        enlist();
    }

    // ---- making one ----

    /**
     * The process's own domain, made on first use; never closed. {@code -Dpanalock.slots=n} (or {@code PANALOCK_SLOTS=n} in
     * the environment, for C too) says how many slots it has, 2 to 16,384; the default is 1,024.
     *
     * @return the default domain
     * @throws UnsatisfiedLinkError there is no native library; locks of {@link Backend#PURE} need not name a domain then
     * @throws IllegalArgumentException {@code panalock.slots} is not such a number
     * @throws OutOfMemoryError there is no memory for it
     */
    public static LockDomain ofDefault() {
        Library.require();
        DefaultSize.require(); // before a class fails to initialise, which would hide why
        return Default.NATIVE;
    }

    static LockDomain defaultFor(Backend backend) {
        if (backend == Backend.PURE && !Library.isLoaded()) {
            DefaultSize.require();
            return PureDefault.DOMAIN;
        }
        return ofDefault();
    }

    /** What {@code -Dpanalock.slots} says. */
    private static final class DefaultSize {
        static final String TEXT = System.getProperty("panalock.slots");
        static final int SLOTS = parse();

        private static int parse() {
            try {
                int n = TEXT == null ? 0 : Integer.parseInt(TEXT.strip());
                return TEXT != null && (n < Layouts.MIN_SLOTS || n > Layouts.MAX_SLOTS) ? -1 : n;
            } catch (NumberFormatException e) {
                return -1;
            }
        }

        /** The number, or 0: not given. */
        static int require() {
            if (SLOTS < 0) {
                throw new IllegalArgumentException("-Dpanalock.slots=" + TEXT + ": not a number from " + Layouts.MIN_SLOTS
                        + " to " + Layouts.MAX_SLOTS + ".");
            }
            return SLOTS;
        }
    }

    private static final class Default {
        static final LockDomain NATIVE = make();

        private static LockDomain make() {
            int slots = DefaultSize.require();
            Natives.require();
            int result;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment o = Natives.options(arena, slots, 0, CHECKS ? Layouts.DOMAIN_CHECKS : 0);
                result = panalock_h.pl_domain_default_options(o);
            }
            if (result != 0) {
                System.getLogger("io.panalock")
                        .log(
                                System.Logger.Level.WARNING,
                                "-Dpanalock.slots or -Dpanalock.checks comes too late: native code has made the default"
                                        + " domain already, with other ones. Set PANALOCK_SLOTS or PANALOCK_CHECKS=1 in the"
                                        + " environment.");
            }
            MemorySegment d = panalock_h.pl_domain_default();
            if (d.address() == 0) {
                throw new OutOfMemoryError("no memory for the default lock domain");
            }
            return new LockDomain(sized(d), true);
        }
    }

    private static final class PureDefault {
        static final LockDomain DOMAIN = make();

        private static LockDomain make() {
            int slots = DefaultSize.require();
            return (slots == 0 ? builder() : builder().slots(slots)).pure(true);
        }
    }

    /** {@return a domain for the threads of this process, with the default sizes} */
    public static LockDomain ofPrivate() {
        return builder().create();
    }

    /**
     * A domain in a new file, with the default sizes, that only the owner can read and write.
     *
     * @param path a file that does not exist; on tmpfs ({@code /dev/shm}) it never reaches a disk
     * @return the domain
     * @throws IllegalStateException the file exists or cannot be made
     */
    public static LockDomain createShared(Path path) {
        return builder().createShared(path);
    }

    /**
     * The domain that another process has created in a file. Everything the file claims is checked before it is used.
     *
     * @param path the file
     * @return the domain
     * @throws IllegalStateException there is no valid domain of this version, or the file cannot be opened for writing
     */
    public static LockDomain openShared(Path path) {
        Natives.require();
        Natives.Made made =
                Natives.made((arena, out) -> panalock_h.pl_domain_open_path(arena.allocateFrom(path.toString()), out));
        if (made.result() != 0) {
            throw cannot("open", path, made.result());
        }
        return ofNative(made.at());
    }

    /** {@return a builder, to choose sizes and checks} */
    public static Builder builder() {
        return new Builder();
    }

    /** Chooses a domain's sizes and checks. The defaults are 1,024 slots, 1,024 locks, and what {@code panalock.checks} says. */
    public static final class Builder {
        private int slots = Layouts.DEFAULT_SLOTS;
        private int locks = Layouts.DEFAULT_POOL;
        private boolean checks = CHECKS;

        private Builder() {}

        /**
         * How many threads can have a slot at once, one being the domain's own: every native thread and every platform
         * thread that has ever waited, and each virtual thread that waits right now. A thread that has to wait and finds
         * none left does without: it looks at the lock now and then instead of being woken.
         *
         * @param slots 2 to 16,384; one of them is the domain's own
         * @return this
         */
        public Builder slots(int slots) {
            if (slots < Layouts.MIN_SLOTS || slots > Layouts.MAX_SLOTS) {
                throw new IllegalArgumentException("slots: " + slots + " is not a number from " + Layouts.MIN_SLOTS + " to "
                        + Layouts.MAX_SLOTS);
            }
            this.slots = slots;
            return this;
        }

        /**
         * How many locks the domain's pool holds.
         *
         * @param locks 1 to 1,048,576
         * @return this
         */
        public Builder locks(int locks) {
            if (locks < 1 || locks > Layouts.MAX_POOL) {
                throw new IllegalArgumentException(
                        "locks: " + locks + " is not a number from 1 to " + Layouts.MAX_POOL);
            }
            this.locks = locks;
            return this;
        }

        /**
         * Debug checks: recursion and unlocking another thread's lock are reported, in every process and language.
         *
         * @param on whether to check
         * @return this
         */
        public Builder checks(boolean on) {
            this.checks = on;
            return this;
        }

        /**
         * A domain for the threads of this process; without the native library one for {@link Backend#PURE} only.
         *
         * @return the domain
         */
        public LockDomain create() {
            if (!Library.isLoaded()) {
                return pure(false);
            }
            Natives.Made made = Natives.made((arena, out) ->
                    panalock_h.pl_domain_create(Natives.options(arena, slots, locks, flags()), out));
            if (made.result() != 0) {
                throw new OutOfMemoryError("no memory for a lock domain of " + slots + " slots and " + locks + " locks");
            }
            return ofNative(made.at());
        }

        /**
         * A domain in a new file, see {@link LockDomain#createShared}.
         *
         * @param path a file that does not exist
         * @return the domain
         * @throws IllegalStateException the file exists or cannot be made
         */
        public LockDomain createShared(Path path) {
            Natives.require();
            Natives.Made made = Natives.made((arena, out) -> panalock_h.pl_domain_create_path(
                    arena.allocateFrom(path.toString()), Natives.options(arena, slots, locks, flags()), out));
            if (made.result() != 0) {
                throw cannot("create", path, made.result());
            }
            return ofNative(made.at());
        }

        private int flags() {
            return checks ? Layouts.DOMAIN_CHECKS : 0;
        }

        private LockDomain pure(boolean isDefault) {
            MemorySegment memory = Arena.ofAuto().allocate(PureDomain.size(slots, locks), PAGE);
            PureDomain d = PureDomain.create(memory, slots, locks, flags(), Waker.NONE);
            return new LockDomain(d, memory, slots, locks, checks, isDefault);
        }
    }

    /** A domain that is unmapped when its memory cannot be reached any more. */
    private static LockDomain ofNative(MemorySegment at) {
        long size = pl_domain.size(at.reinterpret(pl_domain.sizeof()));
        long address = at.address();
        MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(size, Arena.ofAuto(), unreachable -> {
            Parking.forget(address);
            panalock_h.pl_domain_close(MemorySegment.ofAddress(address));
        });
        return new LockDomain(memory, false);
    }

    /** The domain of a ring file, which is mapped as long as the ring's memory is. */
    static LockDomain ofRing(MemorySegment memory) {
        return new LockDomain(memory, false);
    }

    private static MemorySegment sized(MemorySegment at) {
        return MemorySegment.ofAddress(at.address())
                .reinterpret(pl_domain.size(at.reinterpret(pl_domain.sizeof())));
    }

    private static IllegalStateException cannot(String verb, Path path, int result) {
        String why = switch (-result) {
            case Layouts.EEXIST -> "the file exists; open it, or delete it first if no process uses it";
            case Layouts.ENOENT -> "there is no such file or directory";
            case Layouts.EBADMSG -> "the file holds no lock domain, or a damaged one";
            case Layouts.EPROTO ->
                "it was made by another version of Panalock; this one knows layout version " + Layouts.LAYOUT_VERSION;
            case Layouts.EACCES -> "it must be readable and writable";
            case Layouts.EUSERS -> "too many processes have it open";
            case Layouts.EXDEV ->
                "it was made in another PID namespace (container), whose processes this one cannot tell apart; let them"
                        + " share one, or delete the file if no process uses it";
            case Layouts.ENOMEM, Layouts.ENOSPC -> "not enough memory or space";
            default -> "error " + -result;
        };
        return new IllegalStateException("cannot " + verb + " lock domain " + path + ": " + why + ".");
    }

    // ---- for users ----

    /**
     * Tells a shared domain about other memory that processes share and where they keep locks. All processes use the same
     * number for the same memory. A lock of a shared domain in memory that was not attached works between the threads of
     * one process only.
     *
     * @param segment native memory, which stays open until {@link #detach}
     * @param region 1 to 32,767
     * @throws IllegalArgumentException heap memory, or not a valid number
     * @throws IllegalStateException overlapping or too many attachments, or not a shared domain
     */
    public void attach(MemorySegment segment, int region) {
        Objects.requireNonNull(segment, "segment");
        if (!segment.isNative()) {
            throw new IllegalArgumentException("a region must be native memory; this segment is on the heap.");
        }
        if (region < 1 || region > MAX_REGION) {
            throw new IllegalArgumentException("region: " + region + " is not a number from 1 to " + MAX_REGION);
        }
        if (!shared) {
            throw new IllegalStateException("only a shared domain has attached regions; in " + this
                    + " every address of the process works as it is.");
        }
        synchronized (attached) {
            int result = panalock_h.pl_domain_attach(memory, segment, segment.byteSize(), region);
            if (result != 0) {
                throw new IllegalStateException("cannot attach " + segment.byteSize() + " bytes as region " + region + ": "
                        + (result == -Layouts.EEXIST
                                ? "the memory or the number is attached already."
                                : "the domain has no room for more regions."));
            }
            pure.attach(segment.address(), segment.byteSize(), region);
            attached.add(segment);
        }
    }

    /**
     * Undoes {@link #attach}; no lock in the region is in use by this process.
     *
     * @param segment as given to {@code attach}
     * @throws IllegalArgumentException it is not attached
     */
    public void detach(MemorySegment segment) {
        synchronized (attached) {
            if (!attached.removeIf(s -> s.address() == segment.address())) {
                throw new IllegalArgumentException("this segment is not attached");
            }
            forget(segment);
        }
    }

    private void forget(MemorySegment segment) {
        MemorySegment base = MemorySegment.ofAddress(segment.address()); // its arena may be closed by now
        panalock_h.pl_domain_detach(memory, base);
        pure.detach(base.address());
    }

    /** {@return whether other processes can open it} */
    public boolean isShared() {
        return shared;
    }

    /** {@return whether {@link #close} has been called} */
    public boolean isClosed() {
        return closed;
    }

    /** {@return the number of thread slots, the domain's own included} */
    public int slots() {
        return slots;
    }

    /** {@return the number of lock words in the pool} */
    public int locks() {
        return locks;
    }

    /** {@return whether debug checks are on} */
    public boolean checked() {
        return checked;
    }

    /**
     * Ends the use of the domain by this process: locks of its pool can no longer be acquired. Idempotent.
     *
     * <p>A private domain: who waits for a lock of the pool leaves with {@link IllegalStateException}; who holds one goes on
     * holding it, and unlocks it as ever. Locks that lie elsewhere ({@code at}) are not touched.
     *
     * <p>A shared domain lives on in other processes, and its locks with it. A lock of the pool that this process holds stays
     * locked, and this process can no longer unlock it: unlock first. A waiter that is parked in Java leaves with
     * {@link IllegalStateException}; while one waits in native code, closing is refused and changes nothing.
     *
     * @throws UnsupportedOperationException the default domain
     * @throws IllegalStateException threads of this process wait in native code for locks of a shared domain's pool
     */
    @Override
    public void close() {
        if (isDefault) {
            throw new UnsupportedOperationException(
                    "the default domain lives as long as the process; make your own with LockDomain.ofPrivate()");
        }
        synchronized (attached) {
            if (closed) {
                return;
            }
            if (shared) {
                try {
                    poolArena.close();
                } catch (IllegalStateException e) {
                    throw new IllegalStateException(
                            "threads of this process wait for locks of " + this + ": let them finish, then close it.", e);
                }
                attached.forEach(this::forget);
                attached.clear();
            } else if (isNative) {
                panalock_h.pl_domain_poison(memory);
            } else {
                Pool.poison(pure);
            }
            closed = true;
        }
    }

    @Override
    public String toString() {
        return isDefault ? "the default domain" : (shared ? "shared" : "private") + " domain at 0x"
                + Long.toHexString(memory.address());
    }

    // ---- for locks ----

    /** Why a word of the pool that is poisoned can no longer be locked. */
    String whyPoisoned() {
        return closed || Pool.isClosed(pure) ? "its domain is closed." : "it was freed.";
    }

    boolean isNative() {
        return isNative;
    }

    PureDomain pure() {
        return pure;
    }

    MemorySegment memory() {
        return memory;
    }

    MemorySegment service() {
        return service;
    }

    Parking parking() {
        return parking;
    }

    /** How locks of a backend wait and wake here. */
    Waiting waiting(Backend backend) {
        if (!isNative && backend != Backend.PURE) {
            Library.require();
            throw new IllegalArgumentException(backend + " needs a native domain; " + this + " is for PURE only.");
        }
        if (backend != Backend.PURE) {
            Library.require();
        }
        return Waiting.of(backend);
    }

    /** Fills in a free word of the pool, to be given back when the lock cannot be reached any more. */
    void takePoolWord(QSpinLock.Plan p) {
        if (closed) {
            throw new IllegalStateException(this + " is closed.");
        }
        long word = Pool.take(pure);
        for (int i = 0; word == -Layouts.ENOSPC && i < 10; i++) {
            collect(); // words of unreachable locks come back by their cleaners
            word = Pool.take(pure);
        }
        if (word == -Layouts.ESHUTDOWN) {
            throw new IllegalStateException(this + " is closed.");
        }
        if (word < 0) {
            throw new IllegalStateException("all " + locks + " lock words of " + this + " are taken. Make a domain with"
                    + " more (LockDomain.builder().locks(n)), or place locks elsewhere (QSpinLock.at).");
        }
        fill(p, word);
        p.ownsPoolWord = true;
    }

    /** Collects garbage and, within bounds, waits until the cleaners have been at work, however busy the machine is. */
    private static void collect() {
        CountDownLatch cleaning = new CountDownLatch(1);
        CLEANER.register(new Object(), cleaning::countDown);
        System.gc();
        try {
            Thread.sleep(1); // for those behind it
            cleaning.await(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void findPoolWord(QSpinLock.Plan p, int index) {
        Objects.checkIndex(index, locks);
        if (!Pool.isTaken(pure, index)) {
            throw new IllegalStateException("lock " + index + " of the pool of " + this
                    + " is free: nobody took it, or it was given back. Its taker must allocate() it first, and keep it.");
        }
        fill(p, memory.address() + pure.poolOffset() + (long) index * Layouts.CACHE_LINE);
    }

    private void fill(QSpinLock.Plan p, long word) {
        p.word = pool.asSlice(word - memory.address(), p.layout.bytes());
        p.poolIndex = (int) ((word - memory.address() - pure.poolOffset()) / Layouts.CACHE_LINE);
        p.poolWord = !shared;
    }

    /** Gives the word back once the lock object cannot be reached any more, or sooner if told to. */
    PoolWord giveBackAfter(Object lock, long word) {
        PoolWord w = new PoolWord(this, word);
        // Refused when still locked or waited for, through another object: then the word stays taken.
        CLEANER.register(lock, w::give);
        return w;
    }

    /** A word of the pool that belongs to the object that took it. */
    static final class PoolWord {
        private final LockDomain domain;
        private final long word;
        private boolean given;

        private PoolWord(LockDomain domain, long word) {
            this.domain = domain;
            this.word = word;
        }

        /** False: it is locked or waited for, and stays taken. */
        private synchronized boolean give() {
            if (!given && Pool.give(domain.pure, word) == 0) {
                given = true;
            }
            return given;
        }

        /** For the object that stands for it; null: it did not take a word. */
        static void free(PoolWord w, String name) {
            if (w == null) {
                throw new IllegalStateException("\"" + name + "\" cannot be freed through this object, which did not take its"
                        + " memory from the pool: free the one that allocate() made, or the memory it lies in.");
            }
            boolean free = w.give();
            if (!free && w.domain.shared && w.domain.isNative) { // by a process that was killed?
                panalock_h.pl_domain_recover(w.domain.memory, 0);
                free = w.give();
            }
            if (!free) {
                throw new IllegalStateException(
                        "\"" + name + "\" cannot be freed: it is locked or waited for. Unlock it and let its waiters finish.");
            }
        }
    }

    private void enlist() {
        synchronized (ALL) {
            ALL.put(this, true);
        }
    }

    LockNames lockNames() {
        return lockNames;
    }

    /** Domains of this JVM that are reachable. */
    static List<LockDomain> all() {
        synchronized (ALL) {
            return List.copyOf(ALL.keySet());
        }
    }

    /** The calling thread's handle, made on first use. */
    LockThread current() {
        LockThread t = current.get();
        if (t == null) {
            t = new LockThread(this, Thread.currentThread());
            current.set(t);
        }
        return t;
    }

    IllegalStateException noSlot() {
        return new IllegalStateException("every thread slot of " + this + " is taken (" + (slots - 1)
                + "): make the domain with more, LockDomain.builder().slots(n).");
    }
}
