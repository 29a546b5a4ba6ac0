/* SPDX-License-Identifier: Apache-2.0 */
/* The exported functions, chosen by layout. */
#define PL_NO_INLINE
#include "support.h"

#include <stdio.h>

const char *const layout_names[layouts] = {"WORD", "BYTE", "WIDE"};

#define CHOOSE(layout, lock, word_call, byte_call, wide_call)                                                             \
	((layout) == PL_LAYOUT_WORD ? word_call(WORD(lock))                                                            \
	 : (layout) == PL_LAYOUT_BYTE ? byte_call(BYTE(lock))                                                          \
				      : wide_call(WIDE(lock)))

int any_init(int layout, any_lock *lock)
{
	return CHOOSE(layout, lock, pl_qspin_init, pl_qspin_byte_init, pl_qspin_wide_init);
}

int any_lock_it(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_lock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_lock(self, BYTE(lock));
	default: return pl_qspin_wide_lock(self, WIDE(lock));
	}
}

int any_lock_wait(int layout, pl_thread *self, any_lock *lock, uint32_t flags, int64_t timeout_ns)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_lock_wait(self, WORD(lock), flags, timeout_ns);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_lock_wait(self, BYTE(lock), flags, timeout_ns);
	default: return pl_qspin_wide_lock_wait(self, WIDE(lock), flags, timeout_ns);
	}
}

int any_trylock(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_trylock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_trylock(self, BYTE(lock));
	default: return pl_qspin_wide_trylock(self, WIDE(lock));
	}
}

int any_unlock(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_unlock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_unlock(self, BYTE(lock));
	default: return pl_qspin_wide_unlock(self, WIDE(lock));
	}
}

int any_is_locked(int layout, const any_lock *lock)
{
	return CHOOSE(layout, lock, pl_qspin_is_locked, pl_qspin_byte_is_locked, pl_qspin_wide_is_locked);
}

int any_is_contended(int layout, const any_lock *lock)
{
	return CHOOSE(layout, lock, pl_qspin_is_contended, pl_qspin_byte_is_contended, pl_qspin_wide_is_contended);
}

uint32_t any_bits(int layout, const any_lock *lock)
{
	uint32_t bits = pl_load_rlx(&lock->words[0]);
	return layout == PL_LAYOUT_WIDE ? bits | pl_load_rlx(&lock->words[1]) : bits;
}

uint32_t any_tail(int layout, const any_lock *lock)
{
	uint32_t bits = any_bits(layout, lock);
	return layout == PL_LAYOUT_BYTE ? (bits & PL_Q_BYTE_TAIL_MASK) >> PL_Q_BYTE_TAIL_SHIFT
					: (bits & PL_Q_TAIL_MASK) >> PL_Q_TAIL_SHIFT;
}

uint32_t parked_bit(int layout) { return layout == PL_LAYOUT_BYTE ? PL_Q_BYTE_PARKED : PL_Q_PARKED; }

bool is_parked(const pl_thread *slot)
{
	for (int level = 0; level < PL_NESTING; level++)
		if (pl_load_rlx(&slot->nodes[level].state) == PL_NODE_SLEEPING)
			return true;
	return false;
}

/* A waiter that stands in the line may still have its last look at the lock before it. @tid 0: the slot names no thread. */
static bool sleeps_in_the_kernel(uint32_t tid)
{
	if (!tid)
		return true;
	char path[32], state = 0;
	snprintf(path, sizeof path, "/proc/%u/stat", tid);
	FILE *f = fopen(path, "re");
	bool read = f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
	if (f)
		fclose(f);
	return read && state == 'S';
}

bool is_asleep_at(int layout, const any_lock *lock, const pl_thread *slot)
{
	return is_parked(slot) && (any_bits(layout, lock) & (parked_bit(layout) | PL_Q_STANDBY)) == parked_bit(layout) &&
	       sleeps_in_the_kernel(pl_load_rlx(&slot->tid)) && is_parked(slot);
}

int any_rq_lock(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_rqspin_lock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_rqspin_byte_lock(self, BYTE(lock));
	default: return pl_rqspin_wide_lock(self, WIDE(lock));
	}
}

int any_rq_lock_wait(int layout, pl_thread *self, any_lock *lock, uint32_t flags, int64_t timeout_ns, pl_deadlock *report)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_rqspin_lock_wait(self, WORD(lock), flags, timeout_ns, report);
	case PL_LAYOUT_BYTE: return pl_rqspin_byte_lock_wait(self, BYTE(lock), flags, timeout_ns, report);
	default: return pl_rqspin_wide_lock_wait(self, WIDE(lock), flags, timeout_ns, report);
	}
}

int any_rq_trylock(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_rqspin_trylock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_rqspin_byte_trylock(self, BYTE(lock));
	default: return pl_rqspin_wide_trylock(self, WIDE(lock));
	}
}

int any_rq_unlock(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_rqspin_unlock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_rqspin_byte_unlock(self, BYTE(lock));
	default: return pl_rqspin_wide_unlock(self, WIDE(lock));
	}
}
