/* SPDX-License-Identifier: Apache-2.0 */
/* The inline forms, chosen by layout. */
#include "support.h"

int any_lock_inline(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_lock(self, &lock->word);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_lock(self, &lock->byte);
	default: return pl_qspin_wide_lock(self, &lock->wide);
	}
}

int any_trylock_inline(int layout, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_trylock_inline(&lock->word);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_trylock_inline(&lock->byte);
	default: return pl_qspin_wide_trylock_inline(&lock->wide);
	}
}

int any_unlock_inline(int layout, pl_thread *self, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_unlock(self, &lock->word);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_unlock(self, &lock->byte);
	default: return pl_qspin_wide_unlock(self, &lock->wide);
	}
}
