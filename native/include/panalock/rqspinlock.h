/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * rqspinlock: the resilient queued spinlock, which refuses to deadlock. The words of qspinlock, in its three layouts, taken
 * by calls that fail instead of waiting for ever:
 *
 *  - -EDEADLK: the caller holds the lock itself (found at once), or it is one of 2 to PL_CYCLE_MAX threads that wait for each
 *    other in a circle. Of each circle one thread is told, the others go on when it has released what it holds.
 *  - -ETIMEDOUT: the caller's own limit has passed, counted from its own call. Nobody fails because another did.
 *
 * ```
 * int err = pl_rqspin_lock(self, &accounts.lock);
 * if (err)
 *         return err;                      // nothing is held that was not held before
 * ...
 * pl_rqspin_unlock(self, &accounts.lock);
 * ```
 *
 * How deadlocks are found: every slot lists the locks that its thread holds (31 entries; locks beyond them are held too, but
 * only the time limit watches over them) and what it waits for. Before a waiter sleeps, then after 1, 2, 4 and each further
 * 8 ms, it follows the chain "who holds what I wait for, and what does that one wait for", and if it comes back to itself,
 * follows it once more: only if no wait and no entry has changed meanwhile is it a deadlock. A thread that holds nothing
 * else cannot be in one and never searches. Found are circles of waits by these calls, over locks taken by these calls
 * (or, in a PL_DOMAIN_CHECKS domain, by any).
 *
 * Locks are owned: the thread that locked unlocks, in any order. A signal handler releases what it acquired before it
 * returns; what it may not have because of the code that it interrupts it is refused at once. A qspinlock call and a
 * rqspinlock call exclude each other on one word; who mixes them loses the search for what the former hold.
 *
 * Source of the idea: the kernel's rqspinlock (Dwivedi, 2025); differences are listed in docs/rqspinlock.md.
 */
#ifndef PANALOCK_RQSPINLOCK_H
#define PANALOCK_RQSPINLOCK_H

#include <panalock/qspinlock.h>

PL_EXTERN_C_BEGIN

/** The words are those of qspinlock; zero is a free lock. */
typedef pl_qspinlock pl_rqspinlock;
typedef pl_qspinlock_byte pl_rqspinlock_byte;
typedef pl_qspinlock_wide pl_rqspinlock_wide;

#define PL_RQSPINLOCK_INIT PL_QSPINLOCK_INIT
#define PL_RQSPINLOCK_BYTE_INIT PL_QSPINLOCK_BYTE_INIT
#define PL_RQSPINLOCK_WIDE_INIT PL_QSPINLOCK_WIDE_INIT

/** @p timeout_ns of the calls below: the default limits. */
#define PL_LIMITS (-2)
#define PL_LIMIT_FIRST_NS 250000000  /**< Default limit of a waiter that finds nobody but the owner before it. */
#define PL_LIMIT_BEHIND_NS 500000000 /**< Default limit of any other. */

#define PL_CYCLE_MAX 64 /**< Threads of the longest circle that is found. */

/** One thread of a deadlock. It waits for `key`, which the next one holds; the last one's is held by the first. */
typedef struct pl_deadlock_wait {
	uint32_t slot;  /**< The thread's slot number. */
	uint32_t level; /**< Nesting level of its wait: 0 the thread itself, 1 a signal handler on top of a wait, ... */
	uint64_t key;   /**< As pl_lock_key(): names the lock in every process. */
} pl_deadlock_wait;

/** Who waits for whom; the caller comes first. One entry when it holds the lock itself. */
typedef struct pl_deadlock {
	uint32_t length; /**< 0: no deadlock was found. */
	uint32_t pad;
	pl_deadlock_wait waits[PL_CYCLE_MAX];
} pl_deadlock;

/**
 * Acquires the lock within the default limits. Acquire. Inline when free, else may block.
 * @return 0; -EDEADLK; -ETIMEDOUT; -ESHUTDOWN (poisoned); -EBADFD (no lock's value); -EINVAL (null or misaligned argument);
 *         debug checks: -EXDEV (held with another domain).
 */
PL_MUST_CHECK PL_API int pl_rqspin_lock(pl_thread *self, pl_rqspinlock *lock);
PL_MUST_CHECK PL_API int pl_rqspin_byte_lock(pl_thread *self, pl_rqspinlock_byte *lock);
PL_MUST_CHECK PL_API int pl_rqspin_wide_lock(pl_thread *self, pl_rqspinlock_wide *lock);

/**
 * Acquires with a policy and a limit: @p flags are PL_WAIT_*, @p timeout_ns nanoseconds from now, PL_FOREVER (deadlocks are
 * found still) or PL_LIMITS. Under PL_WAIT_SPIN waiters stand beside the spinners' queue. If @p report is not null it is
 * filled in when the result is -EDEADLK. Acquire. May block.
 * @return as above; -EINTR (only with PL_WAIT_INTERRUPTIBLE).
 */
PL_MUST_CHECK PL_API int pl_rqspin_lock_wait(pl_thread *self, pl_rqspinlock *lock, uint32_t flags, int64_t timeout_ns,
			       pl_deadlock *report);
PL_MUST_CHECK PL_API int pl_rqspin_byte_lock_wait(pl_thread *self, pl_rqspinlock_byte *lock, uint32_t flags, int64_t timeout_ns,
				    pl_deadlock *report);
PL_MUST_CHECK PL_API int pl_rqspin_wide_lock_wait(pl_thread *self, pl_rqspinlock_wide *lock, uint32_t flags, int64_t timeout_ns,
				    pl_deadlock *report);

/** Acquires if free and not reserved. Acquire. Call, never waits. @return 0; -EBUSY; -EDEADLK (the caller holds it);
 * -ESHUTDOWN; -EBADFD (no lock's value: overwritten, or unlocked too often); -EINVAL. */
PL_MUST_CHECK PL_API int pl_rqspin_trylock(pl_thread *self, pl_rqspinlock *lock);
PL_MUST_CHECK PL_API int pl_rqspin_byte_trylock(pl_thread *self, pl_rqspinlock_byte *lock);
PL_MUST_CHECK PL_API int pl_rqspin_wide_trylock(pl_thread *self, pl_rqspinlock_wide *lock);

/**
 * Releases the lock. Release. Inline, a system call when it wakes a sleeper, never waits for the lock.
 * @return 0; -EPERM (the caller does not hold it; nothing was released); -EINVAL.
 */
PL_API int pl_rqspin_unlock(pl_thread *self, pl_rqspinlock *lock);
PL_API int pl_rqspin_byte_unlock(pl_thread *self, pl_rqspinlock_byte *lock);
PL_API int pl_rqspin_wide_unlock(pl_thread *self, pl_rqspinlock_wide *lock);

/** Locks that the slot's thread holds, as far as they are recorded: keys into @p keys (room for PL_HELD). Any thread may
 * ask; a hint, unless the slot's thread stands still. @return their number; -EINVAL. */
PL_API int pl_thread_held(pl_thread *thread, uint64_t *keys);

/**
 * Writes to a file descriptor, as text, who holds what and who waits for what. Async-signal-safe; takes no lock, so that
 * a hung program can be asked: what it prints of threads that run meanwhile may be a moment old.
 * @return 0; -EINVAL; what write(2) says.
 */
PL_API int pl_dump(int fd, pl_domain *domain);

/** The key of a lock word used with this domain; see layout.h. @return 0: not a domain, or null. */
PL_API uint64_t pl_lock_key(pl_domain *domain, const void *word);

/* What the inline forms call when the fast path does not apply. Not for direct use. */
PL_API int pl_rqspin_lock_slow(pl_thread *self, pl_rqspinlock *lock);
PL_API int pl_rqspin_byte_lock_slow(pl_thread *self, pl_rqspinlock_byte *lock);
PL_API int pl_rqspin_wide_lock_slow(pl_thread *self, pl_rqspinlock_wide *lock);
PL_API int pl_rqspin_unlock_slow(pl_thread *self, pl_rqspinlock *lock);
PL_API int pl_rqspin_byte_unlock_slow(pl_thread *self, pl_rqspinlock_byte *lock);
PL_API int pl_rqspin_wide_unlock_slow(pl_thread *self, pl_rqspinlock_wide *lock);

/* ---- Inline fast paths; the exported functions above are these same lines compiled into the library. ---- */

/* The lock's key, without a call where one lock lies in the domain or the domain is private. */
static inline uint64_t pl_rq_key(pl_thread *self, const void *word)
{
	pl_domain *domain = pl_thread_domain(self);
	uint64_t offset = (uint64_t)((uintptr_t)word - (uintptr_t)domain);
	if (offset < domain->size)
		return offset;
	if (PL_LIKELY(!(domain->flags & PL_DOMAIN_SHARED)))
		return PL_KEY_LOCAL | (uintptr_t)word;
	return pl_lock_key(domain, word);
}

/* Only held[0] can be in use, and no wait is below: the first lock of a thread outside of nested handlers. */
static inline bool pl_rq_first(const pl_thread *self) { return !(pl_load_rlx(&self->held_top) | pl_load_rlx(&self->depth)); }

static inline uint64_t pl_rq_entry(const pl_thread *self) { return __atomic_load_n(&self->held[0], __ATOMIC_RELAXED); }

static inline void pl_rq_set_entry(pl_thread *self, uint64_t entry)
{
	/* R7: compiler fence: a handler finds the entry before the lock is taken, and until it is released; pairs with itself */
	pl_compiler_fence();
	__atomic_store_n(&self->held[0], entry, __ATOMIC_RELAXED);
	pl_compiler_fence(); /* R7 */
}

#define PL_RQSPIN_INLINE(prefix, q, type, LAYOUT)                                                                         \
	PL_MUST_CHECK static inline bool prefix##_try_inline(pl_thread *self, type *lock)                                                \
	{                                                                                                                 \
		if (PL_UNLIKELY(!self) || PL_UNLIKELY(!pl_rq_first(self)) || PL_UNLIKELY(pl_rq_entry(self)))               \
			return false;                                                                                     \
		pl_rq_set_entry(self, pl_rq_key(self, lock));                                                             \
		if (PL_LIKELY(q##_take(lock)))                                                                            \
			return true;                                                                                      \
		pl_rq_set_entry(self, 0);                                                                                 \
		return false;                                                                                             \
	}                                                                                                                 \
                                                                                                                          \
	PL_MUST_CHECK static inline int prefix##_lock_inline(pl_thread *self, type *lock)                                                \
	{                                                                                                                 \
		return PL_LIKELY(prefix##_try_inline(self, lock)) ? 0 : prefix##_lock_slow(self, lock);                    \
	}                                                                                                                 \
                                                                                                                          \
	static inline int prefix##_unlock_inline(pl_thread *self, type *lock)                                              \
	{                                                                                                                 \
		if (PL_UNLIKELY(!self) || PL_UNLIKELY(!pl_rq_first(self)) ||                                              \
		    PL_UNLIKELY(pl_rq_entry(self) != pl_rq_key(self, lock)))                                              \
			return prefix##_unlock_slow(self, lock);                                                          \
		bool kick = q##_release_inline(lock);                                                                     \
		pl_rq_set_entry(self, 0);                                                                                 \
		if (PL_UNLIKELY(kick))                                                                                    \
			pl_qspin_kick(self, lock, LAYOUT, 1);                                                             \
		return 0;                                                                                                 \
	}

PL_RQSPIN_INLINE(pl_rqspin, pl_qspin, pl_rqspinlock, PL_LAYOUT_WORD)
PL_RQSPIN_INLINE(pl_rqspin_byte, pl_qspin_byte, pl_rqspinlock_byte, PL_LAYOUT_BYTE)
PL_RQSPIN_INLINE(pl_rqspin_wide, pl_qspin_wide, pl_rqspinlock_wide, PL_LAYOUT_WIDE)
#undef PL_RQSPIN_INLINE

PL_EXTERN_C_END

#ifndef PL_NO_INLINE
#define pl_rqspin_lock        pl_rqspin_lock_inline
#define pl_rqspin_byte_lock   pl_rqspin_byte_lock_inline
#define pl_rqspin_wide_lock   pl_rqspin_wide_lock_inline
#define pl_rqspin_unlock      pl_rqspin_unlock_inline
#define pl_rqspin_byte_unlock pl_rqspin_byte_unlock_inline
#define pl_rqspin_wide_unlock pl_rqspin_wide_unlock_inline
#endif

#endif
