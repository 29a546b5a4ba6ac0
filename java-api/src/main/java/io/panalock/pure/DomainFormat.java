// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.nio.charset.StandardCharsets;

/** Where the parts of a domain lie, and the header that says so: the twin of plan(), format(), validate() in domain.c. */
record DomainFormat(
        int slots,
        int poolLocks,
        long slotsOffset,
        long bucketsOffset,
        long tablesOffset,
        int tables,
        long bitmapOffset,
        long listedOffset,
        long poolOffset,
        long size) {
    private static final int PAGE = 4096;

    /** Zero stands for the default. Null when an option is out of range. */
    static DomainFormat plan(int slots, int poolLocks) {
        int s = slots == 0 ? Layouts.DEFAULT_SLOTS : slots;
        int p = poolLocks == 0 ? Layouts.DEFAULT_POOL : poolLocks;
        if (s < Layouts.MIN_SLOTS || s > Layouts.MAX_SLOTS || p < 0 || p > Layouts.MAX_POOL) {
            return null;
        }
        long slotsOffset = Shape.DOMAIN;
        long bucketsOffset = slotsOffset + s * Shape.THREAD;
        long tablesOffset = bucketsOffset + Shape.BUCKETS * Shape.BUCKET;
        int tables = (s + Shape.SLOTS_PER_TABLE - 1) / Shape.SLOTS_PER_TABLE;
        long bitmapOffset = tablesOffset + tables * Shape.OVERFLOW;
        long bitmapBytes = (p + Integer.SIZE - 1L) / Integer.SIZE * Integer.BYTES;
        long listedOffset = roundUp(bitmapOffset + bitmapBytes, Layouts.CACHE_LINE);
        long listedBytes = (s + Integer.SIZE - 1L) / Integer.SIZE * Integer.BYTES;
        long poolOffset = roundUp(listedOffset + listedBytes, Layouts.CACHE_LINE);
        long size = roundUp(poolOffset + (long) p * Layouts.CACHE_LINE, PAGE);
        return new DomainFormat(
                s, p, slotsOffset, bucketsOffset, tablesOffset, tables, bitmapOffset, listedOffset, poolOffset, size);
    }

    private static long roundUp(long n, long unit) {
        return (n + unit - 1) / unit * unit;
    }

    /** Writes a fresh domain into zeroed memory; the magic comes last, so that nobody opens half a domain. */
    void format(Memory m, long base, int flags) {
        m.set(base + Shape.DOMAIN_SLOTS, slots);
        m.set(base + Shape.DOMAIN_SLOT_SIZE, (int) Shape.THREAD);
        m.setLong(base + Shape.DOMAIN_SLOTS_OFFSET, slotsOffset);
        m.setLong(base + Shape.DOMAIN_BUCKETS_OFFSET, bucketsOffset);
        m.setLong(base + Shape.DOMAIN_TABLES_OFFSET, tablesOffset);
        m.set(base + Shape.DOMAIN_TABLES, tables);
        m.setLong(base + Shape.DOMAIN_BITMAP_OFFSET, bitmapOffset);
        m.setLong(base + Shape.DOMAIN_LISTED_OFFSET, listedOffset);
        m.set(base + Shape.DOMAIN_POOL_LOCKS, poolLocks);
        m.setLong(base + Shape.DOMAIN_POOL_OFFSET, poolOffset);
        m.setLong(base + Shape.DOMAIN_SIZE, size);
        m.set(base + Shape.DOMAIN_FLAGS, flags);
        m.set(base + Shape.DOMAIN_LAYOUT_VERSION, Layouts.LAYOUT_VERSION);
        for (int i = 0; i < slots; i++) {
            long slot = base + slotsOffset + i * Shape.THREAD;
            m.set(slot + Shape.THREAD_INDEX, i);
            m.setLong(slot + Shape.THREAD_OFFSET, slot - base);
        }
        long service = base + slotsOffset;
        m.set(service + Shape.THREAD_STATE, Shape.SLOT_USED);
        m.set(service + Shape.THREAD_HELD_TOP, Shape.HELD); // no fast path takes a lock for it
        writeName(m, service + Shape.THREAD_NAME, "domain");
        m.set(base + Shape.DOMAIN_SLOT_HINT, 1);
        m.set(base + Shape.DOMAIN_SLOTS_USED, 1);
        m.set(base + Shape.DOMAIN_MAGIC_HI, Shape.MAGIC_HI);
        m.setRelease(base + Shape.DOMAIN_MAGIC_LO, Shape.MAGIC_LO); // D1J: release, pairs with D2, D2J
    }

    /** Believes a header only if it is exactly what format would have written. 0 or a negative errno. */
    static int validate(Memory m, long base, long bytes) {
        if (bytes < Shape.DOMAIN
                || m.getAcquire(base + Shape.DOMAIN_MAGIC_LO) != Shape.MAGIC_LO // D2J: acquire, pairs with D1, D1J
                || m.get(base + Shape.DOMAIN_MAGIC_HI) != Shape.MAGIC_HI) {
            return -Layouts.EBADMSG;
        }
        if (m.get(base + Shape.DOMAIN_LAYOUT_VERSION) != Layouts.LAYOUT_VERSION) {
            return -Layouts.EPROTO;
        }
        int flags = m.get(base + Shape.DOMAIN_FLAGS);
        int slots = m.get(base + Shape.DOMAIN_SLOTS);
        int poolLocks = m.get(base + Shape.DOMAIN_POOL_LOCKS);
        DomainFormat f = slots == 0 || poolLocks == 0 ? null : plan(slots, poolLocks);
        boolean same = f != null
                && (flags & ~(Layouts.DOMAIN_SHARED | Layouts.DOMAIN_CHECKS)) == 0
                && m.getLong(base + Shape.DOMAIN_SIZE) == f.size
                && f.size <= bytes
                && m.get(base + Shape.DOMAIN_SLOT_SIZE) == Shape.THREAD
                && m.getLong(base + Shape.DOMAIN_SLOTS_OFFSET) == f.slotsOffset
                && m.getLong(base + Shape.DOMAIN_BUCKETS_OFFSET) == f.bucketsOffset
                && m.getLong(base + Shape.DOMAIN_TABLES_OFFSET) == f.tablesOffset
                && m.get(base + Shape.DOMAIN_TABLES) == f.tables
                && m.getLong(base + Shape.DOMAIN_BITMAP_OFFSET) == f.bitmapOffset
                && m.getLong(base + Shape.DOMAIN_LISTED_OFFSET) == f.listedOffset
                && m.getLong(base + Shape.DOMAIN_POOL_OFFSET) == f.poolOffset;
        return same ? 0 : -Layouts.EBADMSG;
    }

    /** UTF-8, cut between characters, zero-terminated and zero-filled. */
    static void writeName(Memory m, long address, String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        int n = Math.min(bytes.length, Layouts.NAME_BYTES - 1);
        while (n > 0 && n < bytes.length && (bytes[n] & 0xc0) == 0x80) {
            n--;
        }
        for (int i = 0; i < Layouts.NAME_BYTES; i += Integer.BYTES) {
            int word = 0;
            for (int b = 0; b < Integer.BYTES && i + b < n; b++) {
                word |= (bytes[i + b] & 0xff) << Byte.SIZE * b;
            }
            m.set(address + i, word);
        }
    }

    static String readName(Memory m, long address) {
        byte[] bytes = new byte[Layouts.NAME_BYTES];
        int n = 0;
        while (n < bytes.length) {
            byte b = (byte) (m.get(address + (n & -Integer.BYTES)) >>> Byte.SIZE * (n % Integer.BYTES));
            if (b == 0) {
                break;
            }
            bytes[n++] = b;
        }
        return new String(bytes, 0, n, StandardCharsets.UTF_8);
    }
}
