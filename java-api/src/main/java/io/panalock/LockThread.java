// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.Natives;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_deadlock;
import io.panalock.pure.Circle;
import io.panalock.pure.Slots;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread's handle in a domain. Locks find it by themselves when they have to wait; a loop that often waits may get it once
 * and pass it to {@link QSpinLock#lock(LockThread)}. To be used by its own thread only.
 *
 * <p>Behind it stands a thread slot: a platform thread's own, registered when it first waits and released when it ends; a
 * virtual thread's, borrowed while it waits (with debug checks: while it holds, too).
 */
public final class LockThread {
    private static final int ENDING_TRIES = 500;
    private static final long ENDING_NANOS = 1_000_000;

    private final LockDomain domain;
    private final Thread thread;
    private final boolean virtual;

    private int own; // slot number; 0: none
    private long ownAddress; // of the own slot; 0: none
    private Circle circle;
    private MemorySegment report; // pl_deadlock; made on first use
    private MemorySegment ownSegment;
    private int mutexes; // owned by a thread that borrows its slot
    private boolean borrowed; // the own slot is a borrowed one, kept while locks or guards are held

    /** Guards of this thread by nesting depth, made once. */
    final HazardGuard outermost = new HazardGuard(this, 0);

    private HazardGuard[] guards = {outermost};

    LockThread(LockDomain domain, Thread thread) {
        this.domain = domain;
        this.thread = thread;
        this.virtual = thread.isVirtual();
    }

    /**
     * The calling thread's handle in the default domain.
     *
     * @return the same object for the whole life of the thread
     */
    public static LockThread current() {
        return LockDomain.ofDefault().current();
    }

    /**
     * The calling thread's handle in a domain.
     *
     * @param domain the domain of the locks that it will be used with
     * @return the same object for the whole life of the thread
     */
    public static LockThread current(LockDomain domain) {
        return domain.current();
    }

    /** {@return the thread whose handle this is} */
    public Thread thread() {
        return thread;
    }

    /** {@return the domain in which it is one} */
    public LockDomain domain() {
        return domain;
    }

    /** Small, so that it is inlined. */
    void check(LockDomain d) {
        if (d != domain || thread != Thread.currentThread()) {
            refuse(d);
        }
    }

    private void refuse(LockDomain d) {
        if (d != domain) {
            throw new IllegalArgumentException("this is a handle in " + domain + ", the lock belongs to " + d
                    + ": get one by LockThread.current(lock.domain()).");
        }
        throw new IllegalArgumentException("this is the handle of " + thread.getName() + ", used by "
                + Thread.currentThread().getName() + ": each thread has its own.");
    }

    boolean isVirtual() {
        return virtual;
    }

    /** A slot to wait with, until {@link #exit}: its number, {@code -ENOSPC} or {@code -ESHUTDOWN}. */
    int enter() {
        return own != 0 || !virtual && registerOwn() ? own : Slots.register(domain.pure(), 0);
    }

    void exit(int slot) {
        if (slot != own) {
            Slots.release(domain.pure(), slot);
        }
    }

    /** A slot to hold locks with, until {@link #released} finds that none is held any more. */
    int hold() {
        int slot = enter();
        for (int i = 0; slot == -Layouts.ENOSPC && !virtual && i < ENDING_TRIES; i++) {
            LockSupport.parkNanos(this, ENDING_NANOS); // a thread that has ended for Java still has its slot for a moment
            slot = enter();
        }
        if (slot > 0 && slot != own) {
            Slots.name(domain.pure(), slot, name());
            own = slot;
            ownAddress = domain.pure().slotAt(slot);
            ownSegment = null;
            borrowed = true;
        }
        return slot;
    }

    int guardsOpen() {
        int n = 0;
        while (n < guards.length && guards[n].isOpen()) {
            n++;
        }
        return n;
    }

    /** Address of the slot that the thread keeps, or 0. Valid as long as its domain is mapped. */
    long slotAddress() {
        return ownAddress;
    }

    /** The deadlock that this thread was told of last. */
    Circle circle() {
        if (circle == null) {
            circle = new Circle();
        }
        return circle;
    }

    /** Where native code reports a deadlock to this thread. */
    MemorySegment report() {
        if (report == null) {
            report = Arena.ofAuto().allocate(pl_deadlock.layout());
        }
        return report;
    }

    /** Whether the slot is borrowed, to be given back when nothing is held. */
    boolean isBorrowed() {
        return borrowed;
    }

    HazardGuard guard(int depth) {
        if (depth == guards.length) {
            guards = java.util.Arrays.copyOf(guards, depth + 1);
            guards[depth] = new HazardGuard(this, depth);
        }
        return guards[depth];
    }

    /** The slot if there is one, else 0: then the thread holds nothing. */
    int slotIfAny() {
        return own;
    }

    void released() {
        if (borrowed && mutexes == 0 && Slots.release(domain.pure(), own) == 0) { // refused while other locks are held
            own = 0;
            ownAddress = 0;
            borrowed = false;
        }
    }

    /**
     * A mutex was acquired with the slot: that is kept until it is released. Platform threads borrow too, when they have slots
     * of their own in as many domains as C keeps for a thread.
     */
    void owns() {
        if (borrowed) {
            mutexes++;
        }
    }

    void ownsNoMore() {
        if (borrowed) {
            mutexes--;
            released();
        }
    }

    /** What native functions take. */
    MemorySegment segment(int slot) {
        return slot == own && ownSegment != null
                ? ownSegment
                : MemorySegment.ofAddress(domain.pure().slotAt(slot));
    }

    /** The same as a number. */
    long address(int slot) {
        return domain.pure().slotAt(slot);
    }

    private String name() {
        String name = thread.getName();
        return name.isEmpty() ? "thread " + thread.threadId() : name;
    }

    private boolean registerOwn() {
        if (domain.isNative()) {
            MemorySegment slot = panalock_h.pl_self_in(domain.memory());
            if (slot.address() == 0) {
                return false; // none left, or this thread has slots in too many domains
            }
            ownSegment = MemorySegment.ofAddress(slot.address());
            own = domain.pure().slotNumber(slot.address());
            ownAddress = slot.address();
            Natives.nameSlot(ownSegment, name());
            return true;
        }
        // A slot that carries its thread's kernel id is found again when the thread has ended.
        int tid = kernelId();
        int slot = tid == 0 ? 0 : Slots.register(domain.pure(), tid);
        if (slot > 0) {
            own = slot;
            ownAddress = domain.pure().slotAt(slot);
            Slots.name(domain.pure(), slot, name());
        }
        return own != 0;
    }

    private static int kernelId() {
        try {
            return Integer.parseInt(
                    Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
        } catch (IOException | UnsupportedOperationException | NumberFormatException e) {
            return 0;
        }
    }

    @Override
    public String toString() {
        return "LockThread[" + name() + " in " + domain + "]";
    }
}
