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

    /** Notes that it holds the word. Beyond {@code PL_HELD} locks a thread is trusted. */
    public static void locked(PureDomain d, int slot, long address) {
        long key = d.key(address);
        d.memory.getAndAdd(d.slotAt(slot) + Shape.THREAD_HELD_COUNT, 1);
        for (int i = 0; i < Shape.HELD; i++) {
            if (d.memory.casLong(entry(d, slot, i), 0, key)) {
                return;
            }
        }
    }

    /** Takes the note back: 0; {@code -EPERM} (not its own). */
    public static int unlocked(PureDomain d, int slot, long address) {
        long key = d.key(address);
        boolean found = false;
        int recorded = 0;
        for (int i = 0; i < Shape.HELD; i++) {
            if (d.memory.getLong(entry(d, slot, i)) != 0) {
                recorded++;
            }
            found = found || d.memory.casLong(entry(d, slot, i), key, 0);
        }
        long count = d.slotAt(slot) + Shape.THREAD_HELD_COUNT;
        if (!found && d.memory.get(count) <= recorded) {
            return -Layouts.EPERM;
        }
        d.memory.getAndAdd(count, -1);
        return 0;
    }

    /** The slot that holds the word, or 0. */
    public static int holder(PureDomain d, long address) {
        long key = d.key(address);
        for (int slot = 1; slot < d.format().slots(); slot++) {
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
        for (int i = 0; i < Shape.HELD; i++) {
            if (d.memory.getLong(entry(d, slot, i)) == key) {
                return true;
            }
        }
        return false;
    }

    private static long entry(PureDomain d, int slot, int i) {
        return d.slotAt(slot) + Shape.THREAD_HELD + (long) i * Long.BYTES;
    }
}
