// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/** A domain's pool of lock words, and its end: the twins of the functions of that name in domain.c. Never waits. */
public final class Pool {
    private Pool() {}

    /** Takes a word: its address (8 zero bytes, alone on a cache line); {@code -ENOSPC}; {@code -ESHUTDOWN}. */
    public static long take(PureDomain d) {
        Memory m = d.memory;
        if (m.get(d.header(Shape.DOMAIN_CLOSED)) != 0) {
            return -Layouts.ESHUTDOWN;
        }
        long hint = d.header(Shape.DOMAIN_POOL_HINT);
        int locks = d.format().poolLocks();
        int start = m.get(hint);
        for (int n = 0; n < locks; n++) {
            int i = Integer.remainderUnsigned(start + n, locks);
            long group = group(d, i);
            int bit = 1 << i;
            if ((m.get(group) & bit) != 0 || (m.getAndOr(group, bit) & bit) != 0) { // O1J: acquire, pairs with O2, O2J
                continue;
            }
            m.set(hint, (i + 1) % locks);
            return word(d, i);
        }
        return -Layouts.ENOSPC;
    }

    /** Gives a word back: 0; {@code -EBUSY} (still locked or waited for); {@code -EINVAL} (not a taken word). */
    public static int give(PureDomain d, long address) {
        Memory m = d.memory;
        long offset = address - d.address() - d.format().poolOffset();
        long index = offset / Layouts.CACHE_LINE;
        if (offset < 0 || index >= d.format().poolLocks() || offset % Layouts.CACHE_LINE != 0) {
            return -Layouts.EINVAL;
        }
        long group = group(d, (int) index);
        int bit = 1 << index;
        if ((m.get(group) & bit) == 0) {
            return -Layouts.EINVAL;
        }
        int owner = m.getAcquire(address); // O3J: acquire, pairs with U1, U2, U3 and their twins
        int queue = m.getAcquire(address + Integer.BYTES); // O3J
        if (((owner | queue) & ~Layouts.Q_POISON) != 0) {
            return -Layouts.EBUSY;
        }
        return (m.getAndAnd(group, ~bit) & bit) != 0 ? 0 : -Layouts.EINVAL; // O2J: release, pairs with O1, O1J
    }

    /**
     * Closes the domain: every pool word is poisoned, so that later acquisitions fail with {@code -ESHUTDOWN}, those of
     * present waiters included. The memory stays. Idempotent.
     */
    public static void poison(PureDomain d) {
        Memory m = d.memory;
        if (m.getAndSet(d.header(Shape.DOMAIN_CLOSED), 1) != 0) { // Z2J: the first closer poisons
            return;
        }
        for (int i = 0; i < d.format().poolLocks(); i++) {
            // WORD and BYTE see it in the first word, WIDE in both.
            m.getAndOr(word(d, i) + Integer.BYTES, Layouts.Q_POISON); // Z1J: pairs with L1, L2 and their twins
            m.getAndOr(word(d, i), Layouts.Q_POISON);
        }
        for (int number = Layouts.NESTING; number < d.format().slots() * Layouts.NESTING; number++) {
            Slots.rouse(d, number, Layouts.NODE_REARM);
        }
    }

    private static long group(PureDomain d, int i) {
        return d.address() + d.format().bitmapOffset() + (long) (i / Integer.SIZE) * Integer.BYTES;
    }

    private static long word(PureDomain d, int i) {
        return d.address() + d.format().poolOffset() + (long) i * Layouts.CACHE_LINE;
    }
}
