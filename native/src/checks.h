/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug checks: a PL_DOMAIN_CHECKS domain keeps a record of every lock held in the slots' held tables (held.h), where
 * rqspinlock keeps its own in any domain. A thread that holds locks beyond the table's room is trusted.
 */
#ifndef PL_SRC_CHECKS_H
#define PL_SRC_CHECKS_H

#include "domain.h"

/* True if calls with this slot are to be checked. */
static inline bool pl_checked(const pl_thread *self)
{
	return PL_UNLIKELY(__atomic_load_n(&pl_checks_wanted, __ATOMIC_RELAXED)) && self && self->index &&
	       pl_thread_domain((pl_thread *)(uintptr_t)self)->flags & PL_DOMAIN_CHECKS;
}

/* 0; -EDEADLK (this thread holds it); -EXDEV (held with another domain). */
int pl_check_lock(pl_thread *self, const void *word);
void pl_check_locked(pl_thread *self, const void *word);
/* 0, and the record is gone; -EPERM (not this thread's). */
int pl_check_unlock(pl_thread *self, const void *word);

#endif
