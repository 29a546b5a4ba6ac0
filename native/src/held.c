/* SPDX-License-Identifier: Apache-2.0 */
#include "held.h"

/* ---- the tables that a domain lends ---- */

static pl_overflow *table_at(pl_domain *d, uint32_t index)
{
	return (pl_overflow *)(void *)((char *)d + d->tables_offset) + index;
}

/* The table that a slot has, or null. */
static pl_overflow *table_of(pl_domain *d, const pl_thread *slot)
{
	uint32_t number = pl_load_rlx(&slot->held_table);
	return number && number <= d->tables ? table_at(d, number - 1) : NULL;
}

static pl_overflow *borrow(pl_domain *d, pl_thread *self)
{
	for (uint32_t i = 0; i < d->tables; i++) {
		/* Its entries are zero. E1: acquire, pairs with E2 */
		if (!pl_load_rlx(&table_at(d, i)->owner) && pl_cas_acq(&table_at(d, i)->owner, 0, self->index)) {
			pl_store_rlx(&self->held_table, i + 1);
			return table_at(d, i);
		}
	}
	return NULL;
}

static void give_back(pl_domain *d, pl_thread *self)
{
	/* A handler may do the same at any moment. */
	uint32_t number = pl_load_rlx(&self->held_table);
	if (number && number <= d->tables && pl_cas_rlx(&self->held_table, number, 0))
		pl_store_rel(&table_at(d, number - 1)->owner, 0); /* E2: release, pairs with E1 */
}

/* ---- the stack ---- */

/* Null where no table is. */
static uint64_t *entry_at(pl_domain *d, const pl_thread *slot, uint32_t index)
{
	if (index < PL_HELD_INLINE)
		return (uint64_t *)(uintptr_t)&slot->held[index];
	pl_overflow *table = table_of(d, slot);
	return table ? &table->held[index - PL_HELD_INLINE] : NULL;
}

/* Where the next entry goes. */
static uint32_t top_of(const pl_thread *self)
{
	uint32_t top = pl_load_rlx(&self->held_top);
	return top ? top : pl_load64_rlx(&self->held[0]) != 0;
}

static void set_top(pl_thread *self, uint32_t top)
{
	pl_compiler_fence(); /* C3: compiler fence: an entry above the top is zero whenever a handler looks; pairs with C4 */
	pl_store_rlx(&self->held_top, top > 1 ? top : 0);
	pl_compiler_fence(); /* C4: compiler fence: the place is taken before the entry is written; pairs with C3 */
}

int pl_held_push(pl_thread *self, uint64_t key)
{
	pl_domain *d = pl_thread_domain(self);
	uint32_t level = pl_load_rlx(&self->depth), top = top_of(self);
	if (level < PL_NESTING && top < PL_HELD) {
		set_top(self, top + 1); /* before the table is looked for: a handler may give an unused one back */
		if (top < PL_HELD_INLINE || table_of(d, self) || (top == PL_HELD_INLINE && borrow(d, self))) {
			pl_store64_rlx(entry_at(d, self, top), key | level);
			return (int)top;
		}
		set_top(self, top);
	}
	pl_store_rlx(&self->held_unrecorded, pl_load_rlx(&self->held_unrecorded) + 1);
	return PL_HELD_UNRECORDED;
}

int pl_held_find(const pl_thread *self, uint64_t key)
{
	pl_domain *d = pl_thread_domain((pl_thread *)(uintptr_t)self);
	for (uint32_t i = top_of(self); i-- > 0;) {
		uint64_t *entry = entry_at(d, self, i);
		if (entry && pl_held_key(pl_load64_rlx(entry)) == key)
			return (int)i;
	}
	return pl_load_rlx(&self->held_unrecorded) ? PL_HELD_UNRECORDED : PL_HELD_NONE;
}

bool pl_held_other(const pl_thread *self, uint64_t key, int but)
{
	pl_domain *d = pl_thread_domain((pl_thread *)(uintptr_t)self);
	for (uint32_t i = top_of(self); i-- > 0;) {
		uint64_t *at = entry_at(d, self, i), entry = at ? pl_load64_rlx(at) : 0;
		if (entry && (int)i != but && (!key || pl_held_key(entry) == key))
			return true;
	}
	return false;
}

void pl_held_pop(pl_thread *self, int found)
{
	if (found == PL_HELD_UNRECORDED)
		pl_store_rlx(&self->held_unrecorded, pl_load_rlx(&self->held_unrecorded) - 1);
	if (found < 0)
		return;
	pl_domain *d = pl_thread_domain(self);
	uint32_t top = top_of(self), i = (uint32_t)found;
	for (; i + 1 < top && entry_at(d, self, i + 1); i++) {
		pl_store64_rlx(entry_at(d, self, i), pl_load64_rlx(entry_at(d, self, i + 1)));
		pl_compiler_fence(); /* C3 */
	}
	pl_store64_rlx(entry_at(d, self, i), 0);
	set_top(self, i);
	if (i <= PL_HELD_INLINE && top > PL_HELD_INLINE)
		give_back(d, self);
}

bool pl_held_any(const pl_thread *self) { return top_of(self) || pl_load_rlx(&self->held_unrecorded); }

void pl_held_reset(pl_thread *slot)
{
	pl_domain *d = pl_thread_domain(slot);
	pl_overflow *table = table_of(d, slot);
	for (int i = 0; table && i < PL_HELD_MORE; i++)
		pl_store64_rlx(&table->held[i], 0);
	if (table && pl_load_rlx(&table->owner) == slot->index)
		give_back(d, slot);
	for (int i = 0; i < PL_HELD_INLINE; i++)
		pl_store64_rlx(&slot->held[i], 0);
	pl_store_rlx(&slot->held_table, 0);
	pl_store_rlx(&slot->held_top, 0);
	pl_store_rlx(&slot->held_unrecorded, 0);
}

uint32_t pl_held_read(pl_domain *domain, const pl_thread *slot, uint64_t entries[PL_HELD])
{
	uint32_t n = 0, readable = table_of(domain, slot) ? PL_HELD : PL_HELD_INLINE;
	for (uint32_t i = 0; i < readable; i++) {
		uint64_t *at = entry_at(domain, slot, i), entry = at ? pl_load64_rlx(at) : 0;
		if (entry)
			entries[n++] = entry;
	}
	return n;
}
