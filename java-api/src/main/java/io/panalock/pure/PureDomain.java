// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import io.panalock.internal.Parking;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A domain as the pure twins see it: the bytes that native/include/panalock/layout.h describes, plus what only this
 * process knows. Native code may have the same bytes open.
 *
 * <p>Assumes that the memory outlives every use. Addresses are absolute. Numbers returned are results, or negative
 * errno values as in C. Safe for use by many threads; nothing here waits, except for the short lock of a line.
 */
public final class PureDomain {
    final Memory memory;
    final Waker waker;
    final Pacer pacer;
    final Parking parking;
    final boolean shared;
    /** Who sees to it that virtual threads get their turn; null in a model. */
    final Turns turns;
    /** A release must be followed by a full fence: see {@link Waker#releaseNeedsFence}. */
    final boolean fencedRelease;

    private final long base;
    private final DomainFormat format;
    private final int pid;
    private final int process; // index into pl_domain.processes
    private final int holder;
    private final Wait[] waits; // by node number, made on first use by the node's owner, who is handed on by T1-T2
    private volatile Region[] regions = {};

    /** With this bit a pid claims its entry but has not written its incarnation yet. */
    private static final int CLAIMING = 0x80000000;

    private record Region(long base, long bytes, long number) {}

    /** A domain whose header is valid; the caller has seen to it. */
    PureDomain(Memory memory, long base, Waker waker, Pacer pacer, Parking parking, int pid, int process) {
        this.memory = memory;
        this.base = base;
        this.waker = waker;
        this.pacer = pacer;
        this.fencedRelease = waker.releaseNeedsFence();
        this.format = DomainFormat.plan(
                memory.get(base + Shape.DOMAIN_SLOTS), memory.get(base + Shape.DOMAIN_POOL_LOCKS));
        this.shared = (flags() & Layouts.DOMAIN_SHARED) != 0;
        this.parking = parking;
        this.pid = pid;
        this.process = process;
        int incarnation = (int) memory.getLong(processAt(process) + Shape.PROCESS_INCARNATION) & Shape.WAITQ_INCARNATION_MASK;
        this.holder = Shape.WAITQ_HELD | incarnation << Shape.WAITQ_INCARNATION_SHIFT | process;
        this.waits = new Wait[format.slots() * Layouts.NESTING];
        this.turns = pacer == Pacer.REAL ? new Turns(this) : null;
    }

    /** Bytes that a domain needs (zeros: the defaults), or 0 when an option is out of range. */
    public static long size(int slots, int poolLocks) {
        DomainFormat f = DomainFormat.plan(slots, poolLocks);
        return f == null ? 0 : f.size();
    }

    /**
     * Makes a private domain for the threads of this process in memory of its own.
     *
     * @param arena keeps the domain's memory; closed only when nobody uses the domain or its locks any more
     * @param flags {@code DOMAIN_CHECKS} or 0
     * @param waker {@link Waker#NONE} unless native code will use the domain too
     * @throws IllegalArgumentException an option out of range
     */
    public static PureDomain create(Arena arena, int slots, int poolLocks, int flags, Waker waker) {
        DomainFormat f = DomainFormat.plan(slots, poolLocks);
        if (f == null || (flags & ~Layouts.DOMAIN_CHECKS) != 0) {
            throw new IllegalArgumentException("a domain has " + Layouts.MIN_SLOTS + " to " + Layouts.MAX_SLOTS
                    + " slots and up to " + Layouts.MAX_POOL + " pool locks, not " + slots + " and " + poolLocks);
        }
        return create(arena.allocate(f.size(), 4096), slots, poolLocks, flags, waker);
    }

    /** The same in zeroed memory of {@link #size} bytes, page aligned, that the caller provides and keeps open. */
    public static PureDomain create(MemorySegment memory, int slots, int poolLocks, int flags, Waker waker) {
        DomainFormat f = DomainFormat.plan(slots, poolLocks);
        Memory m = Memory.of(memory);
        f.format(m, memory.address(), flags);
        return open(m, memory.address(), f.size(), waker, new Parking(f.slots()), 0);
    }

    /**
     * A domain that exists at an address: made and opened by native code of this process, which keeps it mapped, or
     * mapped by the caller.
     *
     * @param bytes how much is mapped there
     * @param parking the same object for everybody of this class loader who uses the domain
     * @param doorbell address of the doorbell on which this process sleeps for the domain (pl_domain_doorbell), so that
     *     slots registered here belong to the same entry; 0: none, an entry is made
     * @throws IllegalArgumentException no domain there, or one of another layout version
     * @throws IllegalStateException too many processes have it open
     */
    public static PureDomain open(
            Memory memory, long base, long bytes, Waker waker, Parking parking, long doorbell) {
        int err = DomainFormat.validate(memory, base, bytes);
        if (err != 0) {
            throw new IllegalArgumentException(
                    err == -Layouts.EPROTO ? "a domain of another layout version" : "no valid domain there");
        }
        int process = doorbell == 0
                ? enroll(memory, base)
                : (int) ((doorbell - base - Shape.DOMAIN_PROCESSES) / Shape.PROCESS);
        return new PureDomain(memory, base, waker, Pacer.REAL, parking, ProcessIdentity.PID, process);
    }

    /** A new entry for this process; the twin of claim_process(). */
    private static int enroll(Memory m, long base) {
        int pid = ProcessIdentity.PID;
        for (int i = 0; i < Shape.PROCESSES; i++) {
            long p = base + Shape.DOMAIN_PROCESSES + i * Shape.PROCESS;
            int old = m.getAcquire(p + Shape.PROCESS_PID); // M7J: acquire, pairs with M8, M8J
            if (old != 0 && alive(m, p, old)) {
                continue;
            }
            if (m.casAcquire(p + Shape.PROCESS_PID, old, pid | CLAIMING)) { // M7J
                m.setLong(p + Shape.PROCESS_INCARNATION, ProcessIdentity.incarnation(pid));
                m.setRelease(p + Shape.PROCESS_PID, pid); // M8J: release, pairs with M7, M7J
                return i;
            }
        }
        throw new IllegalStateException("already open in " + Shape.PROCESSES + " processes");
    }

    private static boolean alive(Memory m, long process, int pid) {
        long incarnation = ProcessIdentity.incarnation(pid & ~CLAIMING);
        return incarnation != 0
                && ((pid & CLAIMING) != 0
                        || ProcessIdentity.same(incarnation, m.getLong(process + Shape.PROCESS_INCARNATION)));
    }

    // ---- from numbers to addresses and back ----

    /** Address of the domain's first byte. */
    public long address() {
        return base;
    }

    public Memory memory() {
        return memory;
    }

    public Parking parking() {
        return parking;
    }

    /** From the domain's first byte to the pool's first word. */
    public long poolOffset() {
        return format.poolOffset();
    }

    DomainFormat format() {
        return format;
    }

    int flags() {
        return memory.get(base + Shape.DOMAIN_FLAGS);
    }

    long header(long field) {
        return base + field;
    }

    int process() {
        return process;
    }

    /** What this process puts into a line's lock while it holds it; see layout.h. */
    int holder() {
        return holder;
    }

    /**
     * The crew that the thread of a node belongs to: threads that stop running together, a process's virtual threads when
     * their carriers are busy with others, and all of a process when it is stopped or killed.
     */
    int crewOf(int number) {
        long slot = slotAt(slotOf(number));
        return memory.get(slot + Shape.THREAD_PROCESS) << 1 | (memory.get(slot + Shape.THREAD_TID) == 0 ? 1 : 0);
    }

    int pid() {
        return pid;
    }

    long processAt(int index) {
        return base + Shape.DOMAIN_PROCESSES + index * Shape.PROCESS;
    }

    /** Address of a slot. */
    public long slotAt(int slot) {
        return base + format.slotsOffset() + slot * Shape.THREAD;
    }

    /** The slot at an address, as native code names it. */
    public int slotNumber(long address) {
        return (int) ((address - base - format.slotsOffset()) / Shape.THREAD);
    }

    static int nodeNumber(int slot, int level) {
        return slot * Layouts.NESTING + level;
    }

    static int slotOf(int number) {
        return number / Layouts.NESTING;
    }

    long nodeAt(int number) {
        int level = number % Layouts.NESTING;
        return slotAt(slotOf(number)) + Shape.THREAD_NODES + level * Shape.NODE;
    }

    /** Valid numbers of slots that can wait: slot 0 is the domain's own. */
    boolean isWaiter(int slot) {
        return slot > 0 && slot < format.slots();
    }

    /** True when {@code slot} names a slot of this domain, its own included. */
    boolean isSlot(int slot) {
        return slot >= 0 && slot < format.slots();
    }

    /** Slots that were ever registered lie below this. */
    int slotsUsed() {
        return Math.min(memory.getAcquire(header(Shape.DOMAIN_SLOTS_USED)), format.slots()); // T5J: acquire, pairs with T4, T4J
    }

    /** Address of a held table. */
    long tableAt(int index) {
        return base + format.tablesOffset() + index * Shape.OVERFLOW;
    }

    /** The line in which waiters for this key park. */
    long lineOf(long key) {
        // Fibonacci hashing, as in park.h.
        int bucket = (int) ((key & ~3L) * 0x9e3779b97f4a7c15L >>> Long.SIZE - Byte.SIZE) % Shape.BUCKETS;
        return base + format.bucketsOffset() + bucket * Shape.BUCKET + Shape.BUCKET_LINE;
    }

    /** The wait of a node, reused from one to the next: touched by the node's owner only, but for {@link Turns}. */
    Wait waitOf(int slot, int level) {
        int number = nodeNumber(slot, level);
        Wait w = waits[number];
        if (w == null) {
            w = new Wait(this, slot, number);
            waits[number] = w;
        }
        return w;
    }

    /** The wait of a node that has ever waited here, else null: for {@link Turns}. */
    Wait knownWait(int number) {
        return waits[number];
    }

    // ---- keys ----

    /** The key of a word that belongs to this domain's locks: see layout.h. */
    long key(long address) {
        if (Long.compareUnsigned(address - base, format.size()) < 0) {
            return address - base;
        }
        if (!shared) {
            return Shape.KEY_LOCAL | address;
        }
        for (Region r : regions) {
            if (Long.compareUnsigned(address - r.base, r.bytes) < 0) {
                return r.number << Shape.KEY_REGION_SHIFT | address - r.base;
            }
        }
        return Shape.KEY_LOCAL | (long) process << Shape.KEY_REGION_SHIFT | address;
    }

    /**
     * The twin of pl_domain_attach(), which knows nothing of this object: whoever uses both backends calls both, before
     * any lock of the region is used.
     */
    public synchronized void attach(long regionBase, long bytes, int number) {
        Region[] more = Arrays.copyOf(regions, regions.length + 1);
        more[regions.length] = new Region(regionBase, bytes, number);
        regions = more;
    }

    /** Undoes {@link #attach}. */
    public synchronized void detach(long regionBase) {
        regions = Arrays.stream(regions).filter(r -> r.base != regionBase).toArray(Region[]::new);
    }

    /** The heavy half of an asymmetric fence towards all who share this domain. */
    public void heavyFence() {
        waker.heavyFence(shared);
    }

    /** True when {@link #heavyFence} does not stand in for the other side's fence. */
    public boolean releaseNeedsFence() {
        return fencedRelease;
    }

    // ---- waking ----

    /** A node together with the state in which it was taken: what {@link #wake} needs, in one number; 0 is nobody. */
    static int token(int number, int was) {
        return was << Short.SIZE | number;
    }

    /** Wakes whoever sleeps on a node that was taken out of its state; the twin of pl_node_wake(). */
    void wake(int token) {
        int number = token & 0xffff;
        int was = token >>> Short.SIZE;
        // A node found REARM or INTERRUPTED is awake, unless whoever marked it was killed before it woke it.
        boolean unsure = was == Layouts.NODE_REARM || was == Layouts.NODE_INTERRUPTED;
        if (was == Layouts.NODE_SLEEPING || unsure) {
            waker.futexWake(nodeAt(number) + Shape.NODE_STATE, 1, shared);
        }
        if (was == Layouts.NODE_PARKED || unsure) {
            int owner = memory.get(slotAt(slotOf(number)) + Shape.THREAD_PROCESS);
            if (memory.get(processAt(owner) + Shape.PROCESS_PID) != pid || !parking.unpark(number)) {
                ring(owner); // another process, or another class loader of this one
            }
        }
    }

    private void ring(int owner) {
        long bell = processAt(owner) + Shape.PROCESS_DOORBELL;
        memory.getAndAdd(bell, 1); // S4J: release, the node's new state before the ring; pairs with S2J
        waker.futexWake(bell, Integer.MAX_VALUE, shared);
    }
}
