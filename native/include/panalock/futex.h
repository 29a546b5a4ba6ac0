/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sleeping on a 32-bit word and waking the sleepers, as the kernel's futex system call offers it, and changing words of
 * memory that may not be there. Async-signal-safe.
 *
 * Source: Franke, Russell, Kirkwood, "Fuss, Futexes and Furwocks" (2002); futex(2).
 */
#ifndef PANALOCK_FUTEX_H
#define PANALOCK_FUTEX_H

#include <panalock/base.h>

PL_EXTERN_C_BEGIN

#define PL_FUTEX_SHARED 1 /**< The word lies in memory shared between processes. */

/**
 * Sleeps while the word holds @p expected, at most @p timeout_ns (see PL_FOREVER; 0 does not sleep). Blocks. May return
 * 0 without a wake-up. Full fence before the word is compared.
 * @return 0; -EAGAIN (the word differed); -ETIMEDOUT; -EINTR (a signal handler ran); -EINVAL; -EFAULT.
 */
PL_API int pl_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns, uint32_t flags);

/** Wakes up to @p count sleepers of the word. The caller has changed the word before. System call. @return how many. */
PL_API int pl_futex_wake(uint32_t *word, uint32_t count, uint32_t flags);

/**
 * If the word still holds @p expected: wakes up to @p wake sleepers, moves up to @p move others to @p target.
 * System call. @return how many were woken or moved; -EAGAIN (the word differed); -EINVAL; -EFAULT.
 */
PL_API int pl_futex_requeue(uint32_t *word, uint32_t expected, uint32_t wake, uint32_t move, uint32_t *target,
			    uint32_t flags);

/* Operations on a word: `old = *word; *word = old OP arg`. */
#define PL_FUTEX_SET   0  /**< arg. */
#define PL_FUTEX_ADD   1  /**< old + arg, modulo 2^32. */
#define PL_FUTEX_OR    2  /**< old | arg. */
#define PL_FUTEX_ANDN  3  /**< old & ~arg. */
#define PL_FUTEX_XOR   4  /**< old ^ arg. */
#define PL_FUTEX_SHIFT 16 /**< Added to one of them: the operand is 1 << arg (of which the low five bits count). */

/* Comparisons of the old value, signed, with another. */
#define PL_FUTEX_EQ 0
#define PL_FUTEX_NE 1
#define PL_FUTEX_LT 2
#define PL_FUTEX_LE 3
#define PL_FUTEX_GT 4
#define PL_FUTEX_GE 5

/**
 * Changes a word of memory that the caller does not trust, atomically, and compares what it held. Both permissions are
 * needed and tried first: memory that can only be read, or not at all, gives an error and no signal (unless another
 * thread unmaps it during the call). Acquire and release. Two system calls.
 * @param old receives the value before; may be null.
 * @return 1 if the comparison holds, else 0; -EFAULT; -ENOSYS (unknown operation or comparison); -EINVAL.
 */
PL_API int pl_futex_op(uint32_t *word, uint32_t op, int32_t arg, uint32_t compare, int32_t with, uint32_t *old);

/**
 * Compare-and-swap on such a word. Acquire and release, also when it fails. Two system calls.
 * @param seen receives the value before; may be null.
 * @return 1 if it was @p expected and is @p desired now, 0 if it differed; -EFAULT; -EINVAL.
 */
PL_API int pl_futex_cmpxchg(uint32_t *word, uint32_t expected, uint32_t desired, uint32_t *seen);

/**
 * In one step: changes @p target by @p op and @p arg; wakes up to @p wake sleepers of @p word; and, if the old value of
 * @p target compares so, up to @p wake_target sleepers of @p target. Both counts are at least 1; @p arg and @p with lie
 * within -2048..2047. System call.
 * @return how many were woken; -EFAULT; -ENOSYS (unknown operation or comparison); -EINVAL.
 */
PL_API int pl_futex_wake_op(uint32_t *word, uint32_t wake, uint32_t *target, uint32_t wake_target, uint32_t op, int32_t arg,
			    uint32_t compare, int32_t with, uint32_t flags);

/** One of the words that pl_futex_waitv() sleeps on. */
typedef struct pl_futex_waiter {
	uint32_t *word;
	uint32_t expected;
	uint32_t flags; /**< PL_FUTEX_SHARED or 0. */
} pl_futex_waiter;

#define PL_FUTEX_WAITV_MAX 128

/**
 * Sleeps while every word holds what is expected of it, at most @p timeout_ns nanoseconds (PL_FOREVER: no limit).
 * Blocks. @p count is 1..PL_FUTEX_WAITV_MAX, @p flags 0.
 * @return the index of a word whose sleeper was woken; -EAGAIN (a word differed); -ETIMEDOUT; -EINTR; -EFAULT; -EINVAL;
 *         -ENOSYS (Linux before 5.16).
 */
PL_API int pl_futex_waitv(const pl_futex_waiter *waiters, uint32_t count, int64_t timeout_ns, uint32_t flags);

PL_EXTERN_C_END

#endif
