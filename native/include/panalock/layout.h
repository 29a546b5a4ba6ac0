/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The bytes of a domain, the same for every process and every language that maps it; docs/layout.md explains them.
 * Nothing here is a pointer: links are node numbers, everything else is an offset from the start of the domain.
 *
 * A domain is `pl_domain`, then `slots` × `pl_thread`, then `buckets` × `pl_bucket`, then `tables` × `pl_overflow`,
 * then the pool's bitmap, then the pool: `pool_locks` lock words, each on a cache line of its own.
 *
 * A *node number* is slot << 2 | nesting level; 0 is none, since slot 0 never waits. Queue tails and list links hold them.
 */
#ifndef PANALOCK_LAYOUT_H
#define PANALOCK_LAYOUT_H

#include <panalock/base.h>

/** Raised whenever the meaning of a byte below changes; a mapping with another version is refused. */
#define PL_LAYOUT_VERSION 2

#define PL_MAGIC_LO 0x414e4150 /**< "PANA" */
#define PL_MAGIC_HI 0x4b434f4c /**< "LOCK" */

#define PL_CACHE_LINE 64
#define PL_NESTING 4       /**< Contexts of one thread that may wait at once: itself and three nested signal handlers. */
#define PL_MIN_SLOTS 2     /**< Slot 0 belongs to the domain itself. */
#define PL_MAX_SLOTS 16384 /**< What the 14-bit field of the BYTE layout can name: 16,383 threads and slot 0. */
#define PL_MAX_POOL 1048576
#define PL_BUCKETS 256     /**< Parking buckets; a power of two. */
#define PL_PROCESSES 64    /**< Processes that may have a domain open at once. */
#define PL_REGIONS 64      /**< Attached regions per process. */
#define PL_MAX_REGION 32767
#define PL_HELD 31         /**< Locks per thread that can be recorded; those beyond are held all the same. */
#define PL_HELD_INLINE 8   /**< So many of them in the slot, the rest in a `pl_overflow`. */
#define PL_HELD_MORE 23    /**< PL_HELD - PL_HELD_INLINE. */
#define PL_SLOTS_PER_TABLE 8 /**< A domain has one held table for so many slots: few threads hold many locks. */
#define PL_NAME_BYTES 32   /**< A thread's name in UTF-8, zero-terminated. */

/** Domain flags. */
#define PL_DOMAIN_SHARED 1 /**< Mapped by several processes: futexes are process-shared. */
#define PL_DOMAIN_CHECKS 2 /**< Owner tracking on; set at creation, seen by every process. */

/** Values of `pl_node.state`, the word that a waiter sleeps on. */
#define PL_NODE_IDLE 0        /**< Not waiting, or running while it waits. */
#define PL_NODE_SLEEPING 1    /**< In a list, asleep (or about to be) on a futex on this word. */
#define PL_NODE_PARKED 2      /**< In a list, asleep (or about to be) in its language's run-time; wake by doorbell. */
#define PL_NODE_CHOSEN 3      /**< Taken out of the list by a waker. */
#define PL_NODE_REARM 4       /**< Still in the list, woken to set its watch timer. */
#define PL_NODE_INTERRUPTED 5 /**< Still in the list, woken by an interruption. */

/** Values of `pl_node.kind`: bits. */
#define PL_NODE_EXCLUSIVE 1 /**< Wait queue: counts against the number to wake. */
#define PL_NODE_WATCH 2     /**< First of its process in line, or of that's virtual threads: sleeps PL_WATCH_NS at a time, to notice a chosen waiter that never runs. */
#define PL_NODE_RESERVED 4  /**< Sleeps with the lock's pending bit set: the next release is its. */
#define PL_NODE_QUEUED 8    /**< Stands in the spinners' queue of its lock. */
#define PL_NODE_AT_QUEUE 16 /**< Stands at the wait queue that `key` names, not at a lock. */

/** Values of `pl_thread.state`. */
#define PL_SLOT_FREE 0
#define PL_SLOT_USED 1
#define PL_SLOT_CLAIMED 2 /**< Being registered or released. */

/* A *key* names a lock or wait queue across processes: its offset for one inside the domain; region << 48 | offset for
 * one in an attached region; PL_KEY_LOCAL | process << 48 | address for any other. */
#define PL_KEY_REGION_SHIFT 48
#define PL_KEY_LOCAL 0x8000000000000000ull

/** A place in a queue or a list; one per slot and nesting level. */
typedef struct pl_node {
	uint32_t next;    /**< Node number of the successor. */
	uint32_t prev;    /**< Node number of the predecessor (lists only). */
	uint32_t state;   /**< PL_NODE_*; the futex. */
	uint32_t locked;  /**< MCS hand-over flag: 0 wait, 1 head of the queue. A rqspinlock waiter's: see rqspinlock.h. */
	uint32_t kind;    /**< PL_NODE_EXCLUSIVE etc. */
	uint32_t wait;    /**< Wait generation: odd while `key` is waited for; every change of either raises it. */
	uint64_t key;     /**< The key of the lock or wait queue it stands at. */
	uint64_t arrival; /**< Monotonic nanoseconds when the wait began; lists are ordered by it. */
} pl_node;

/** A thread slot: who waits, who holds. C code gets its own by pl_self(). */
typedef struct pl_thread {
	uint32_t state;       /**< PL_SLOT_*. */
	uint32_t index;       /**< This slot's number. */
	uint64_t offset;      /**< Bytes from the start of the domain to this slot. */
	uint32_t process;     /**< Index into `pl_domain.processes`. */
	uint32_t tid;         /**< Kernel thread id; 0 for a slot borrowed by a virtual thread. */
	uint64_t incarnation; /**< The owner process's start time, as in its `pl_process`. */
	uint32_t depth;       /**< Nesting level in use; touched by the owner only. */
	uint32_t held_top;    /**< 0: at most `held[0]` is in use; else where the next entry goes. Touched by the owner only. */
	uint32_t interrupted; /**< 1 after pl_thread_interrupt(), until a wait consumes it. */
	uint32_t heat;        /**< Recent back-to-back contention of this thread; touched by the owner only. */
	uint64_t acquired;    /**< When the last contended acquisition ended, monotonic ns; touched by the owner only. */
	uint64_t hazard;      /**< What this thread's outermost guard protects: a name, or PL_HAZARD_*. */
	uint64_t held[PL_HELD_INLINE]; /**< Locks held or being taken: key | nesting level (0-3). Written by the owner only. */
	pl_node nodes[PL_NESTING];
	char name[PL_NAME_BYTES];
	uint32_t held_table;      /**< Number + 1 of the table with the entries from PL_HELD_INLINE on; 0: none. */
	uint32_t held_unrecorded; /**< Locks held that found no entry; touched by the owner only. */
	uint64_t wildcard;        /**< Of this thread's nested guards; see shazptr.h. */
	uint8_t pad[48];
} pl_thread;

/** More entries for a slot whose thread holds more than PL_HELD_INLINE locks. */
typedef struct pl_overflow {
	uint32_t owner; /**< Slot number; 0: free. */
	uint32_t pad;
	uint64_t held[PL_HELD_MORE];
} pl_overflow;

/** A line of waiters: a small lock and a list. Zero is a valid empty queue. */
typedef struct pl_waitq {
	uint32_t lock; /**< 0 free, else PL_WAITQ_HELD and whose thread holds it, plus PL_WAITQ_CONTENDED. */
	uint32_t head; /**< Node number. */
	uint32_t tail; /**< Node number. */
	uint32_t pad;
} pl_waitq;

#define PL_WAITQ_CONTENDED 0x80000000u /**< Somebody sleeps for the queue's own lock. */
#define PL_WAITQ_HELD      0x40000000u /**< Held by a process: bits 0-5 its index, bits 6-29 the low bits of its incarnation. */
#define PL_WAITQ_INCARNATION_SHIFT 6
#define PL_WAITQ_INCARNATION_MASK  0xffffffu

/** Where waiters for lock words park: many locks share one bucket, told apart by their key. */
typedef struct pl_bucket {
	pl_waitq line;
	uint8_t pad[48];
} pl_bucket;

/** A process that has the domain open. */
typedef struct pl_process {
	uint32_t pid;         /**< 0 when free. */
	uint32_t doorbell;    /**< Rung (incremented, then woken) for waiters parked in this process's run-time. */
	uint64_t incarnation; /**< Start time of the process in clock ticks since boot. */
} pl_process;

/** The header of a domain, at its first byte. */
typedef struct pl_domain {
	uint32_t magic_lo, magic_hi;
	uint32_t layout_version;
	uint32_t flags; /**< PL_DOMAIN_*. */
	uint64_t size;  /**< Bytes of the whole domain. */
	uint32_t slots;
	uint32_t slot_size;
	uint64_t slots_offset;
	uint64_t buckets_offset;
	uint64_t bitmap_offset;
	uint64_t pool_offset;
	uint32_t pool_locks;
	uint32_t closed;    /**< 1 once the domain is closed; every pool word is poisoned then. */
	uint32_t slot_hint; /**< Where the search for a free slot begins. */
	uint32_t pool_hint;
	uint64_t tables_offset;
	uint32_t tables;
	uint32_t slots_used; /**< Slots from here on were never registered: searches end here. Never falls. */
	uint64_t hazard_epoch;  /**< Raised by writers that find a wildcard in their way. */
	uint64_t listed_offset; /**< Bitmap of the slots that have protected something: 32-bit groups. */
	uint64_t pid_namespace; /**< Inode of the creator's PID namespace; 0: unknown, or a private domain. */
	uint64_t reaped;        /**< When slots of dead threads were last looked for in vain, monotonic ns. */
	pl_process processes[PL_PROCESSES];
} pl_domain;

#endif
