/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rqspinlock: qspinlock's words and waits, plus a record of what each thread holds and a search for deadlocks (search.h).
 *
 * The entry of a lock is pushed before the first compare-and-swap and popped after the release, so that a signal handler
 * that interrupts either finds it: what it must not wait for, it knows.
 */
#define PL_NO_INLINE /* this file defines the exported forms */
#include "checks.h"
#include "held.h"
#include "os/os.h"
#include "search.h"

#include <errno.h>

#define INLINE static inline __attribute__((always_inline))

INLINE uintptr_t alignment(int layout) { return layout == PL_LAYOUT_WIDE ? sizeof(pl_qspinlock_wide) : sizeof(pl_qspinlock); }

INLINE bool bad(const pl_thread *self, const void *lock, int layout)
{
	return !self || self->index == 0 || !lock || (uintptr_t)lock % alignment(layout);
}

INLINE bool take(void *lock, int layout)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_take(lock);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_take(lock);
	default: return pl_qspin_wide_take(lock);
	}
}

/* As qspinlock's: it says what is wrong with the word, and voids a reservation that nobody uses any more. */
INLINE int take_slow(pl_thread *self, void *lock, int layout)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_trylock_slow(self, lock);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_trylock_slow(self, lock);
	default: return pl_qspin_wide_trylock_slow(self, lock);
	}
}

INLINE bool release(void *lock, int layout)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_release_inline(lock);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_release_inline(lock);
	default: return pl_qspin_wide_release_inline(lock);
	}
}

INLINE uint32_t bits(void *lock, int layout)
{
	uint32_t *word = lock;
	return pl_load_rlx(word) | (layout == PL_LAYOUT_WIDE ? pl_load_rlx(word + 1) : 0);
}

/* This thread holds the lock, or a context below a handler is about to take or has just released it. */
INLINE bool own(const pl_thread *self, uint64_t key, int entry, uint32_t seen)
{
	return seen & PL_Q_LOCKED && pl_held_other(self, key, entry);
}

static void explain_own(const pl_thread *self, uint64_t key, pl_deadlock *report)
{
	if (report)
		*report = (pl_deadlock){.length = 1, .waits = {{self->index, pl_load_rlx(&self->depth), key}}};
}

/* With the entry pushed: waits. */
static int wait_for(pl_thread *self, void *lock, int layout, uint64_t key, int entry, uint32_t flags, int64_t timeout_ns,
		    pl_deadlock *report)
{
	uint32_t seen = bits(lock, layout);
	if (own(self, key, entry, seen)) {
		explain_own(self, key, report);
		return -EDEADLK;
	}
	if (pl_load_rlx(&self->depth) >= PL_NESTING) /* no node to wait with: the one try was all */
		return -EDEADLK;
	if (timeout_ns == PL_LIMITS)
		timeout_ns = seen & ~(PL_Q_LOCKED | PL_Q_POISON) ? PL_LIMIT_BEHIND_NS : PL_LIMIT_FIRST_NS;
	pl_search search = {
		.self = self,
		.report = report,
		.at = pl_held_other(self, 0, entry) ? 0 : UINT64_MAX,
	};
	return pl_q_wait(self, lock, layout, flags, timeout_ns, &search);
}

INLINE int lock_slow(pl_thread *self, void *lock, int layout, uint32_t flags, int64_t timeout_ns, pl_deadlock *report)
{
	enum { all_flags = PL_WAIT_SPIN | PL_WAIT_INTERRUPTIBLE | PL_WAIT_RESUME };
	if (report)
		report->length = 0;
	if (bad(self, lock, layout) || flags & ~(uint32_t)all_flags)
		return -EINVAL;
	if (pl_checked(self) && pl_held_elsewhere(pl_thread_domain(self), lock))
		return -EXDEV;
	uint64_t key = pl_rq_key(self, lock);
	int entry = pl_held_push(self, key);
	pl_compiler_fence(); /* R7 */
	int result = take(lock, layout) ? 0 : wait_for(self, lock, layout, key, entry, flags, timeout_ns, report);
	if (result)
		pl_held_pop(self, entry);
	return result;
}

INLINE int trylock(pl_thread *self, void *lock, int layout)
{
	if (bad(self, lock, layout))
		return -EINVAL;
	uint64_t key = pl_rq_key(self, lock);
	int entry = pl_held_push(self, key);
	pl_compiler_fence(); /* R7 */
	int result = take(lock, layout) ? 0 : take_slow(self, lock, layout);
	if (result == 0)
		return 0;
	bool mine = own(self, key, entry, bits(lock, layout));
	pl_held_pop(self, entry);
	return result == -EBUSY && mine ? -EDEADLK : result;
}

INLINE int unlock_slow(pl_thread *self, void *lock, int layout)
{
	if (bad(self, lock, layout))
		return -EINVAL;
	int entry = pl_held_find(self, pl_rq_key(self, lock));
	if (entry == PL_HELD_NONE || !(bits(lock, layout) & PL_Q_LOCKED))
		return -EPERM;
	bool kick = release(lock, layout);
	pl_compiler_fence(); /* R7 */
	pl_held_pop(self, entry);
	if (kick)
		pl_qspin_kick(self, lock, (uint32_t)layout, 1);
	return 0;
}

/* ---- exports: each function three times, once per layout ---- */

#define PL_DEFINE(prefix, type, LAYOUT)                                                                                   	int prefix##_lock_slow(pl_thread *self, type *lock)                                                               	{                                                                                                                 		return lock_slow(self, lock, LAYOUT, 0, PL_LIMITS, NULL);                                                 	}                                                                                                                                                                                                                                           	int prefix##_lock(pl_thread *self, type *lock)                                                                    	{                                                                                                                 		if (PL_UNLIKELY(bad(self, lock, LAYOUT)))                                                                 			return -EINVAL;                                                                                   		return pl_checked(self) ? lock_slow(self, lock, LAYOUT, 0, PL_LIMITS, NULL)                               					: prefix##_lock_inline(self, lock);                                               	}                                                                                                                                                                                                                                           	int prefix##_lock_wait(pl_thread *self, type *lock, uint32_t flags, int64_t timeout_ns, pl_deadlock *report)      	{                                                                                                                 		return lock_slow(self, lock, LAYOUT, flags, timeout_ns, report);                                          	}                                                                                                                                                                                                                                           	int prefix##_trylock(pl_thread *self, type *lock)                                                                 	{                                                                                                                 		if (PL_UNLIKELY(bad(self, lock, LAYOUT)))                                                                 			return -EINVAL;                                                                                   		return prefix##_try_inline(self, lock) ? 0 : trylock(self, lock, LAYOUT);                                 	}                                                                                                                                                                                                                                           	int prefix##_unlock_slow(pl_thread *self, type *lock) { return unlock_slow(self, lock, LAYOUT); }                                                                                                                                            	int prefix##_unlock(pl_thread *self, type *lock)                                                                  	{                                                                                                                 		return PL_UNLIKELY(bad(self, lock, LAYOUT)) ? -EINVAL : prefix##_unlock_inline(self, lock);               	}

PL_DEFINE(pl_rqspin, pl_rqspinlock, PL_LAYOUT_WORD)
PL_DEFINE(pl_rqspin_byte, pl_rqspinlock_byte, PL_LAYOUT_BYTE)
PL_DEFINE(pl_rqspin_wide, pl_rqspinlock_wide, PL_LAYOUT_WIDE)

int pl_thread_held(pl_thread *thread, uint64_t *keys)
{
	if (!thread || !keys)
		return -EINVAL;
	uint32_t n = pl_held_read(pl_thread_domain(thread), thread, keys);
	for (uint32_t i = 0; i < n; i++)
		keys[i] = pl_held_key(keys[i]);
	return (int)n;
}
