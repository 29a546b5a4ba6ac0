/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Mutex: a sleeping lock with an owner, optimistic spinning, hand-off and condition variables; 8 bytes, zero is free.
 * What to take when nothing special is needed: in C, in Java (OsqMutex), between the two and between processes.
 *
 * Two words. `owner` names the slot that holds it: only the owner may unlock (-EPERM), and locking it twice is refused
 * (-EDEADLK), always. `state` says what a release must know:
 *
 *  - PL_M_WAITERS: waiters sleep in the lock's line, first come first served;
 *  - PL_M_SPINNER: one waiter is awake and responsible (head of the spinners, or the first sleeper after it was woken), so
 *    a release need not wake another;
 *  - PL_M_HANDOFF: that waiter has waited for a slice (PL_SLICE_NS) without success. Nobody else may take the mutex any
 *    more: the next release hands it over. With `owner` free this bit means "handed off, awaiting pick-up"; a pick-up
 *    that does not come within PL_RESERVATION_NS is void;
 *  - the tail of the spinners' queue (osq.h).
 *
 * Whoever finds the mutex held looks a few times; spins as head of the queue of spinners while that makes sense; else
 * sleeps. A running thread may take the mutex many times in a row within a slice: throughput over strict order.
 *
 * The memory must outlive the *return* of the last unlock, which looks at `state` after it has released. A thread that ends
 * while it owns a mutex leaves it locked for ever. Not made for signal handlers: one that waits for a mutex which the code
 * below it also waits for may take some milliseconds.
 *
 * Sources: the public description of the kernel's mutex; Dice, "Malthusian Locks" 2017; Lampson and Redell 1980 (conditions).
 */
#ifndef PANALOCK_MUTEX_H
#define PANALOCK_MUTEX_H

#include <panalock/osq.h>
#include <panalock/qspinlock.h>

PL_EXTERN_C_BEGIN

/* Bits; HELD, NAMED and the owner's slot in `owner`, POISON in both words, the others in `state`. A pool word does not tell a
 * mutex from a WIDE qspinlock, so they are the same bits. */
#define PL_M_HELD    PL_Q_LOCKED  /**< Held. */
#define PL_M_NAMED   0x40u        /**< The bits above are a slot number, not a tail. */
#define PL_M_WAITERS PL_Q_PARKED  /**< Waiters sleep: set and cleared under their bucket's lock. */
#define PL_M_SPINNER PL_Q_STANDBY /**< An awake waiter is responsible. */
#define PL_M_HANDOFF PL_Q_PENDING /**< Requested; with `owner` free: made, awaiting pick-up. */
#define PL_M_POISON  PL_Q_POISON  /**< As PL_Q_POISON of a lock. */

/** What the key of a mutex (and of an OSQ) has in its two low bits, where those of locks have PL_LAYOUT_WORD etc. */
#define PL_LAYOUT_MUTEX 3

#define PL_M_OWNER_SHIFT 10 /**< The owner's slot number stands above these bits of `owner`. */

/* The spinners' tail, a node number, stands in `state` where a WIDE lock's stands in `queue`. */
#define PL_M_TAIL_SHIFT PL_Q_TAIL_SHIFT
#define PL_M_TAIL_MASK  PL_Q_TAIL_MASK

typedef struct pl_mutex {
	uint32_t owner; /**< 0 free, else slot << PL_M_OWNER_SHIFT | PL_M_NAMED | PL_M_HELD; PL_M_POISON. */
	uint32_t state; /**< The other bits. */
} __attribute__((aligned(8))) pl_mutex;

/** A condition variable; zero is valid. Used with one mutex at a time. */
typedef struct pl_cond {
	pl_waitq line;
} pl_cond;

#define PL_MUTEX_INIT { 0, 0 }
#define PL_COND_INIT { { 0, 0, 0, 0 } }

/** Makes the mutex free. Not for one in use. @return 0; -EINVAL. */
PL_API int pl_mutex_init(pl_mutex *mutex);

/**
 * Acquires the mutex, waiting as long as it takes. Acquire. Inline when free, else may block.
 * @return 0; -EDEADLK (this thread owns it); -ESHUTDOWN (poisoned); -ENOSPC (deeper than PL_NESTING contexts); -EINVAL.
 */
PL_API int pl_mutex_lock(pl_thread *self, pl_mutex *mutex);

/**
 * Acquires with reasons to leave. @p flags: PL_WAIT_INTERRUPTIBLE, PL_WAIT_RESUME, PL_WAIT_BLOCK, PL_WAIT_POLL. @p
 * timeout_ns: nanoseconds from now or PL_FOREVER. Acquire. May block.
 * @return as above; -ETIMEDOUT; -EINTR.
 */
PL_API int pl_mutex_lock_wait(pl_thread *self, pl_mutex *mutex, uint32_t flags, int64_t timeout_ns);

/** Acquires if free and not handed off to another. Acquire. Call, never waits. @return 0; -EBUSY (a mutex that this
 *  thread owns included); -ESHUTDOWN; -EINVAL. */
PL_API int pl_mutex_trylock(pl_thread *self, pl_mutex *mutex);

/** Releases the mutex. Release. Inline, a system call when it wakes a sleeper. @return 0; -EPERM (this thread does not
 *  own it; nothing was released); -EINVAL. */
PL_API int pl_mutex_unlock(pl_thread *self, pl_mutex *mutex);

/** Whether somebody owns it. Full fence before the look. @return 1 or 0; -EINVAL. */
PL_API int pl_mutex_is_locked(const pl_mutex *mutex);

/** Whether somebody waits for it (a hint: relaxed). @return 1 or 0; -EINVAL. */
PL_API int pl_mutex_is_contended(const pl_mutex *mutex);

/** Number of the slot that owns it (a hint unless it is the caller's own), 0 if nobody does; -EINVAL. */
PL_API int pl_mutex_owner(const pl_mutex *mutex);

/** Makes the condition have no waiters. @return 0; -EINVAL. */
PL_API int pl_cond_init(pl_cond *cond);

/**
 * Releases the mutex, which the caller owns, sleeps until signalled, and acquires it again, whatever the result. No signal
 * sent after the release is missed. A return without a signal is possible (poison, a killed process): look at the
 * condition again. Blocks. @p flags: PL_WAIT_INTERRUPTIBLE. A waiter that was signalled before its time was up or it was
 * interrupted returns 0.
 * @return 0; -ETIMEDOUT; -EINTR; -EPERM (does not own the mutex); -ENOSPC, -EINVAL (nothing was released); -ESHUTDOWN (the
 *         mutex was poisoned and is not owned).
 */
PL_API int pl_cond_wait(pl_thread *self, pl_cond *cond, pl_mutex *mutex, uint32_t flags, int64_t timeout_ns);

/**
 * Moves the longest waiting thread (broadcast: all) to the mutex's line, where releases wake one after the other: no herd.
 * The caller owns the mutex. Call; no system call unless the line's lock is contended.
 * @return how many were moved; -EPERM (does not own the mutex); -EINVAL.
 */
PL_API int pl_cond_signal(pl_thread *self, pl_cond *cond, pl_mutex *mutex);
PL_API int pl_cond_broadcast(pl_thread *self, pl_cond *cond, pl_mutex *mutex);

/* What the inline forms call when the fast path does not apply. Not for direct use. */
PL_API int pl_mutex_lock_slow(pl_thread *self, pl_mutex *mutex);
PL_API int pl_mutex_unlock_slow(pl_thread *self, pl_mutex *mutex);

/**
 * Wakes the waiter that is next, after a release that saw PL_M_WAITERS without PL_M_SPINNER; as pl_qspin_kick().
 * @return 0, or the node number of a waiter parked in this process's run-time (with @p doorbell 0), which the caller
 *         must unpark.
 */
PL_API int pl_mutex_kick(pl_thread *self, pl_mutex *mutex, int doorbell);

/** Releases but wakes nobody, as pl_qspin_release(). @return 0; 1 (call pl_mutex_kick() next); -EPERM; -EINVAL. */
PL_API int pl_mutex_release(pl_thread *self, pl_mutex *mutex);

/* ---- Inline fast paths; the exported functions above are these same lines compiled into the library. ---- */

/** The value of `owner` while @p self has the mutex. */
static inline uint32_t pl_m_owned_by(const pl_thread *self)
{
	return self->index << PL_M_OWNER_SHIFT | PL_M_NAMED | PL_M_HELD;
}

static inline int pl_mutex_trylock_inline(pl_thread *self, pl_mutex *mutex)
{
	return PL_LIKELY(!(pl_load_rlx(&mutex->state) & (PL_M_HANDOFF | PL_M_POISON))) &&
	       PL_LIKELY(pl_cas_acq(&mutex->owner, 0, pl_m_owned_by(self))); /* Y1: acquire, pairs with Y2 */
}

static inline int pl_mutex_lock_inline(pl_thread *self, pl_mutex *mutex)
{
	return PL_LIKELY(self != NULL) && PL_LIKELY(pl_mutex_trylock_inline(self, mutex)) ? 0 : pl_mutex_lock_slow(self, mutex);
}

/* Releases, by the owner, without waking: true when pl_mutex_kick() must follow. */
static inline bool pl_mutex_release_inline(pl_mutex *mutex)
{
	pl_store_rel(&mutex->owner, 0); /* Y2: release, pairs with Y1 */
	/* Store `owner`, then load `state`: the parking side orders this for us, as for a WIDE qspinlock. */
	pl_compiler_fence();
	if (PL_UNLIKELY(pl_load_rlx(&pl_release_needs_fence)))
		pl_fence(); /* U5 */
	return pl_q_must_kick(pl_load_rlx(&mutex->state)); /* Y3: relaxed load behind Y2, pairs with Y7, Y8 */
}

static inline int pl_mutex_unlock_inline(pl_thread *self, pl_mutex *mutex)
{
	if (PL_UNLIKELY(self == NULL) || PL_UNLIKELY(pl_load_rlx(&mutex->owner) != pl_m_owned_by(self)))
		return pl_mutex_unlock_slow(self, mutex);
	if (PL_UNLIKELY(pl_mutex_release_inline(mutex)))
		pl_mutex_kick(self, mutex, 1);
	return 0;
}

PL_EXTERN_C_END

/* C callers get the inline forms under the plain names, unless PL_NO_INLINE is defined. */
#if !defined(PL_NO_INLINE)
#define pl_mutex_lock   pl_mutex_lock_inline
#define pl_mutex_unlock pl_mutex_unlock_inline
#endif

#endif
