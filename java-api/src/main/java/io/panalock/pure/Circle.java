// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.util.Arrays;

/** A deadlock that was found: each thread waits for a lock that the next one holds; the last one's is the first one's. */
public final class Circle {
    private int[] slots = {};
    private long[] keys = {};

    void set(int length, int[] numbers, long[] lockKeys) {
        slots = new int[length];
        for (int i = 0; i < length; i++) {
            slots[i] = numbers[i] / Layouts.NESTING;
        }
        keys = Arrays.copyOf(lockKeys, length);
    }

    /** As native code found it, or a thread that locks its own lock. */
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
