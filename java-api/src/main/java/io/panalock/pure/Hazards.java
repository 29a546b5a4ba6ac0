// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.invoke.VarHandle;

/**
 * Hazards: the twin of shazptr.c, whose comment says who may write what and why one look at a slot is enough. The
 * reader's half never waits; {@link #look} never waits either, so whoever waits decides how.
 */
public final class Hazards {
    public static final long IDLE = Shape.HAZARD_IDLE;
    public static final long FIRST_NAME = Shape.HAZARD_FIRST_NAME;
    public static final long NO_GUARD = -1;

    /** From the address of a slot's hazard to that of its wildcard. */
    public static final long WILDCARD_FROM_WORD = Shape.THREAD_WILDCARD - Shape.THREAD_HAZARD;

    private Hazards() {}

    // ---- readers ----

    /** Address of a slot's hazard, for fast paths. */
    public static long word(PureDomain d, int slot) {
        return d.slotAt(slot) + Shape.THREAD_HAZARD;
    }

    private static long wildcard(PureDomain d, int slot) {
        return d.slotAt(slot) + Shape.THREAD_WILDCARD;
    }

    /** Begins a guard by the slot's own thread; the caller fences. What it returns ends the guard, see {@link #clear}. */
    public static long announce(PureDomain d, int slot, long name) {
        Memory m = d.memory;
        long hazard = m.getLong(word(d, slot));
        if (hazard == IDLE || hazard == Shape.HAZARD_UNLISTED) {
            if (hazard == Shape.HAZARD_UNLISTED) {
                m.getAndOr(listed(d, slot), 1 << slot); // G9J: before the slot's announcement; pairs with G10, G10J
            }
            m.setLongRelease(word(d, slot), name); // G1J: release, pairs with G4, G4J
            return IDLE;
        }
        long before = m.getLong(wildcard(d, slot));
        long nesting = before & Shape.WILDCARD_NESTING;
        long number = before == 0
                ? m.getLongAcquire(d.header(Shape.DOMAIN_HAZARD_EPOCH)) + 1 // G7J: acquire, pairs with G8, G8J
                : before >>> Shape.WILDCARD_SHIFT;
        if (nesting < Shape.WILDCARD_NESTING) {
            nesting++;
        }
        m.setLongRelease(wildcard(d, slot), number << Shape.WILDCARD_SHIFT | nesting); // G1J
        return before;
    }

    /** The fence between the announcement and the look for the object, where writers cannot pay for it. */
    public static void fence(PureDomain d) {
        if (d.fencedRelease) {
            VarHandle.fullFence(); // G3J: pairs with P3
        }
    }

    /** Ends a guard. */
    public static void clear(PureDomain d, int slot, long guard) {
        if (guard == IDLE) {
            d.memory.setLongRelease(word(d, slot), IDLE); // G2J: release, pairs with G4, G4J
        } else {
            d.memory.setLongRelease(wildcard(d, slot), guard); // G2J
        }
    }

    /** The name of an object: its address in a private domain, its key in a shared one. */
    public static long name(PureDomain d, long address) {
        return d.shared ? d.key(address) : address;
    }

    // ---- slots that change hands ----

    static boolean isActive(PureDomain d, int slot) {
        return isName(d.memory.getLong(word(d, slot)));
    }

    /** The slot's guards end, whatever they were. */
    public static void forget(PureDomain d, int slot) {
        if (d.memory.getLong(word(d, slot)) != Shape.HAZARD_UNLISTED) {
            d.memory.setLongRelease(wildcard(d, slot), 0); // G2J
            d.memory.setLongRelease(word(d, slot), IDLE); // G2J
        }
    }

    static void unlist(PureDomain d, int slot) {
        if (d.memory.getLong(word(d, slot)) != Shape.HAZARD_UNLISTED) {
            d.memory.setLongRelease(wildcard(d, slot), 0); // G2J
            d.memory.setLongRelease(word(d, slot), Shape.HAZARD_UNLISTED); // G2J
            d.memory.getAndAnd(listed(d, slot), ~(1 << slot)); // G9J
        }
    }

    private static long listed(PureDomain d, int slot) {
        return d.address() + d.format().listedOffset() + (long) (slot / Integer.SIZE) * Integer.BYTES;
    }

    private static boolean isName(long hazard) {
        return hazard != Shape.HAZARD_UNLISTED && hazard != IDLE;
    }

    // ---- writers ----

    /** Why this slot's thread must not wait for readers of a name: true if it would wait for itself. */
    public static boolean isOwn(PureDomain d, int slot, long name) {
        long hazard = d.memory.getLong(word(d, slot));
        return isName(hazard) && (hazard == name || d.memory.getLong(wildcard(d, slot)) != 0);
    }

    /** Stands between making objects unreachable and {@link #look}; a system call. */
    public static void heavyFence(PureDomain d) {
        d.waker.heavyFence(d.shared); // G5J: pairs with G1, G1J, G6, G9
        VarHandle.fullFence();
    }

    /** A number that wildcards which begin from now on have at least. */
    public static long raise(PureDomain d) {
        return d.memory.getAndAddLong(d.header(Shape.DOMAIN_HAZARD_EPOCH), 1) + 2; // G8J: pairs with G7, G7J
    }

    /** What one writer waits for, and what it has seen so far; of one thread. */
    public static final class Wait {
        private final long name;
        private int[] slots = new int[4]; // in the way at the last look: slot << 1 | 1 if by a wildcard
        private int count;
        private long epoch; // 0: not raised yet
        private boolean begun;

        public Wait(long name) {
            this.name = name;
        }

        /** What is waited for. */
        public long name() {
            return name;
        }

        private void add(int entry) {
            if (count == slots.length) {
                slots = java.util.Arrays.copyOf(slots, count * 2);
            }
            slots[count++] = entry;
        }
    }

    /**
     * Looks at every slot, and from the second time on at those that were in the way. The first look goes behind
     * {@link #heavyFence}, which goes behind making the object unreachable.
     *
     * @param orphans slots whose threads have ended do not count; costs system calls
     * @return true when every slot has let the wait pass
     */
    public static boolean look(PureDomain d, Wait w, boolean orphans) {
        if (!w.begun) {
            w.begun = true;
            int slots = d.format().slots();
            for (int group = 0; group < slots; group += Integer.SIZE) {
                // G10J: behind the heavy fence; pairs with G9, G9J
                int bits = d.memory.getAcquire(listed(d, group));
                for (; bits != 0; bits &= bits - 1) {
                    look(d, w, group + Integer.numberOfTrailingZeros(bits), true, true);
                }
            }
            return w.count == 0;
        }
        int before = w.count;
        int[] entries = w.slots.clone();
        w.count = 0;
        for (int i = 0; i < before; i++) {
            int slot = entries[i] >> 1;
            if (!orphans || !Slots.ownerGone(d, d.slotAt(slot))) {
                look(d, w, slot, (entries[i] & 1) == 0, (entries[i] & 1) != 0);
            }
        }
        return w.count == 0;
    }

    /** What one look at all slots saw, for many names at once; behind {@link #heavyFence}. */
    public static final class Snapshot {
        private final java.util.Set<Long> names = new java.util.HashSet<>();
        private boolean wildcards;

        /** True if nobody was in the way of a writer for this name. */
        public boolean isFree(long name) {
            return !wildcards && !names.contains(name);
        }
    }

    public static Snapshot snapshot(PureDomain d) {
        Snapshot s = new Snapshot();
        int slots = d.format().slots();
        for (int group = 0; group < slots; group += Integer.SIZE) {
            int bits = d.memory.getAcquire(listed(d, group)); // G10J
            for (; bits != 0; bits &= bits - 1) {
                int slot = group + Integer.numberOfTrailingZeros(bits);
                if (slot < slots) {
                    long hazard = d.memory.getLongAcquire(word(d, slot)); // G4J
                    if (isName(hazard)) {
                        s.names.add(hazard);
                        s.wildcards |= d.memory.getLongAcquire(wildcard(d, slot)) != 0; // G4J
                    }
                }
            }
        }
        return s;
    }

    private static void look(PureDomain d, Wait w, int slot, boolean named, boolean nested) {
        Memory m = d.memory;
        if (slot >= d.format().slots()) {
            return; // memory that another process damaged
        }
        long hazard = m.getLongAcquire(word(d, slot)); // G4J: acquire, pairs with G1, G1J, G2, G2J
        if (!isName(hazard)) {
            return;
        }
        if (named && hazard == w.name) {
            w.add(slot << 1);
        }
        if (nested) {
            long wildcard = m.getLongAcquire(wildcard(d, slot)); // G4J
            if (wildcard != 0) {
                if (w.epoch == 0) {
                    w.epoch = raise(d);
                }
                if (wildcard >>> Shape.WILDCARD_SHIFT < w.epoch) {
                    w.add(slot << 1 | 1);
                }
            }
        }
    }

    /** Whether a guard on this name, or a nested guard, exists now: a hint. */
    public static boolean isProtected(PureDomain d, long name) {
        for (int slot = 1; slot < d.format().slots(); slot++) {
            long hazard = d.memory.getLongAcquire(word(d, slot)); // G4J
            if (isName(hazard) && (hazard == name || d.memory.getLongAcquire(wildcard(d, slot)) != 0)) { // G4J
                return true;
            }
        }
        return false;
    }

    /** As in C. */
    public static int bad(long name) {
        return isName(name) ? 0 : -Layouts.EINVAL;
    }
}
