/* SPDX-License-Identifier: Apache-2.0 */
#include "checks.h"

#include <errno.h>

static bool cas64(uint64_t *p, uint64_t expected, uint64_t desired)
{
	return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, /* H1: pairs with itself */
					   __ATOMIC_RELAXED);
}

static bool holds(const pl_thread *slot, uint64_t key)
{
	for (int i = 0; i < PL_HELD; i++)
		if (pl_load64_rlx(&slot->held[i]) == key)
			return true;
	return false;
}

pl_thread *pl_domain_holder(pl_domain *domain, const void *word)
{
	if (!pl_is_domain(domain) || !word)
		return NULL;
	uint64_t key = pl_key(domain, word);
	for (uint32_t i = 1; i < domain->slots; i++)
		if (pl_load_acq(&pl_slot(domain, i)->state) == PL_SLOT_USED && /* T3: acquire, pairs with T2 */
		    holds(pl_slot(domain, i), key))
			return pl_slot(domain, i);
	return NULL;
}

int pl_check_lock(pl_thread *self, const void *word)
{
	pl_domain *domain = pl_thread_domain(self);
	if (holds(self, pl_key(domain, word)))
		return -EDEADLK;
	return pl_held_elsewhere(domain, word) ? -EXDEV : 0;
}

void pl_check_locked(pl_thread *self, const void *word)
{
	uint64_t key = pl_key(pl_thread_domain(self), word);
	pl_add_ar(&self->held_count, 1); /* H1: a counter, pairs with itself */
	for (int i = 0; i < PL_HELD; i++)
		if (cas64(&self->held[i], 0, key))
			return;
}

int pl_check_unlock(pl_thread *self, const void *word)
{
	uint64_t key = pl_key(pl_thread_domain(self), word);
	bool found = false;
	uint32_t recorded = 0;
	for (int i = 0; i < PL_HELD; i++) {
		recorded += pl_load64_rlx(&self->held[i]) != 0;
		found = found || cas64(&self->held[i], key, 0);
	}
	if (!found && pl_load_rlx(&self->held_count) <= recorded)
		return -EPERM;
	pl_sub_rel(&self->held_count, 1); /* H1 */
	return 0;
}
