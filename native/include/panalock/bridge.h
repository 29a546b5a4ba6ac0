/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * For language run-times that take and release locks with their own instructions and call C only to wait and to wake;
 * C programs need none of this.
 */
#ifndef PANALOCK_BRIDGE_H
#define PANALOCK_BRIDGE_H

#include <panalock/rqspinlock.h>

PL_EXTERN_C_BEGIN

/**
 * Releases the lock but wakes nobody. Release. Call: no system call, no wait, so that a run-time may make it where it
 * must not block. Debug checks do not see it.
 * @return 0; 1 (the caller must call pl_qspin_kick() next); -EPERM (nobody held it, see pl_qspin_unlock()); -EINVAL.
 */
PL_API int pl_qspin_release(pl_qspinlock *lock);
PL_API int pl_qspin_byte_release(pl_qspinlock_byte *lock);
PL_API int pl_qspin_wide_release(pl_qspinlock_wide *lock);

/**
 * The word on which this process's run-time sleeps for its parked waiters (PL_NODE_PARKED): read it, look at all of
 * them, then pl_futex_wait() for it to change. @return null: not a domain that this process has open.
 */
PL_API uint32_t *pl_domain_doorbell(pl_domain *domain);

/**
 * For run-times that wait for a line's own lock (pl_waitq.lock) by themselves: if the process that holds it was killed,
 * takes it over, makes the line anew and lets go. System calls; does not wait.
 * @return 1 if it did; 0 (its holder lives, it is free, or the domain is private); -EINVAL.
 */
PL_API int pl_waitq_recover(pl_domain *domain, pl_waitq *queue);

/** Marks @p self as holder of @p word in a PL_DOMAIN_CHECKS domain, for a lock that was taken without C. @return 0. */
PL_API int pl_note_locked(pl_thread *self, const void *word);

/** Takes that mark back, before a release without C. @return 0; -EPERM (this thread does not hold it). */
PL_API int pl_note_unlocked(pl_thread *self, const void *word);

/** May @p self lock @p word, as far as the debug checks know? @return 0; -EDEADLK; -EXDEV. */
PL_API int pl_note_locking(pl_thread *self, const void *word);

/**
 * The heavy half of an asymmetric fence: a full fence on every CPU that runs a thread of this process, or with
 * @p shared of any process that loaded this library. Full fence here in any case. System call.
 */
PL_API void pl_heavy_fence(int shared);

/**
 * Calls @p call with the four numbers: a frame during which the caller's run-time keeps @p memory mapped, because it
 * was passed as a pointer. @return what @p call returns.
 */
PL_API int pl_call_with(const void *memory, int (*call)(int64_t a, int64_t b, int64_t c, int64_t d), int64_t a, int64_t b,
			int64_t c, int64_t d);

PL_EXTERN_C_END

#endif
