/* SPDX-License-Identifier: Apache-2.0 */
#include "checks.h"

#include "held.h"

#include <errno.h>
#include <panalock/qspinlock.h>

static bool holds(pl_domain *domain, const pl_thread *slot, uint64_t key)
{
	uint64_t entries[PL_HELD];
	for (uint32_t n = pl_held_read(domain, slot, entries); n;)
		if (pl_held_key(entries[--n]) == key)
			return true;
	return false;
}

pl_thread *pl_domain_holder(pl_domain *domain, const void *word)
{
	if (!pl_is_domain(domain) || !word)
		return NULL;
	uint64_t key = pl_key(domain, word);
	for (uint32_t i = 1; i < pl_slots_used(domain); i++)
		if (pl_load_acq(&pl_slot(domain, i)->state) == PL_SLOT_USED && /* T3: acquire, pairs with T2 */
		    holds(domain, pl_slot(domain, i), key))
			return pl_slot(domain, i);
	return NULL;
}

int pl_check_lock(pl_thread *self, const void *word)
{
	pl_domain *domain = pl_thread_domain(self);
	/* A record of a lock that is free is one whose release was not recorded: by the inline forms. */
	if (holds(domain, self, pl_key(domain, word)) && pl_load_rlx(word) & PL_Q_LOCKED)
		return -EDEADLK;
	return pl_held_elsewhere(domain, word) ? -EXDEV : 0;
}

void pl_check_locked(pl_thread *self, const void *word)
{
	uint64_t key = pl_key(pl_thread_domain(self), word);
	for (int stale; (stale = pl_held_find(self, key)) >= 0;)
		pl_held_pop(self, stale);
	(void)pl_held_push(self, key);
}

int pl_check_unlock(pl_thread *self, const void *word)
{
	int found = pl_held_find(self, pl_key(pl_thread_domain(self), word));
	if (found == PL_HELD_NONE)
		return -EPERM;
	pl_held_pop(self, found);
	return 0;
}
