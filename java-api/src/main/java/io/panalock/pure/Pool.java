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
            return liftPoison(d, word(d, i), 0) ? word(d, i) : -Layouts.ESHUTDOWN;
        }
        return -Layouts.ENOSPC;
    }

    /** A word that was given back is poisoned, see domain.c. False: the domain is being closed. */
    private static boolean liftPoison(PureDomain d, long word, int keep) {
        Memory m = d.memory;
        for (long half = word; half < word + 2 * Integer.BYTES; half += Integer.BYTES) {
            if ((m.get(half) & ~keep) != 0) {
                m.getAndAnd(half, keep); // Z3J: acquire, pairs with Z1, Z1J
            }
        }
        if (m.get(d.header(Shape.DOMAIN_CLOSED)) == 0) {
            return true;
        }
        poison(m, word);
        return false;
    }

    /** False if somebody has come: then it is as it was. A closing may be quicker than we. */
    private static boolean setPoison(PureDomain d, long word) {
        Memory m = d.memory;
        for (long half = word; half < word + 2 * Integer.BYTES; half += Integer.BYTES) {
            if (!m.cas(half, 0, Layouts.Q_POISON) && m.get(half) != Layouts.Q_POISON) {
                liftPoison(d, word, ~Layouts.Q_POISON);
                return false;
            }
        }
        return true;
    }

    /** Gives a word back, poisoned: 0; {@code -EBUSY} (still locked or waited for); {@code -EINVAL} (not a taken word). */
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
        if (((owner | queue) & ~Layouts.Q_POISON) != 0 || !setPoison(d, address)) {
            return -Layouts.EBUSY;
        }
        return (m.getAndAnd(group, ~bit) & bit) != 0 ? 0 : -Layouts.EINVAL; // O2J: release, pairs with O1, O1J
    }

    /** Whether somebody has the word of this index. Relaxed: who was told the index was told so after it was taken. */
    public static boolean isTaken(PureDomain d, int index) {
        return (d.memory.get(group(d, index)) & 1 << index) != 0;
    }

    /** Whether the domain was closed, by whatever process. */
    public static boolean isClosed(PureDomain d) {
        return d.memory.get(d.header(Shape.DOMAIN_CLOSED)) != 0;
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
            poison(m, word(d, i));
        }
        for (int number = Layouts.NESTING; number < d.format().slots() * Layouts.NESTING; number++) {
            Slots.rouse(d, number, Layouts.NODE_REARM);
        }
    }

    /** WORD and BYTE see it in the first word, WIDE in both. */
    private static void poison(Memory m, long word) {
        m.getAndOr(word + Integer.BYTES, Layouts.Q_POISON); // Z1J: pairs with L1, L2, Z3 and their twins
        m.getAndOr(word, Layouts.Q_POISON);
    }

    private static long group(PureDomain d, int i) {
        return d.address() + d.format().bitmapOffset() + (long) (i / Integer.SIZE) * Integer.BYTES;
    }

    private static long word(PureDomain d, int i) {
        return d.address() + d.format().poolOffset() + (long) i * Layouts.CACHE_LINE;
    }
}
