/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * qspinlock: the Linux kernel's queued spinlock for user space, in three layouts of one algorithm.
 *
 * | layout | type                | bytes | lock            | unlock                            | free after unlock |
 * |--------|---------------------|-------|-----------------|-----------------------------------|-------------------|
 * | WORD   | pl_qspinlock        | 4     | 32-bit CAS      | 32-bit subtract                   | yes               |
 * | BYTE   | pl_qspinlock_byte   | 4     | 32-bit CAS      | 8-bit subtract                    | yes               |
 * | WIDE   | pl_qspinlock_wide   | 8     | load, 32-bit CAS| 32-bit store, look at queue word  | no: see below     |
 *
 * WORD is the portable default, WIDE the fastest. A WIDE lock's memory must outlive the *return* of the last unlock,
 * because unlock looks at the queue word after it has released; WORD and BYTE memory may be freed as soon as the
 * caller knows that nobody else uses the lock.
 *
 * Who may wait how (both policies exclude each other on one word):
 *  - PL_WAIT_SPIN: pending bit, then an MCS queue of spinners in first-come order. For critical sections that are never
 *    preempted for long: threads pinned, no more of them than CPUs.
 *  - otherwise (default), spin-then-park: a short spin, then sleep. One woken waiter at a time stands by and competes;
 *    after PL_SLICE_NS it reserves the lock (pending bit), which no one may steal. Throughput over strict order:
 *    a running thread may take the lock many times in a row within a slice.
 *
 * The lock has no owner: any thread may unlock. It is not recursive.
 * Signal handlers may use a lock that the thread they interrupted does not hold.
 *
 * Debug checks tell of recursion (-EDEADLK), of an unlock by a thread that does not hold the lock (-EPERM), and of a lock used
 * with two domains (-EXDEV). They need two things: a domain made with PL_DOMAIN_CHECKS (the default domain is with
 * PANALOCK_CHECKS=1 in the environment), and C code compiled with -DPL_NO_INLINE. That makes the names below the library's
 * functions, which record each holder in such a domain; without it they are the inline forms of this header, which neither
 * record nor check anything. Where code of both kinds shares a lock, what the inline forms take is not checked.
 *
 * Sources: Mellor-Crummey and Scott 1991 (MCS); the kernel's qspinlock and its paravirtual variant (J. Corbet,
 * "MCS locks and qspinlocks", LWN 2014; W. Long and P. Zijlstra's cover letters); Dice, "Malthusian Locks" 2017 (one competitor at a time); parking lots after WebKit's.
 */
#ifndef PANALOCK_QSPINLOCK_H
#define PANALOCK_QSPINLOCK_H

#include <errno.h>
#include <panalock/atomic.h>
#include <panalock/thread.h>

PL_EXTERN_C_BEGIN

/** Layout numbers, for callers that choose at run time. */
#define PL_LAYOUT_WORD 0
#define PL_LAYOUT_BYTE 1
#define PL_LAYOUT_WIDE 2

/* Bits of the lock word; in WIDE, LOCKED and POISON live in `owner` and everything else in `queue`. PARKED is the sign bit of
 * what an unlock subtracts from, STANDBY the only other bit of the lowest byte that a release can leave: so the CPU's flags
 * tell whether a sleeper must be woken (pl_dec_rel in atomic.h). */
#define PL_Q_LOCKED      0x1u        /**< Held. */
#define PL_Q_BROKEN      0x2u        /**< Never set: an unlock of a WORD or BYTE lock that nobody held borrows it. */
#define PL_Q_STANDBY     0x4u        /**< One woken waiter is responsible: an unlocker need not wake another. */
#define PL_Q_BYTE_PARKED 0x80u       /**< PL_Q_PARKED in BYTE. */
#define PL_Q_PENDING     0x100u      /**< Reserved: one waiter goes next, nobody may steal. */
#define PL_Q_POISON      0x200u      /**< Its domain is closed, or it is a word of the pool that nobody has. */
#define PL_Q_PARKED      0x80000000u /**< Waiters sleep: set and cleared under their bucket's lock. WORD and WIDE. */
#define PL_Q_DEAD        0x202u      /**< PL_Q_POISON | PL_Q_BROKEN: nobody gets a lock with one of them. */

/* The tail of the spinners' queue: a node number. WORD and WIDE keep it in bits 10-30, BYTE in bits 16-31. */
#define PL_Q_TAIL_SHIFT      10
#define PL_Q_TAIL_MASK       0x7ffffc00u
#define PL_Q_BYTE_TAIL_SHIFT 16
#define PL_Q_BYTE_TAIL_MASK  0xffff0000u

/** Time that a running owner is left alone before the waiter standing by reserves the lock, ns. */
#define PL_SLICE_NS 500000
/** A waiter that is first in line looks this often whether the one chosen before it still acts, ns. */
#define PL_WATCH_NS 5000000
/** In a shared domain every sleeper looks this often at its node, in case a waker was killed before it woke it, ns. */
#define PL_RECHECK_NS 100000000
/** A reservation on a free lock that is not used for this long is void (its owner was stopped or killed), ns. Who waits
 * finds out, and so does a trylock that is repeated. */
#define PL_RESERVATION_NS 4000000

typedef struct pl_qspinlock {
	uint32_t word;
} pl_qspinlock;

typedef struct pl_qspinlock_byte {
	uint32_t word;
} pl_qspinlock_byte;

typedef struct pl_qspinlock_wide {
	uint32_t owner; /**< 0 free, PL_Q_LOCKED, PL_Q_POISON. */
	uint32_t queue; /**< The other bits. */
} __attribute__((aligned(8))) pl_qspinlock_wide;

#define PL_QSPINLOCK_INIT { 0 }
#define PL_QSPINLOCK_BYTE_INIT { 0 }
#define PL_QSPINLOCK_WIDE_INIT { 0, 0 }

/** Makes the lock free. Not for a lock in use. */
PL_API int pl_qspin_init(pl_qspinlock *lock);
PL_API int pl_qspin_byte_init(pl_qspinlock_byte *lock);
PL_API int pl_qspin_wide_init(pl_qspinlock_wide *lock);

/**
 * Acquires the lock, waiting spin-then-park as long as it takes. Acquire. Inline when free, else may block.
 *
 * @p self null: the default domain, and no slot there, as pl_self() says when all are taken. Slot 0 (pl_domain_service())
 * says the same of any domain. Such a caller gets the lock too: it sleeps and looks in turn, up to a millisecond at a time,
 * longer when many do, behind those who have a slot; it cannot be interrupted, and debug checks do not see it.
 *
 * @return 0; -EINVAL (null or misaligned lock, when it gets to wait); -ESHUTDOWN (its domain was closed, or the word
 *         given back to the pool); -EBADFD (the word is none of a lock: it was unlocked more often than locked, or is other
 *         memory); -ENOMEM (null @p self, and no memory for the default domain); debug checks: -EDEADLK (this thread holds
 *         it), -EXDEV (it is held with another domain).
 */
PL_API PL_MUST_CHECK int pl_qspin_lock(pl_thread *self, pl_qspinlock *lock);
PL_API PL_MUST_CHECK int pl_qspin_byte_lock(pl_thread *self, pl_qspinlock_byte *lock);
PL_API PL_MUST_CHECK int pl_qspin_wide_lock(pl_thread *self, pl_qspinlock_wide *lock);

/**
 * Acquires with a policy and a limit: @p flags are PL_WAIT_*, @p timeout_ns is as PL_FOREVER in base.h says. A timed
 * or interruptible waiter stands beside the spinners' queue, never in it, so it can leave at once; under SPIN it is
 * therefore overtaken by queued spinners. Acquire. May block.
 * @return as above; -ETIMEDOUT; -EINTR (only with PL_WAIT_INTERRUPTIBLE).
 */
PL_API PL_MUST_CHECK int pl_qspin_lock_wait(pl_thread *self, pl_qspinlock *lock, uint32_t flags, int64_t timeout_ns);
PL_API PL_MUST_CHECK int pl_qspin_byte_lock_wait(pl_thread *self, pl_qspinlock_byte *lock, uint32_t flags, int64_t timeout_ns);
PL_API PL_MUST_CHECK int pl_qspin_wide_lock_wait(pl_thread *self, pl_qspinlock_wide *lock, uint32_t flags, int64_t timeout_ns);

/** Acquires if free and not reserved. Acquire. Inline when free, never waits. @return 0; -EBUSY; -ESHUTDOWN;
 * -EBADFD; -EINVAL. */
PL_API PL_MUST_CHECK int pl_qspin_trylock(pl_thread *self, pl_qspinlock *lock);
PL_API PL_MUST_CHECK int pl_qspin_byte_trylock(pl_thread *self, pl_qspinlock_byte *lock);
PL_API PL_MUST_CHECK int pl_qspin_wide_trylock(pl_thread *self, pl_qspinlock_wide *lock);

/**
 * Releases the lock; @p self is any slot of the lock's domain, null stands for the default domain's slot 0. Release. Inline, a system call when it wakes a sleeper,
 * never waits for the lock.
 * @return 0; -EINVAL; -EPERM (WORD and BYTE: nobody holds it; debug checks: this thread does not hold it; nothing was
 *         released). Without debug checks an unlock of a free lock goes unnoticed in WIDE, where it does no harm.
 */
PL_API int pl_qspin_unlock(pl_thread *self, pl_qspinlock *lock);
PL_API int pl_qspin_byte_unlock(pl_thread *self, pl_qspinlock_byte *lock);
PL_API int pl_qspin_wide_unlock(pl_thread *self, pl_qspinlock_wide *lock);

/** Whether somebody holds the lock. Full fence before the look, so that two threads that lock one and test the other
 * cannot both see "free". @return 1 or 0; -EINVAL. */
PL_API int pl_qspin_is_locked(const pl_qspinlock *lock);
PL_API int pl_qspin_byte_is_locked(const pl_qspinlock_byte *lock);
PL_API int pl_qspin_wide_is_locked(const pl_qspinlock_wide *lock);

/** Whether somebody waits for the lock (a hint: relaxed). @return 1 or 0; -EINVAL. */
PL_API int pl_qspin_is_contended(const pl_qspinlock *lock);
PL_API int pl_qspin_byte_is_contended(const pl_qspinlock_byte *lock);
PL_API int pl_qspin_wide_is_contended(const pl_qspinlock_wide *lock);

/* What the inline forms call when the fast path does not apply. Not for direct use. */
PL_API PL_MUST_CHECK int pl_qspin_lock_slow(pl_thread *self, pl_qspinlock *lock);
PL_API PL_MUST_CHECK int pl_qspin_lock_wait_slow(pl_thread *self, pl_qspinlock *lock, uint32_t flags, int64_t timeout_ns);
PL_API PL_MUST_CHECK int pl_qspin_trylock_slow(pl_thread *self, pl_qspinlock *lock);
PL_API PL_MUST_CHECK int pl_qspin_byte_lock_slow(pl_thread *self, pl_qspinlock_byte *lock);
PL_API PL_MUST_CHECK int pl_qspin_byte_lock_wait_slow(pl_thread *self, pl_qspinlock_byte *lock, uint32_t flags, int64_t timeout_ns);
PL_API PL_MUST_CHECK int pl_qspin_byte_trylock_slow(pl_thread *self, pl_qspinlock_byte *lock);
PL_API PL_MUST_CHECK int pl_qspin_wide_lock_slow(pl_thread *self, pl_qspinlock_wide *lock);
PL_API PL_MUST_CHECK int pl_qspin_wide_lock_wait_slow(pl_thread *self, pl_qspinlock_wide *lock, uint32_t flags, int64_t timeout_ns);
PL_API PL_MUST_CHECK int pl_qspin_wide_trylock_slow(pl_thread *self, pl_qspinlock_wide *lock);

/**
 * Wakes the waiter that is next, after a release that saw PL_Q_PARKED without PL_Q_STANDBY. @p lock is compared, and
 * dereferenced only while a waiter for it exists. @p layout is PL_LAYOUT_*.
 * @return 0, or the node number of a waiter parked in *this* process's run-time, which the caller must unpark (with
 *         @p doorbell 0; with 1 its doorbell is rung instead).
 */
PL_API int pl_qspin_kick(pl_thread *self, void *lock, uint32_t layout, int doorbell);

/** 1 when this process could not register for membarrier(2): a WIDE release then needs a full fence. */
PL_API extern uint32_t pl_release_needs_fence;

/* ---- Inline fast paths; the exported functions above are these same lines compiled into the library. ---- */

/** True when a release that left these bits behind must wake a sleeper. WORD and WIDE. */
static inline bool pl_q_must_kick(uint32_t bits)
{
	return PL_UNLIKELY(bits & PL_Q_PARKED) && !(bits & PL_Q_STANDBY);
}

/* True when the lock was free and is the caller's now. */
static inline bool pl_qspin_take(pl_qspinlock *lock)
{
	if (PL_LIKELY(pl_cas_acq(&lock->word, 0, PL_Q_LOCKED))) /* L1: acquire, pairs with U1 */
		return true;
	uint32_t seen = pl_load_rlx(&lock->word);
	return !(seen & (PL_Q_LOCKED | PL_Q_PENDING | PL_Q_DEAD)) &&
	       pl_cas_acq(&lock->word, seen, seen | PL_Q_LOCKED); /* L1 */
}

static inline bool pl_qspin_byte_take(pl_qspinlock_byte *lock)
{
	if (PL_LIKELY(pl_cas_acq(&lock->word, 0, PL_Q_LOCKED))) /* L1: acquire, pairs with U2 */
		return true;
	uint32_t seen = pl_load_rlx(&lock->word);
	return !(seen & (PL_Q_LOCKED | PL_Q_PENDING | PL_Q_DEAD)) &&
	       pl_cas_acq(&lock->word, seen, seen | PL_Q_LOCKED); /* L1 */
}

static inline bool pl_qspin_wide_take(pl_qspinlock_wide *lock)
{
	return PL_LIKELY(!(pl_load_rlx(&lock->queue) & (PL_Q_PENDING | PL_Q_DEAD))) &&
	       PL_LIKELY(pl_cas_acq(&lock->owner, 0, PL_Q_LOCKED)); /* L1: acquire, pairs with U3 */
}

PL_MUST_CHECK static inline int pl_qspin_lock_inline(pl_thread *self, pl_qspinlock *lock)
{
	return PL_LIKELY(pl_qspin_take(lock)) ? 0 : pl_qspin_lock_slow(self, lock);
}

PL_MUST_CHECK static inline int pl_qspin_lock_wait_inline(pl_thread *self, pl_qspinlock *lock, uint32_t flags, int64_t timeout_ns)
{
	return PL_LIKELY(pl_qspin_take(lock)) ? 0 : pl_qspin_lock_wait_slow(self, lock, flags, timeout_ns);
}

PL_MUST_CHECK static inline int pl_qspin_trylock_inline(pl_thread *self, pl_qspinlock *lock)
{
	return PL_LIKELY(pl_qspin_take(lock)) ? 0 : pl_qspin_trylock_slow(self, lock);
}

PL_MUST_CHECK static inline int pl_qspin_byte_lock_inline(pl_thread *self, pl_qspinlock_byte *lock)
{
	return PL_LIKELY(pl_qspin_byte_take(lock)) ? 0 : pl_qspin_byte_lock_slow(self, lock);
}

PL_MUST_CHECK static inline int pl_qspin_byte_lock_wait_inline(pl_thread *self, pl_qspinlock_byte *lock, uint32_t flags, int64_t timeout_ns)
{
	return PL_LIKELY(pl_qspin_byte_take(lock)) ? 0 : pl_qspin_byte_lock_wait_slow(self, lock, flags, timeout_ns);
}

PL_MUST_CHECK static inline int pl_qspin_byte_trylock_inline(pl_thread *self, pl_qspinlock_byte *lock)
{
	return PL_LIKELY(pl_qspin_byte_take(lock)) ? 0 : pl_qspin_byte_trylock_slow(self, lock);
}

PL_MUST_CHECK static inline int pl_qspin_wide_lock_inline(pl_thread *self, pl_qspinlock_wide *lock)
{
	return PL_LIKELY(pl_qspin_wide_take(lock)) ? 0 : pl_qspin_wide_lock_slow(self, lock);
}

PL_MUST_CHECK static inline int pl_qspin_wide_lock_wait_inline(pl_thread *self, pl_qspinlock_wide *lock, uint32_t flags, int64_t timeout_ns)
{
	return PL_LIKELY(pl_qspin_wide_take(lock)) ? 0 : pl_qspin_wide_lock_wait_slow(self, lock, flags, timeout_ns);
}

PL_MUST_CHECK static inline int pl_qspin_wide_trylock_inline(pl_thread *self, pl_qspinlock_wide *lock)
{
	return PL_LIKELY(pl_qspin_wide_take(lock)) ? 0 : pl_qspin_wide_trylock_slow(self, lock);
}

/* Releases without waking: 1 when the caller must call pl_qspin_kick() next; 0; -EPERM (nobody held it). */
static inline int pl_qspin_release_inline(pl_qspinlock *lock)
{
	/* U1: release, pairs with L1, L2; one word, so no fence towards P1 is needed; pairs with P1, P2 */
	int kick = pl_dec_rel(&lock->word, PL_Q_STANDBY);
	if (PL_UNLIKELY(kick < 0)) {
		__atomic_fetch_add(&lock->word, 1, __ATOMIC_RELAXED); /* back to free, unless somebody came between */
		return -EPERM;
	}
	return kick;
}

static inline int pl_qspin_byte_release_inline(pl_qspinlock_byte *lock)
{
	uint8_t *byte = (uint8_t *)(void *)&lock->word;
	/* U2: release, pairs with L1, L2; the byte holds every bit that decides about a kick; pairs with P1, P2 */
	int kick = pl_dec8_rel(byte, PL_Q_STANDBY);
	if (PL_UNLIKELY(kick < 0)) {
		__atomic_fetch_add(byte, (uint8_t)1, __ATOMIC_RELAXED);
		return -EPERM;
	}
	return kick;
}

static inline int pl_qspin_wide_release_inline(pl_qspinlock_wide *lock)
{
	pl_store_rel(&lock->owner, 0); /* U3: release, pairs with L1, L2 */
	/* Store `owner`, then load `queue`: the parking side orders this for us with a heavy fence (P1), so that the
	 * compiler is all we must hold back, unless the process has no membarrier. */
	pl_compiler_fence();
	if (PL_UNLIKELY(pl_load_rlx(&pl_release_needs_fence)))
		pl_fence(); /* U5: full fence, pairs with P3 */
	return pl_q_must_kick(pl_load_rlx(&lock->queue)); /* U4: relaxed load behind U3, pairs with P1, P2 */
}

static inline int pl_qspin_unlock_inline(pl_thread *self, pl_qspinlock *lock)
{
	int kick = pl_qspin_release_inline(lock);
	if (PL_UNLIKELY(kick > 0))
		pl_qspin_kick(self, lock, PL_LAYOUT_WORD, 1);
	return PL_UNLIKELY(kick < 0) ? kick : 0;
}

static inline int pl_qspin_byte_unlock_inline(pl_thread *self, pl_qspinlock_byte *lock)
{
	int kick = pl_qspin_byte_release_inline(lock);
	if (PL_UNLIKELY(kick > 0))
		pl_qspin_kick(self, lock, PL_LAYOUT_BYTE, 1);
	return PL_UNLIKELY(kick < 0) ? kick : 0;
}

static inline int pl_qspin_wide_unlock_inline(pl_thread *self, pl_qspinlock_wide *lock)
{
	if (PL_UNLIKELY(pl_qspin_wide_release_inline(lock)))
		pl_qspin_kick(self, lock, PL_LAYOUT_WIDE, 1);
	return 0;
}

PL_EXTERN_C_END

/* Every call that takes or releases is mapped, or none is: see "Debug checks" above. */
#ifndef PL_NO_INLINE
#define pl_qspin_lock           pl_qspin_lock_inline
#define pl_qspin_byte_lock      pl_qspin_byte_lock_inline
#define pl_qspin_wide_lock      pl_qspin_wide_lock_inline
#define pl_qspin_lock_wait      pl_qspin_lock_wait_inline
#define pl_qspin_byte_lock_wait pl_qspin_byte_lock_wait_inline
#define pl_qspin_wide_lock_wait pl_qspin_wide_lock_wait_inline
#define pl_qspin_trylock        pl_qspin_trylock_inline
#define pl_qspin_byte_trylock   pl_qspin_byte_trylock_inline
#define pl_qspin_wide_trylock   pl_qspin_wide_trylock_inline
#define pl_qspin_unlock         pl_qspin_unlock_inline
#define pl_qspin_byte_unlock    pl_qspin_byte_unlock_inline
#define pl_qspin_wide_unlock    pl_qspin_wide_unlock_inline
#endif

#endif
