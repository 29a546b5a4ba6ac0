/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What every Panalock header needs: linkage, the error convention, common flags.
 *
 * Errors: a function returns 0 (or a count) on success and a negative errno value on failure. It never sets `errno`
 * and never aborts because of input that it can check.
 *
 * Cost classes used below: *inline* (a few instructions in the caller), *call* (a few nanoseconds, no system call),
 * *system call*, *may block*.
 */
#ifndef PANALOCK_BASE_H
#define PANALOCK_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PL_EXTERN_C_BEGIN extern "C" {
#define PL_EXTERN_C_END   }
#else
#define PL_EXTERN_C_BEGIN
#define PL_EXTERN_C_END
#endif

/** Marks what the shared library exports. */
#define PL_API __attribute__((visibility("default")))

/** A result that must be looked at: without the lock there is no exclusion. */
#define PL_MUST_CHECK __attribute__((warn_unused_result))

#define PL_LIKELY(x)   __builtin_expect(!!(x), 1)
#define PL_UNLIKELY(x) __builtin_expect(!!(x), 0)

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Panalock needs a little-endian machine: the BYTE layout overlays bytes on a word, and big-endian is not tested."
#endif

/** Wait flags, shared by every call that may wait; 0 is spin-then-park, not interruptible. */
#define PL_WAIT_SPIN 1          /**< Policy SPIN: never sleep (the kernel's native behaviour). */
#define PL_WAIT_INTERRUPTIBLE 2 /**< Return -EINTR once pl_thread_interrupt() was called on the waiter's slot. */
#define PL_WAIT_RESUME 4        /**< Continue the wait that timed out just before: keep its place in the line. */
#define PL_WAIT_BLOCK 8         /**< Mutex: no optimistic spinning, sleep at once. */
#define PL_WAIT_POLL 16         /**< OSQ and mutex: wait for one's turn by polling, not by conditional loads. */

/**
 * No deadline.
 *
 * Time-outs are nanoseconds from the call on, by CLOCK_MONOTONIC, which does not run while the machine is suspended. 0 asks
 * without sleeping: a lock is looked at for about a microsecond. Every negative number is PL_FOREVER, unless a header gives
 * some a meaning of their own. A wait never ends before its time; after it, as soon as the thread runs.
 */
#define PL_FOREVER (-1)

#endif
