// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * Where the bits of one lock live; hides the three layouts from the algorithm (the twin of qspinlock.c's view). Made once
 * per lock, not per wait.
 *
 * @param owner address of the word with LOCKED and POISON; it names the lock
 * @param queue address of the word with the other bits: the same one but in WIDE
 * @param layout {@code LAYOUT_WORD}, {@code LAYOUT_BYTE}, {@code LAYOUT_WIDE} or {@code LAYOUT_MUTEX}
 */
public record LockWord(Memory memory, long owner, long queue, int layout) {
    /**
     * The lock at an address.
     *
     * @throws IllegalArgumentException misaligned, or no such layout
     */
    public static LockWord at(Memory memory, long address, int layout) {
        if (layout < Layouts.LAYOUT_WORD || layout > Layouts.LAYOUT_MUTEX) {
            throw new IllegalArgumentException("layout " + layout);
        }
        boolean wide = layout >= Layouts.LAYOUT_WIDE;
        int alignment = wide ? Long.BYTES : Integer.BYTES;
        if (address == 0 || address % alignment != 0) {
            throw new IllegalArgumentException(
                    "0x" + Long.toHexString(address) + " is not a multiple of " + alignment + " bytes");
        }
        return new LockWord(memory, address, wide ? address + Integer.BYTES : address, layout);
    }

    boolean wide() {
        return layout >= Layouts.LAYOUT_WIDE;
    }

    /** WIDE with an owner and an OSQ: {@link PureMutex}. */
    boolean mutex() {
        return layout == Layouts.LAYOUT_MUTEX;
    }

    /** What {@code owner} holds while the slot's thread has the lock. */
    int ownedBy(int slot) {
        return mutex() ? slot << Layouts.M_OWNER_SHIFT | Layouts.M_NAMED | Layouts.Q_LOCKED : Layouts.Q_LOCKED;
    }

    /** All bits, wherever they live. */
    public int bits() {
        int bits = memory.get(queue);
        return wide() ? bits | memory.get(owner) & (Layouts.Q_LOCKED | Layouts.Q_POISON) : bits;
    }

    /**
     * What a waiter's node carries: the lock's key and, in its two low bits, the layout. A kick that comes late, when the
     * memory has become a lock of another layout, must not find that lock's waiters.
     */
    long lineKey(PureDomain domain) {
        return domain.key(owner) | layout;
    }

    /** The bit that says that waiters sleep. */
    public int parked() {
        return layout == Layouts.LAYOUT_BYTE ? Layouts.Q_BYTE_PARKED : Layouts.Q_PARKED;
    }

    int tailMask() {
        return layout == Layouts.LAYOUT_BYTE ? Shape.Q_BYTE_TAIL_MASK : Shape.Q_TAIL_MASK;
    }

    private int tailShift() {
        return layout == Layouts.LAYOUT_BYTE ? Shape.Q_BYTE_TAIL_SHIFT : Shape.Q_TAIL_SHIFT;
    }

    int tailOf(int seen) {
        return (seen & tailMask()) >>> tailShift();
    }

    /** The same bits with another tail. */
    int withTail(int seen, int number) {
        return seen & ~tailMask() | number << tailShift();
    }

    /** Returns the word before. */
    int setBits(int bits) {
        return memory.getAndOr(queue, bits); // B1J: acquire and release, pairs with B2, L2, U4 and their twins
    }

    void clearBits(int bits) {
        memory.getAndAnd(queue, ~bits); // B2J: acquire and release, pairs with B1, L2, U4 and their twins
    }

    /** Takes a lock without an owner that was seen free, clearing bits on the way. True when it is ours. */
    boolean take(int seen, int clear) {
        return take(seen, clear, Layouts.Q_LOCKED);
    }

    /** The same for any: {@code mine} is {@link #ownedBy}. */
    boolean take(int seen, int clear, int mine) {
        if (!wide()) {
            return memory.casAcquire(owner, seen, seen & ~clear | Layouts.Q_LOCKED); // L2J: acquire, pairs with U1, U2, U1J
        }
        if (!memory.casAcquire(owner, 0, mine)) { // L2J: acquire, pairs with U3, U3J, Y2, Y2J
            return false;
        }
        if (clear != 0) {
            clearBits(clear);
        }
        return true;
    }

    /** Why nobody gets a lock with these bits, or 0. */
    static int dead(int seen) {
        if ((seen & Layouts.Q_DEAD) == 0) {
            return 0;
        }
        return (seen & Layouts.Q_BROKEN) != 0 ? -Layouts.EBADFD : -Layouts.ESHUTDOWN;
    }

    /** After a release that left these bits behind though nobody held the lock: back to free. */
    public void takeBack() {
        memory.getAndAdd(owner, Layouts.Q_LOCKED); // unless somebody came between
    }

    /** Reserves the lock: true if PENDING is ours now. */
    boolean reserve() {
        return (setBits(Layouts.Q_PENDING) & Layouts.Q_PENDING) == 0;
    }

    /** True when a release that left these bits behind must wake a sleeper. */
    public boolean mustKick(int bits) {
        return (bits & (parked() | Layouts.Q_STANDBY)) == parked();
    }
}
