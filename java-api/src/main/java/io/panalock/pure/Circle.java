// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

/** A deadlock that was found: each thread waits for a lock that the next one holds; the last one's is the first one's. */
public final class Circle {
    private int[] slots = {};
    private long[] keys = {};

    /** As it was found. */
    public void set(int[] ofSlots, long[] lockKeys) {
        slots = ofSlots.clone();
        keys = lockKeys.clone();
    }

    /** Threads in it; 0: none was found. */
    public int length() {
        return slots.length;
    }

    public int slot(int index) {
        return slots[index];
    }

    /** The key of the lock that it waits for. */
    public long key(int index) {
        return keys[index];
    }
}
