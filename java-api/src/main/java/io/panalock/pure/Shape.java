// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

/**
 * Sizes, offsets and numbers of a domain: those of native/include/panalock/layout.h and qspinlock.h that
 * {@link io.panalock.internal.Layouts} has not. Not read from the generated bindings, since initialising those needs
 * native access, which the pure twins do without. ShapeTest compares every field with the bindings, by its name: a
 * struct's name and a field's, or a number's without {@code PL_}.
 */
final class Shape {
    private Shape() {}

    static final long DOMAIN = 1152;
    static final long DOMAIN_MAGIC_LO = 0;
    static final long DOMAIN_MAGIC_HI = 4;
    static final long DOMAIN_LAYOUT_VERSION = 8;
    static final long DOMAIN_FLAGS = 12;
    static final long DOMAIN_SIZE = 16;
    static final long DOMAIN_SLOTS = 24;
    static final long DOMAIN_SLOT_SIZE = 28;
    static final long DOMAIN_SLOTS_OFFSET = 32;
    static final long DOMAIN_BUCKETS_OFFSET = 40;
    static final long DOMAIN_BITMAP_OFFSET = 48;
    static final long DOMAIN_POOL_OFFSET = 56;
    static final long DOMAIN_POOL_LOCKS = 64;
    static final long DOMAIN_CLOSED = 68;
    static final long DOMAIN_SLOT_HINT = 72;
    static final long DOMAIN_POOL_HINT = 76;
    static final long DOMAIN_TABLES_OFFSET = 80;
    static final long DOMAIN_TABLES = 88;
    static final long DOMAIN_SLOTS_USED = 92;
    static final long DOMAIN_HAZARD_EPOCH = 96;
    static final long DOMAIN_LISTED_OFFSET = 104;
    static final long DOMAIN_PROCESSES = 128;

    static final long PROCESS = 16;
    static final long PROCESS_PID = 0;
    static final long PROCESS_DOORBELL = 4;
    static final long PROCESS_INCARNATION = 8;

    static final long THREAD = 384;
    static final long THREAD_STATE = 0;
    static final long THREAD_INDEX = 4;
    static final long THREAD_OFFSET = 8;
    static final long THREAD_PROCESS = 16;
    static final long THREAD_TID = 20;
    static final long THREAD_INCARNATION = 24;
    static final long THREAD_DEPTH = 32;
    static final long THREAD_HELD_TOP = 36;
    static final long THREAD_INTERRUPTED = 40;
    static final long THREAD_HEAT = 44;
    static final long THREAD_ACQUIRED = 48;
    static final long THREAD_HAZARD = 56;
    static final long THREAD_HELD = 64;
    static final long THREAD_NODES = 128;
    static final long THREAD_NAME = 288;
    static final long THREAD_HELD_TABLE = 320;
    static final long THREAD_HELD_UNRECORDED = 324;
    static final long THREAD_WILDCARD = 328;

    static final long NODE = 40;
    static final long NODE_NEXT = 0;
    static final long NODE_PREV = 4;
    static final long NODE_STATE = 8;
    static final long NODE_LOCKED = 12;
    static final long NODE_KIND = 16;
    static final long NODE_WAIT = 20;
    static final long NODE_KEY = 24;
    static final long NODE_ARRIVAL = 32;

    static final long OVERFLOW = 192;
    static final long OVERFLOW_OWNER = 0;
    static final long OVERFLOW_HELD = 8;

    static final long WAITQ_LOCK = 0;
    static final long WAITQ_HEAD = 4;
    static final long WAITQ_TAIL = 8;

    static final long BUCKET = 64;
    static final long BUCKET_LINE = 0;

    static final int MAGIC_LO = 0x414e4150;
    static final int MAGIC_HI = 0x4b434f4c;
    static final int BUCKETS = 256;
    static final int PROCESSES = 64;
    static final int HELD = 31;
    static final int HELD_INLINE = 8;
    static final int HELD_MORE = 23;
    static final int SLOTS_PER_TABLE = 8;
    static final int HAZARD_UNLISTED = 0;
    static final int HAZARD_IDLE = 1;
    static final int HAZARD_FIRST_NAME = 2;
    static final int WILDCARD_SHIFT = 4;
    static final int WILDCARD_NESTING = 15;
    static final int KEY_REGION_SHIFT = 48;
    static final long KEY_LOCAL = 0x8000000000000000L;
    static final int SLOT_FREE = 0;
    static final int SLOT_USED = 1;
    static final int SLOT_CLAIMED = 2;
    static final int NODE_EXCLUSIVE = 1;
    static final int NODE_WATCH = 2;
    static final int NODE_RESERVED = 4;
    static final int NODE_QUEUED = 8;
    static final int NODE_AT_QUEUE = 16;
    static final int WAITQ_CONTENDED = 0x80000000;
    static final int WAITQ_HELD = 0x40000000;
    static final int WAITQ_INCARNATION_SHIFT = 6;
    static final int WAITQ_INCARNATION_MASK = 0xffffff;
    static final int Q_TAIL_SHIFT = 10;
    static final int Q_TAIL_MASK = 0x7ffffc00;
    static final int Q_BYTE_TAIL_SHIFT = 16;
    static final int Q_BYTE_TAIL_MASK = 0xffff0000;
    static final int OSQ_LOOK_NS = 20_000;
    static final int OSQ_IDLE_NS = 200_000;
    static final int SLICE_NS = 500_000;
    static final int WATCH_NS = 5_000_000;
    static final int RECHECK_NS = 100_000_000;
    static final int RESERVATION_NS = 4_000_000;
}
