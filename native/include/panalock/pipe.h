/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Token pipe: a bounded channel of bytes or records in memory that its users share, with the rules of a pipe and without
 * its system calls: separate lines of readers and writers, woken one by one, first come, first served; a wake-up that is
 * not needed by whom it chose is passed on; closing wakes everybody.
 *
 * One reader at a time *goes next*: it is awake and looks, or was chosen and wakes up. While there is one, a writer need
 * not wake anybody, and other readers leave it the next data for up to PL_PIPE_PATIENCE_NS, so that the thread that has
 * just written does not take its own token back. After PL_PIPE_SLICE_NS awake it goes to sleep behind the others, if any
 * sleep, and the first of them goes next. Writers that wait for room do likewise. So a token goes to and fro between
 * running threads without a system call, and every sleeper gets its turn.
 *
 * Not for signal handlers that interrupt a call on the same pipe. A process that is killed in the middle of a call leaves
 * the pipe usable; what it had taken is lost, and the ends that it had open stay open.
 *
 * Sources: the rules of pipe(7) and of exclusive waits in Linux 5.6; one awake competitor at a time after Dice,
 * "Malthusian Locks" (2017).
 */
#ifndef PANALOCK_PIPE_H
#define PANALOCK_PIPE_H

#include <panalock/thread.h>

PL_EXTERN_C_BEGIN

#define PL_PIPE_MAGIC 0x45504950 /**< "PIPE" */

/* How a pipe behaves; bits of `pl_pipe.flags`. */
#define PL_PIPE_RECORDS  1 /**< What one write wrote, one read reads, whole. Without it: bytes. */
#define PL_PIPE_WAKE_ALL 2 /**< Every write wakes every reader, every read every writer, and nobody goes next: how pipes
			    *   were before exclusive waits. To measure against. */
#define PL_PIPE_GREEDY   4 /**< A running thread may take what it has just written. Highest rate, no fairness. */

/* What pl_pipe_open() and pl_pipe_close() are about. */
#define PL_PIPE_READ  1
#define PL_PIPE_WRITE 2

/* Flags of one transfer, beside PL_WAIT_INTERRUPTIBLE. */
#define PL_PIPE_NONBLOCK 16 /**< Return -EAGAIN instead of waiting. */

#define PL_PIPE_MIN_CAPACITY 8
#define PL_PIPE_MAX_CAPACITY 0x40000000

/** How long others leave the next data to the one that goes next, ns. */
#define PL_PIPE_PATIENCE_NS 100000
/** How long one thread may stay awake while others sleep, ns. */
#define PL_PIPE_SLICE_NS 1000000
/** How long a sleeper is not woken because somebody awake may come first, ns, while that has been worth it. */
#define PL_PIPE_GRACE_NS 20000
/** How long one that goes next looks for data before it sleeps, ns, while that has been worth it. */
#define PL_PIPE_LOOK_NS 20000

/** One side of a pipe: its readers, or its writers. */
typedef struct pl_pipe_side {
	uint32_t open;    /**< Ends. */
	uint32_t next;    /**< Node number of the one that goes next; 0: none. */
	uint32_t after;   /**< Node number of another awake one that goes after it; 0: none. */
	uint32_t look;    /**< 0..8: how often looking before sleeping was worth it lately. */
	uint32_t misses;  /**< 0..8: how often nobody awake came before a sleeper had to be woken. */
	uint32_t pad;
	uint64_t rotated; /**< Monotonic ns when an awake one last gave way to a sleeper. */
	pl_waitq line;    /**< The sleepers. */
} pl_pipe_side;

/** A pipe; its data follows. */
typedef struct pl_pipe {
	uint32_t magic;    /**< PL_PIPE_MAGIC. */
	uint32_t flags;    /**< PL_PIPE_*. */
	uint32_t capacity; /**< Bytes, a power of two. */
	uint32_t head;     /**< Bytes read, modulo 2^32. */
	uint32_t tail;     /**< Bytes written, modulo 2^32. */
	uint32_t pad;
	pl_waitq mutex; /**< Its line is always empty; only its lock is used. */
	pl_pipe_side reader;
	pl_pipe_side writer;
	uint8_t pad2[56];
} pl_pipe;

/** Bytes of memory for a pipe of this capacity (a power of two, PL_PIPE_MIN_CAPACITY..PL_PIPE_MAX_CAPACITY), else 0. */
PL_API uint64_t pl_pipe_size(uint32_t capacity);

/**
 * Makes a pipe without open ends in @p bytes of memory, aligned to 8. @p flags: PL_PIPE_RECORDS etc. Memory that several
 * processes use lies in their domain's attached region (pl_domain_attach()). Not for a pipe in use.
 * @return 0; -EINVAL.
 */
PL_API int pl_pipe_init(void *memory, uint64_t bytes, uint32_t capacity, uint32_t flags, pl_pipe **out);

/** Takes memory that holds a pipe for one. @return 0; -EBADMSG (there is none, or a damaged one); -EINVAL. */
PL_API int pl_pipe_at(void *memory, uint64_t bytes, pl_pipe **out);

/**
 * Opens ends: @p ends is PL_PIPE_READ, PL_PIPE_WRITE or both. An end is a count, not an object: it belongs to whoever
 * closes it. @return 0; -EINVAL.
 */
PL_API int pl_pipe_open(pl_thread *self, pl_pipe *pipe, uint32_t ends);

/**
 * Closes ends. With the last reader every writer, waiting or to come, gets -EPIPE; with the last writer every reader gets
 * what is left, then 0. System call when somebody is woken.
 * @return 0; -EBADF (no such end is open; nothing was closed); -EINVAL.
 */
PL_API int pl_pipe_close(pl_thread *self, pl_pipe *pipe, uint32_t ends);

/**
 * Reads up to @p bytes bytes, or one record. Waits while the pipe is empty and a writer is open, at most @p timeout_ns
 * nanoseconds (0: not at all, PL_FOREVER: no limit; monotonic clock). Acquire: what the writer did before is seen. May
 * block. @p flags: PL_PIPE_NONBLOCK, PL_WAIT_INTERRUPTIBLE.
 * @return how many bytes; 0 (empty, and no writer is open); -EAGAIN; -ETIMEDOUT; -EINTR; -EMSGSIZE (the record is longer;
 *         it stays); -ENOSPC (more than PL_NESTING contexts wait); -EBADMSG (damaged); -EINVAL.
 */
PL_API int64_t pl_pipe_read(pl_thread *self, pl_pipe *pipe, void *to, uint32_t bytes, uint32_t flags, int64_t timeout_ns);

/**
 * Writes @p bytes bytes, at least one and all of them in one piece, waiting for room while a reader is open, as long as
 * pl_pipe_read(). Release. May block.
 * @return @p bytes; -EPIPE (no reader is open); -EMSGSIZE (more than the pipe can ever hold); -EAGAIN; -ETIMEDOUT; -EINTR;
 *         -ENOSPC; -EBADMSG; -EINVAL.
 */
PL_API int64_t pl_pipe_write(pl_thread *self, pl_pipe *pipe, const void *from, uint32_t bytes, uint32_t flags,
			     int64_t timeout_ns);

/** How many bytes lie in the pipe, with the 4 bytes that a record has for its length. Relaxed. @return -EINVAL: null. */
PL_API int64_t pl_pipe_available(const pl_pipe *pipe);

PL_EXTERN_C_END

#endif
