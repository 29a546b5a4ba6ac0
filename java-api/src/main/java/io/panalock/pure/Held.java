// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

/**
 * Which locks a slot's thread holds or is about to take: the twin of held.c, whose header file states the invariants. A
 * stack of entries, {@code key | nesting level}, popped in any order; written by the slot's thread, read by anybody.
 * Never waits.
 */
final class Held {
    private Held() {}

    /** Results of {@link #find} beside an index. */
    static final int NONE = -1;

    static final int UNRECORDED = -2;

    private static final long LEVEL = 3; // the bits of an entry that are not the key's

    static long key(long entry) {
        return entry & ~LEVEL;
    }

    static int level(long entry) {
        return (int) (entry & LEVEL);
    }

    /** Adds an entry at the current nesting level: its index; or counts it: UNRECORDED. */
    static int push(PureDomain d, int slot, long key) {
        Memory m = d.memory;
        long s = d.slotAt(slot);
        int level = m.get(s + Shape.THREAD_DEPTH);
        int top = top(m, s);
        if (level <= LEVEL && top < Shape.HELD) {
            setTop(m, s, top + 1); // before the table is looked for: a handler may give an unused one back
            if (top < Shape.HELD_INLINE || table(d, s) != 0 || top == Shape.HELD_INLINE && borrow(d, slot, s)) {
                m.setLong(entry(d, s, top), key | level);
                return top;
            }
            setTop(m, s, top);
        }
        m.set(s + Shape.THREAD_HELD_UNRECORDED, m.get(s + Shape.THREAD_HELD_UNRECORDED) + 1);
        return UNRECORDED;
    }

    /** True if an entry other than number {@code but} has this key; with key 0, any other entry at all. */
    static boolean other(PureDomain d, int slot, long key, int but) {
        long s = d.slotAt(slot);
        for (int i = top(d.memory, s) - 1; i >= 0; i--) {
            long at = entry(d, s, i);
            long entry = at == 0 ? 0 : d.memory.getLong(at);
            if (entry != 0 && i != but && (key == 0 || key(entry) == key)) {
                return true;
            }
        }
        return false;
    }

    /** The highest entry with this key: its index; or UNRECORDED: perhaps one of those; or NONE. */
    static int find(PureDomain d, int slot, long key) {
        Memory m = d.memory;
        long s = d.slotAt(slot);
        for (int i = top(m, s) - 1; i >= 0; i--) {
            long entry = entry(d, s, i);
            if (entry != 0 && key(m.getLong(entry)) == key) {
                return i;
            }
        }
        return m.get(s + Shape.THREAD_HELD_UNRECORDED) != 0 ? UNRECORDED : NONE;
    }

    /** Takes away what {@link #find} found. */
    static void pop(PureDomain d, int slot, int found) {
        Memory m = d.memory;
        long s = d.slotAt(slot);
        if (found == UNRECORDED) {
            m.set(s + Shape.THREAD_HELD_UNRECORDED, m.get(s + Shape.THREAD_HELD_UNRECORDED) - 1);
        }
        if (found < 0) {
            return;
        }
        int top = top(m, s);
        int i = found;
        for (; i + 1 < top; i++) {
            m.setLong(entry(d, s, i), m.getLong(entry(d, s, i + 1)));
        }
        m.setLong(entry(d, s, i), 0);
        setTop(m, s, i);
        if (i <= Shape.HELD_INLINE && top > Shape.HELD_INLINE && table(d, s) != 0) {
            giveBack(m, s, table(d, s));
        }
    }

    /** True if there is any entry, or a lock that is not recorded. */
    static boolean any(PureDomain d, int slot) {
        long s = d.slotAt(slot);
        return top(d.memory, s) != 0 || d.memory.get(s + Shape.THREAD_HELD_UNRECORDED) != 0;
    }

    /** Empties the table of a slot whose thread is gone or not yet there. */
    static void reset(PureDomain d, int slot) {
        Memory m = d.memory;
        long s = d.slotAt(slot);
        long table = table(d, s);
        if (table != 0) {
            for (int i = 0; i < Shape.HELD_MORE; i++) {
                m.setLong(table + Shape.OVERFLOW_HELD + (long) i * Long.BYTES, 0);
            }
            if (m.get(table + Shape.OVERFLOW_OWNER) == slot) {
                giveBack(m, s, table);
            }
        }
        for (int i = 0; i < Shape.HELD_INLINE; i++) {
            m.setLong(s + Shape.THREAD_HELD + (long) i * Long.BYTES, 0);
        }
        m.set(s + Shape.THREAD_HELD_TABLE, 0);
        m.set(s + Shape.THREAD_HELD_TOP, 0);
        m.set(s + Shape.THREAD_HELD_UNRECORDED, 0);
    }

    /** Anybody: copies the entries of a slot, without gaps, and returns their number. */
    static int read(PureDomain d, int slot, long[] entries) {
        Memory m = d.memory;
        long s = d.slotAt(slot);
        int readable = table(d, s) != 0 ? Shape.HELD : Shape.HELD_INLINE;
        int n = 0;
        for (int i = 0; i < readable; i++) {
            long at = entry(d, s, i);
            long entry = at == 0 ? 0 : m.getLong(at);
            if (entry != 0) {
                entries[n++] = entry;
            }
        }
        return n;
    }

    // ---- the stack ----

    /** Where the next entry goes. */
    private static int top(Memory m, long s) {
        int top = m.get(s + Shape.THREAD_HELD_TOP);
        return top != 0 ? top : m.getLong(s + Shape.THREAD_HELD) != 0 ? 1 : 0;
    }

    private static void setTop(Memory m, long s, int top) {
        m.set(s + Shape.THREAD_HELD_TOP, top > 1 ? top : 0);
    }

    /** Address of an entry, or 0 where no table is. */
    private static long entry(PureDomain d, long s, int index) {
        if (index < Shape.HELD_INLINE) {
            return s + Shape.THREAD_HELD + (long) index * Long.BYTES;
        }
        long table = table(d, s);
        return table == 0 ? 0 : table + Shape.OVERFLOW_HELD + (long) (index - Shape.HELD_INLINE) * Long.BYTES;
    }

    // ---- the tables that a domain lends ----

    /** The table that a slot has, or 0. */
    private static long table(PureDomain d, long s) {
        int number = d.memory.get(s + Shape.THREAD_HELD_TABLE);
        return number > 0 && number <= d.format().tables() ? d.tableAt(number - 1) : 0;
    }

    private static boolean borrow(PureDomain d, int slot, long s) {
        Memory m = d.memory;
        for (int i = 0; i < d.format().tables(); i++) {
            long table = d.tableAt(i);
            if (m.get(table + Shape.OVERFLOW_OWNER) == 0
                    && m.casAcquire(table + Shape.OVERFLOW_OWNER, 0, slot)) { // E1J: acquire, pairs with E2, E2J
                m.set(s + Shape.THREAD_HELD_TABLE, i + 1);
                return true;
            }
        }
        return false;
    }

    private static void giveBack(Memory m, long s, long table) {
        m.set(s + Shape.THREAD_HELD_TABLE, 0);
        m.setRelease(table + Shape.OVERFLOW_OWNER, 0); // E2J: release, pairs with E1, E1J
    }
}
