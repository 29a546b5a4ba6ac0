/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Thread slots: the caller's context, explicit in every call that may wait. A slot gives its thread queue nodes for
 * itself and three nested signal handlers.
 *
 * A slot belongs to the thread that registered it; only `pl_thread_interrupt` may be called by others. After fork() the
 * child keeps the slot of the forking thread in private domains (all other slots are freed there) and none in shared
 * ones: the child registers anew. Locks that other threads held at fork() stay held in the child, as with pthreads. Pool
 * locks forget their waiters; a lock elsewhere that had PL_WAIT_SPIN waiters at fork() must be initialised anew.
 */
#ifndef PANALOCK_THREAD_H
#define PANALOCK_THREAD_H

#include <panalock/domain.h>

PL_EXTERN_C_BEGIN

/**
 * The calling thread's slot in the default domain, registered on first use, released when the thread ends. Inline after that:
 * a look at a thread-local variable.
 * Not async-signal-safe on first use: a thread whose handlers lock calls it once before.
 * @return null when every slot is taken: the calls that take a lock are content with that, see qspinlock.h.
 */
PL_API pl_thread *pl_self(void);

/** What pl_self() of this thread has found; null before its first use, after fork() and when the thread ends. Read only. */
PL_API extern __thread pl_thread *pl_self_found __attribute__((tls_model("initial-exec")));

static inline pl_thread *pl_self_inline(void)
{
	pl_thread *self = pl_self_found;
	return PL_LIKELY(self != NULL) ? self : pl_self();
}

/**
 * The calling thread's slot in any domain, likewise registered and released; finds it in a small table of the thread.
 * @return null when every slot is taken, the domain is null, or this thread has slots in 32 other open domains. To wait
 *         for its locks without a slot take pl_domain_service(domain); null would mean the default domain.
 */
PL_API pl_thread *pl_self_in(pl_domain *domain);

/**
 * Registers a slot that the caller manages itself (a coroutine, a virtual thread). @p tid is its kernel thread id or 0.
 * Slots of threads and processes that have ended are reused when no other is left.
 * @return 0; -ENOSPC (every slot is taken: create the domain with more); -ESHUTDOWN; -EINVAL.
 */
PL_API int pl_thread_register(pl_domain *domain, uint32_t tid, pl_thread **out);

/** Releases a slot got from pl_thread_register(). @return 0; -EBUSY (it waits, holds or protects right now); -EINVAL. */
PL_API int pl_thread_release(pl_thread *thread);

/** Names the slot for error messages and dumps; UTF-8, cut to PL_NAME_BYTES - 1 bytes. */
PL_API int pl_thread_set_name(pl_thread *thread, const char *name);

/**
 * Ends one interruptible wait of that thread, the current or else the next one, with -EINTR. May be called by any
 * thread of any process. Async-signal-safe. Release: what the caller wrote before is seen after the -EINTR.
 */
PL_API int pl_thread_interrupt(pl_thread *thread);

/** Takes back an interruption that has not ended a wait yet. @return 1 if there was one, else 0; -EINVAL. */
PL_API int pl_thread_clear_interrupt(pl_thread *thread);

/**
 * Which thread holds the lock @p word, as far as the debug checks know. Linear in the number of slots; a hint, unless
 * the caller keeps the holder from releasing. @return null: nobody, or the domain is not a PL_DOMAIN_CHECKS one.
 */
PL_API pl_thread *pl_domain_holder(pl_domain *domain, const void *word);

/** Slot 0: stands for the domain where a call needs one but no thread (an unlock on behalf of a virtual thread). */
PL_API pl_thread *pl_domain_service(pl_domain *domain);

/** The domain that a slot belongs to. */
static inline pl_domain *pl_thread_domain(pl_thread *thread)
{
	return (pl_domain *)(void *)((char *)thread - thread->offset);
}

PL_EXTERN_C_END

#ifndef PL_NO_INLINE
#define pl_self pl_self_inline
#endif

#endif
