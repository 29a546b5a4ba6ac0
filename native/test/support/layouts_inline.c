/* SPDX-License-Identifier: Apache-2.0 */
/* The inline forms, chosen by layout. */
#include "support.h"

int any_lock_inline(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_lock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_lock(self, BYTE(lock));
	default: return pl_qspin_wide_lock(self, WIDE(lock));
	}
}

int any_lock_wait_inline(int layout, pl_thread *self, any_lock *lock, uint32_t flags, int64_t timeout_ns)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_lock_wait(self, WORD(lock), flags, timeout_ns);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_lock_wait(self, BYTE(lock), flags, timeout_ns);
	default: return pl_qspin_wide_lock_wait(self, WIDE(lock), flags, timeout_ns);
	}
}

int any_trylock_inline(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_trylock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_trylock(self, BYTE(lock));
	default: return pl_qspin_wide_trylock(self, WIDE(lock));
	}
}

int any_release_inline(int layout, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_release_inline(WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_release_inline(BYTE(lock));
	default: return pl_qspin_wide_release_inline(WIDE(lock));
	}
}

int any_unlock_inline(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_unlock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_unlock(self, BYTE(lock));
	default: return pl_qspin_wide_unlock(self, WIDE(lock));
	}
}

int any_rq_lock_inline(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_rqspin_lock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_rqspin_byte_lock(self, BYTE(lock));
	default: return pl_rqspin_wide_lock(self, WIDE(lock));
	}
}

int any_rq_unlock_inline(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_rqspin_unlock(self, WORD(lock));
	case PL_LAYOUT_BYTE: return pl_rqspin_byte_unlock(self, BYTE(lock));
	default: return pl_rqspin_wide_unlock(self, WIDE(lock));
	}
}
