/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Ring buffer: many producers, one consumer, records of any length in one piece of memory that threads and processes
 * share; what the kernel's BPF ring buffer is to its programs.
 *
 * A producer *reserves* room under a short lock, fills the record in place without any lock, and *commits* or *discards*
 * it, without a lock too. The consumer sees records in the order of their reservation: one that is still open holds up
 * those behind it. Records never wrap: the data is mapped twice in a row, or (PL_RING_PADDED) the end of the ring is filled
 * up with a discarded record. docs/ringbuf.md explains the bytes and why each access is ordered as it is.
 *
 * Worked example:
 *
 *     struct event *e;
 *     if (pl_ring_reserve(pl_self(), ring, sizeof *e, (void **)&e) == 0) {
 *         *e = (struct event){...};
 *         pl_ring_commit(pl_self(), ring, e, 0);
 *     }
 *
 *     while (pl_ring_wait(pl_self(), ring, PL_FOREVER, 0) == 0)
 *         pl_ring_drain(ring, handle_event, NULL, 0);
 *
 * Who may do what at once: any number of threads reserve, commit, discard, query; one thread at a time consumes
 * (pl_ring_drain, _next, _done, _scan, _advance, _reap). A record may be committed by another thread than the one that
 * reserved it. A handle belongs to the process that opened it: a forked child opens the ring anew.
 *
 * When a *process* dies with open records, the consumer finds out (each record names its process) and skips them:
 * pl_ring_wait() does so by itself within PL_RING_REAP_NS, pl_ring_reap() at once. A thread that ends with an open record
 * in a process that lives on holds the ring up until somebody commits or discards that record.
 *
 * Source: the public description of the BPF ring buffer (Nakryiko 2020, Documentation/bpf/ringbuf.rst).
 */
#ifndef PANALOCK_RINGBUF_H
#define PANALOCK_RINGBUF_H

#include <panalock/atomic.h>
#include <panalock/domain.h>
#include <panalock/thread.h>

PL_EXTERN_C_BEGIN

#define PL_RING_VERSION  1          /**< Of the bytes below; another version is refused. */
#define PL_RING_MAGIC_LO 0x474e4952 /**< "RING" */
#define PL_RING_MAGIC_HI 0x4b4c4150 /**< "PALK" */

/* Bits of pl_ring_record.length, beside the length itself. */
#define PL_RING_BUSY    0x80000000u /**< Reserved, not yet committed or discarded. */
#define PL_RING_DISCARD 0x40000000u /**< To be skipped by the consumer. */

#define PL_RING_RECORD_HEADER 8           /**< Bytes in front of every record. */
#define PL_RING_MIN_BYTES     4096        /**< Smallest ring; on machines with larger pages one page. */
#define PL_RING_MAX_BYTES     0x40000000u /**< Largest ring: 1 GiB. */
#define PL_RING_REAP_NS       20000000    /**< A waiting consumer looks this often whether an open record's process lives. */
#define PL_RING_SLOTS         256         /**< Thread slots of a ring file's own domain, unless the options say otherwise. */
#define PL_RING_REGION        1           /**< The number under which a ring file's first pages are attached to it. */

/* pl_ring_options.flags, and pl_ring_header.flags */
#define PL_RING_OVERWRITE 1 /**< A full ring gives up its oldest records; an open one is never overwritten. */
#define PL_RING_PADDED    2 /**< The data is mapped once; the end of the ring is padded. Records up to half the ring. */

/* pl_ring_options.lock: what producers take while they reserve. */
#define PL_RING_LOCK_QSPIN  0 /**< pl_qspinlock, spin-then-park. */
#define PL_RING_LOCK_MUTEX  1 /**< pthread_mutex_t; in a ring file process-shared and robust. Not for signal handlers. */
#define PL_RING_LOCK_JAVA   2 /**< A lock of a language run-time, which alone reserves. */
#define PL_RING_LOCK_RQSPIN 3 /**< pl_rqspinlock: reserving may fail with -EDEADLK or -ETIMEDOUT, never hangs. Needs a slot. */
#define PL_RING_LOCK_OSQ    4 /**< pl_mutex: sleeps, knows its owner. Needs a slot. Not for signal handlers. */

/* Flags of commit, discard and output. */
#define PL_RING_NO_WAKEUP    1 /**< Do not wake the consumer. */
#define PL_RING_FORCE_WAKEUP 2 /**< Wake it, even if it is not waiting for this very record. */

/* What pl_ring_query() tells. */
#define PL_RING_AVAILABLE 0 /**< Bytes between the consumer's and the producers' positions, headers included. */
#define PL_RING_SIZE      1 /**< Bytes of data. */
#define PL_RING_CONSUMER  2 /**< The consumer's position: bytes since the ring was made. */
#define PL_RING_PRODUCER  3 /**< The producers' position. */
#define PL_RING_OLDEST    4 /**< Overwrite mode: position of the oldest record that is still whole. */
#define PL_RING_LOST      5 /**< Overwrite mode: records overwritten before the consumer had passed them. */

/** In front of every record, at a multiple of 8. */
typedef struct pl_ring_record {
	uint32_t length; /**< Bytes that follow, plus PL_RING_BUSY, PL_RING_DISCARD. */
	uint32_t owner;  /**< The reserving process: its index in the domain << 26 | a hash of who it is; 0: private ring. */
} pl_ring_record;

/** First page. Written by the creator only, but for the lock and the line. */
typedef struct pl_ring_header {
	uint32_t magic_lo, magic_hi;
	uint32_t version;
	uint32_t flags;         /**< PL_RING_OVERWRITE, PL_RING_PADDED. */
	uint64_t bytes;         /**< Of the data; a power of two. */
	uint32_t page_bytes;    /**< Distance of the pages; the data begins at the fourth. */
	uint32_t lock_kind;     /**< PL_RING_LOCK_*. */
	uint64_t domain_offset; /**< Where the file's own domain lies, behind the data; 0: none. */
	uint64_t domain_bytes;
	uint8_t pad[80];
	uint32_t lock[16];      /**< The producers' lock, on a cache line of its own. */
	pl_waitq line;          /**< Waiting consumers. */
	uint8_t pad2[48];
} pl_ring_header;

/** Second page: the consumer's. */
typedef struct pl_ring_consumer {
	uint64_t position;
} pl_ring_consumer;

/** Third page: the producers'. All but `position` and `oldest` are used under the lock only. */
typedef struct pl_ring_producer {
	uint64_t position; /**< Where the next record will begin. */
	uint64_t pending;  /**< Everything before it is committed or discarded. */
	uint64_t consumed; /**< The consumer's position when last looked at: saves looking at its line. */
	uint64_t oldest;   /**< Overwrite mode: the first record that is whole. */
	uint64_t lost;
} pl_ring_producer;

/** A process's view of a ring. Made by pl_ring_create() and the like; to be read only. */
typedef struct pl_ring {
	pl_ring_header *header;
	pl_ring_consumer *consumer;
	pl_ring_producer *producer;
	uint8_t *data;
	uint64_t bytes;    /**< Of the data. */
	uint64_t mapped;   /**< Bytes mapped at `header`: three pages, then the data, once or twice. */
	pl_domain *domain; /**< Where those who wait for the lock or for records meet. */
	uint32_t flags;
	uint32_t lock_kind;
	uint32_t owner;      /**< What this process writes into pl_ring_record.owner. */
	uint32_t max_record; /**< Longest record, bytes. */
	uint32_t own_domain; /**< 1: the domain lies in the ring's file. */
	uint32_t consuming;  /**< 1 while a thread of this process drains. */
	uint8_t *copy;       /**< Overwrite mode: where the record being consumed is copied to. */
	uint64_t lock_key;   /**< Of the lock in the domain, see pl_lock_key(). */
	uint64_t next;       /**< pl_ring_next(): end of the record that was handed out; 0: none. */
} pl_ring;

/** How a ring is made; zero fields take their default. */
typedef struct pl_ring_options {
	uint64_t bytes;    /**< Of data: a power of two from PL_RING_MIN_BYTES to PL_RING_MAX_BYTES. Must be given. */
	uint32_t flags;    /**< PL_RING_OVERWRITE, PL_RING_PADDED. */
	uint32_t lock;     /**< PL_RING_LOCK_*. */
	pl_domain *domain; /**< pl_ring_create() only: a domain of this process, default pl_domain_default(). */
	uint32_t slots;    /**< Ring files only: thread slots of the file's own domain; default PL_RING_SLOTS. */
	uint32_t pad;
} pl_ring_options;

/**
 * Creates a ring for the threads of this process. System calls.
 * @return 0; -EINVAL (options); -ENOMEM; or what memfd_create and mmap say.
 */
PL_API int pl_ring_create(const pl_ring_options *options, pl_ring **out);

/**
 * Creates a ring in a file or memfd that other processes open by descriptor or path, with a small domain of its own behind
 * the data. The file is grown to size; what it held is overwritten. The descriptor may be closed afterwards.
 * @return as pl_ring_create(); -EEXIST (the file already holds a ring).
 */
PL_API int pl_ring_create_fd(int fd, const pl_ring_options *options, pl_ring **out);

/**
 * Opens a ring that another process created. Everything that the header claims is checked before it is used.
 * @return 0; -EBADMSG (no ring there, or a damaged one); -EPROTO (another version or page size); -EACCES (not writable);
 *         -EUSERS (PL_PROCESSES processes have it open); -ENOMEM; or what statx and mmap say.
 */
PL_API int pl_ring_open_fd(int fd, pl_ring **out);

/** pl_ring_create_fd() on a new file that only the owner can read and write; -EEXIST when the path exists. */
PL_API int pl_ring_create_path(const char *path, const pl_ring_options *options, pl_ring **out);

/** pl_ring_open_fd() on a path. */
PL_API int pl_ring_open_path(const char *path, pl_ring **out);

/**
 * Ends this process's use of the ring and unmaps it; a ring file lives on. Nobody uses the handle any more. Records that
 * this process left open in a ring file are skipped by its consumer. @return 0; -EINVAL.
 */
PL_API int pl_ring_close(pl_ring *ring);

/**
 * Reserves a record of @p bytes and hands out where its bytes go (8-aligned, not cleared). Waits for the lock only, never
 * for room. @p self: the caller's slot in ring->domain, see pl_self_in(); null when there is none left, which costs speed
 * under contention only.
 * Signal handlers may reserve; one that has interrupted a reservation of its own thread in this very ring, which therefore
 * may hold the lock, gets the lock if it is free and -EDEADLK otherwise.
 * @return 0; -EAGAIN (full); -E2BIG (longer than ring->max_record); -EDEADLK; -EBADMSG (damaged); -EINVAL; or what the lock says
 *         (PL_RING_LOCK_RQSPIN: -EDEADLK, -ETIMEDOUT; that and PL_RING_LOCK_OSQ: -EINVAL when @p self is null). After an error nothing is reserved.
 */
PL_API int pl_ring_reserve(pl_thread *self, pl_ring *ring, uint32_t bytes, void **record);

/**
 * Hands a reserved record over to the consumer, and wakes it if it waits for this very record (or as the flags say).
 * Release. No lock; a system call when it wakes. @p self: any slot of ring->domain; null: the domain's own.
 * @return 0; -EINVAL (not an open record of this ring: committed already, say).
 */
PL_API int pl_ring_commit(pl_thread *self, pl_ring *ring, void *record, uint32_t flags);

/** The same, but the consumer will skip the record. */
PL_API int pl_ring_discard(pl_thread *self, pl_ring *ring, void *record, uint32_t flags);

/** Reserve, copy, commit. @return as pl_ring_reserve(). */
PL_API int pl_ring_output(pl_thread *self, pl_ring *ring, const void *data, uint32_t bytes, uint32_t flags);

/** Called for each record. @return 0 to go on; else drain stops behind this record and returns that (if negative). */
typedef int (*pl_ring_handler)(void *context, void *record, uint32_t bytes);

/**
 * Consumes the records that are there, at most @p max (0: no limit), without waiting. The room is given back in pieces
 * while it runs. In overwrite mode the handler gets a copy.
 * @return how many; -EBUSY (another thread of this process drains); -EBADMSG (damaged); -EINVAL; what the handler said.
 */
PL_API int64_t pl_ring_drain(pl_ring *ring, pl_ring_handler handler, void *context, uint64_t max);

/** The next record, which stays in the ring until pl_ring_done(). @return 1; 0 (none is ready); -EBADMSG; -EINVAL. */
PL_API int pl_ring_next(pl_ring *ring, void **record, uint32_t *bytes);

/** Gives the room of the record from pl_ring_next() back. @return 0; -EINVAL (there is none). */
PL_API int pl_ring_done(pl_ring *ring);

/**
 * Waits until a record is ready at the consumer's position. Looks for some microseconds, then sleeps. Skips what dead
 * processes left open. Blocks. @p flags: PL_WAIT_INTERRUPTIBLE. @p self null: looks twice a millisecond instead.
 * @return 0; -ETIMEDOUT; -EINTR (pl_thread_interrupt()); -ENOSPC (deeper than PL_NESTING contexts); -EINVAL.
 */
PL_API int pl_ring_wait(pl_thread *self, pl_ring *ring, int64_t timeout_ns, uint32_t flags);

/** Ends the wait of every consumer as if a record had come. @return how many; -EINVAL. */
PL_API int pl_ring_wake(pl_thread *self, pl_ring *ring);

/** Discards open records whose processes are dead. System calls. @return how many; -EBADMSG; -EINVAL. */
PL_API int pl_ring_reap(pl_ring *ring);

/** PL_RING_AVAILABLE etc.; a hint while others work. @return 0 for null or an unknown @p what. */
PL_API uint64_t pl_ring_query(const pl_ring *ring, uint32_t what);

/* ---- For language run-times that bring a lock of their own, or consume in batches. ---- */

/**
 * As pl_ring_reserve(), but tells where the record's bytes go in ring->data, and does not wait when @p self is null.
 * @return the offset, or what pl_ring_reserve() returns; -EBUSY (@p self is null and the lock is taken).
 */
PL_API int64_t pl_ring_reserve_at(pl_thread *self, pl_ring *ring, uint32_t bytes);

/** The same for a caller that holds the ring's lock. Never waits. */
PL_API int64_t pl_ring_reserve_locked(pl_ring *ring, uint32_t bytes);

/**
 * Commits (@p discard: discards) the record at an offset of ring->data but wakes nobody. Never waits.
 * @return 0; 1 (call pl_ring_wake() next); -EINVAL.
 */
PL_API int pl_ring_finish(pl_ring *ring, int64_t offset, uint32_t discard, uint32_t flags);

/**
 * The position up to which records can be consumed from the consumer's position on, at most @p limit bytes further.
 * Acquire: those records may be read. Not for overwrite mode.
 * @return the position; the consumer's when there is nothing (also for null).
 */
PL_API uint64_t pl_ring_scan(const pl_ring *ring, uint64_t limit);

/** Gives back the room up to a position that pl_ring_scan() gave. Release. @return 0; -EINVAL. */
PL_API int pl_ring_advance(pl_ring *ring, uint64_t position);

PL_EXTERN_C_END

#endif
