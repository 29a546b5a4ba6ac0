// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_bucket;
import io.panalock.internal.ffm.pl_domain;
import io.panalock.internal.ffm.pl_node;
import io.panalock.internal.ffm.pl_process;
import io.panalock.internal.ffm.pl_thread;
import io.panalock.internal.ffm.pl_waitq;

/**
 * Sizes, offsets and numbers of a domain, all taken from what jextract made of the C headers, so that they stand in one
 * place only. Loads without the native library: nothing here looks a symbol up.
 */
final class Shape {
    private Shape() {}

    static final long DOMAIN = pl_domain.sizeof();
    static final long DOMAIN_MAGIC_LO = pl_domain.magic_lo$offset();
    static final long DOMAIN_MAGIC_HI = pl_domain.magic_hi$offset();
    static final long DOMAIN_LAYOUT_VERSION = pl_domain.layout_version$offset();
    static final long DOMAIN_FLAGS = pl_domain.flags$offset();
    static final long DOMAIN_SIZE = pl_domain.size$offset();
    static final long DOMAIN_SLOTS = pl_domain.slots$offset();
    static final long DOMAIN_SLOT_SIZE = pl_domain.slot_size$offset();
    static final long DOMAIN_SLOTS_OFFSET = pl_domain.slots_offset$offset();
    static final long DOMAIN_BUCKETS_OFFSET = pl_domain.buckets_offset$offset();
    static final long DOMAIN_BITMAP_OFFSET = pl_domain.bitmap_offset$offset();
    static final long DOMAIN_POOL_OFFSET = pl_domain.pool_offset$offset();
    static final long DOMAIN_POOL_LOCKS = pl_domain.pool_locks$offset();
    static final long DOMAIN_CLOSED = pl_domain.closed$offset();
    static final long DOMAIN_SLOT_HINT = pl_domain.slot_hint$offset();
    static final long DOMAIN_POOL_HINT = pl_domain.pool_hint$offset();
    static final long DOMAIN_PROCESSES = pl_domain.processes$offset();

    static final long PROCESS = pl_process.sizeof();
    static final long PROCESS_PID = pl_process.pid$offset();
    static final long PROCESS_DOORBELL = pl_process.doorbell$offset();
    static final long PROCESS_INCARNATION = pl_process.incarnation$offset();

    static final long THREAD = pl_thread.sizeof();
    static final long THREAD_STATE = pl_thread.state$offset();
    static final long THREAD_INDEX = pl_thread.index$offset();
    static final long THREAD_OFFSET = pl_thread.offset$offset();
    static final long THREAD_PROCESS = pl_thread.process$offset();
    static final long THREAD_TID = pl_thread.tid$offset();
    static final long THREAD_INCARNATION = pl_thread.incarnation$offset();
    static final long THREAD_DEPTH = pl_thread.depth$offset();
    static final long THREAD_INTERRUPTED = pl_thread.interrupted$offset();
    static final long THREAD_HEAT = pl_thread.heat$offset();
    static final long THREAD_HELD_COUNT = pl_thread.held_count$offset();
    static final long THREAD_ACQUIRED = pl_thread.acquired$offset();
    static final long THREAD_NODES = pl_thread.nodes$offset();
    static final long THREAD_HELD = pl_thread.held$offset();
    static final long THREAD_NAME = pl_thread.name$offset();

    static final long NODE = pl_node.sizeof();
    static final long NODE_NEXT = pl_node.next$offset();
    static final long NODE_PREV = pl_node.prev$offset();
    static final long NODE_STATE = pl_node.state$offset();
    static final long NODE_LOCKED = pl_node.locked$offset();
    static final long NODE_KIND = pl_node.kind$offset();
    static final long NODE_KEY = pl_node.key$offset();
    static final long NODE_ARRIVAL = pl_node.arrival$offset();

    static final long WAITQ_LOCK = pl_waitq.lock$offset();
    static final long WAITQ_HEAD = pl_waitq.head$offset();
    static final long WAITQ_TAIL = pl_waitq.tail$offset();

    static final long BUCKET = pl_bucket.sizeof();
    static final long BUCKET_LINE = pl_bucket.line$offset();

    static final int MAGIC_LO = panalock_h.PL_MAGIC_LO();
    static final int MAGIC_HI = panalock_h.PL_MAGIC_HI();
    static final int BUCKETS = panalock_h.PL_BUCKETS();
    static final int PROCESSES = panalock_h.PL_PROCESSES();
    static final int HELD = panalock_h.PL_HELD();
    static final int REGION_SHIFT = panalock_h.PL_KEY_REGION_SHIFT();
    static final long KEY_LOCAL = panalock_h.PL_KEY_LOCAL();
    static final int SLOT_FREE = panalock_h.PL_SLOT_FREE();
    static final int SLOT_USED = panalock_h.PL_SLOT_USED();
    static final int SLOT_CLAIMED = panalock_h.PL_SLOT_CLAIMED();
    static final int EXCLUSIVE = panalock_h.PL_NODE_EXCLUSIVE();
    static final int WATCH = panalock_h.PL_NODE_WATCH();
    static final int RESERVED = panalock_h.PL_NODE_RESERVED();
    static final int LINE_CONTENDED = panalock_h.PL_WAITQ_CONTENDED();
    static final int TAIL_SHIFT = panalock_h.PL_Q_TAIL_SHIFT();
    static final int BYTE_TAIL_SHIFT = panalock_h.PL_Q_BYTE_TAIL_SHIFT();
    static final int SLICE_NS = panalock_h.PL_SLICE_NS();
    static final int WATCH_NS = panalock_h.PL_WATCH_NS();
    static final int RESERVATION_NS = panalock_h.PL_RESERVATION_NS();
}
