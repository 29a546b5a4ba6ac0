// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/** Who holds what, as the debug checks of every language know it: the twin of checks.c. Never waits. */
public final class Checks {
    private Checks() {}

    /** May this slot's thread lock the word? 0; {@code -EDEADLK} (it holds it). */
    public static int locking(PureDomain d, int slot, long address) {
        return holds(d, slot, d.key(address)) ? -Layouts.EDEADLK : 0;
    }

    /** Notes that it holds the word. Beyond the table's room a thread is trusted. */
    public static void locked(PureDomain d, int slot, long address) {
        Held.push(d, slot, d.key(address));
    }

    /** Takes the note back: 0; {@code -EPERM} (not its own). */
    public static int unlocked(PureDomain d, int slot, long address) {
        int found = Held.find(d, slot, d.key(address));
        if (found == Held.NONE) {
            return -Layouts.EPERM;
        }
        Held.pop(d, slot, found);
        return 0;
    }

    /** The slot that holds the word, or 0. */
    public static int holder(PureDomain d, long address) {
        long key = d.key(address);
        for (int slot = 1; slot < d.slotsUsed(); slot++) {
            if (d.memory.getAcquire(d.slotAt(slot) + Shape.THREAD_STATE) == Shape.SLOT_USED && holds(d, slot, key)) {
                return slot;
            }
        }
        return 0;
    }

    /** What to call a slot's thread in a message. */
    public static String name(PureDomain d, int slot) {
        String name = Slots.name(d, slot);
        if (!name.isEmpty()) {
            return name;
        }
        long s = d.slotAt(slot);
        int pid = d.memory.get(d.processAt(d.memory.get(s + Shape.THREAD_PROCESS)) + Shape.PROCESS_PID);
        return "thread " + d.memory.get(s + Shape.THREAD_TID) + " of process " + pid;
    }

    private static boolean holds(PureDomain d, int slot, long key) {
        long[] entries = new long[Shape.HELD];
        for (int n = Held.read(d, slot, entries); n > 0; n--) {
            if (Held.key(entries[n - 1]) == key) {
                return true;
            }
        }
        return false;
    }
}
