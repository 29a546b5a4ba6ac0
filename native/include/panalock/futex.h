/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Sleeping on a 32-bit word and waking the sleepers, as the kernel's futex system call offers it. Async-signal-safe.
 *
 * Source: Franke, Russell, Kirkwood, "Fuss, Futexes and Furwocks" (2002); futex(2).
 */
#ifndef PANALOCK_FUTEX_H
#define PANALOCK_FUTEX_H

#include <panalock/base.h>

PL_EXTERN_C_BEGIN

#define PL_FUTEX_SHARED 1 /**< The word lies in memory shared between processes. */

/**
 * Sleeps while the word holds @p expected, at most @p timeout_ns nanoseconds (PL_FOREVER: no limit). Blocks. May return
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

PL_EXTERN_C_END

#endif
