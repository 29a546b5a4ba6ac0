/* SPDX-License-Identifier: Apache-2.0 */
/* Which class a lock is of: the table of names and the classes. */
#include "lockdep.h"

#include <errno.h>
#include <panalock/shazptr.h>
#include <stdlib.h>
#include <string.h>

enum { buckets = 256 };

pl_dep_class *pl_dep_classes;

static pl_dep_entry *table[buckets];
static uint32_t next_class = 1, free_classes[PL_DEP_KNOWN], free_count;

pl_dep_entry **pl_dep_bucket(uintptr_t name) { return &table[(name >> 3 ^ name >> 11 ^ name >> 19) % buckets]; }

pl_dep_entry **pl_dep_next_bucket(pl_dep_entry **bucket)
{
	bucket = bucket ? bucket + 1 : table;
	return bucket < table + buckets ? bucket : NULL;
}

/* Inside a guard on the bucket, or under the lock. */
uint64_t pl_dep_walk(pl_dep_entry **bucket, uintptr_t name)
{
	/* K3: acquire, pairs with K2 */
	for (pl_dep_entry *e = __atomic_load_n(bucket, __ATOMIC_ACQUIRE); e; e = __atomic_load_n(&e->next, __ATOMIC_ACQUIRE)) /* K3 */
		if (e->name == name)
			return pl_load64_rlx(&e->stands_for);
	return 0;
}

uint64_t pl_dep_look_up(uintptr_t name)
{
	pl_dep_entry **bucket = pl_dep_bucket(name);
	pl_thread *self = pl_self();
	uint64_t found;
	if (self) {
		/* The guard names the bucket, not the entry: what is reached through it is not freed until it ends. An entry that
		 * was unlinked before is not reached (shazptr.h has the argument). */
		uint64_t guard = pl_shazptr_acquire_inline(self, (uintptr_t)bucket);
		found = pl_dep_walk(bucket, name);
		pl_shazptr_clear_inline(self, guard);
	} else { /* no slot, no guard: whoever unlinks has the lock */
		pthread_mutex_lock(&pl_dep_lock);
		found = pl_dep_walk(bucket, name);
		pthread_mutex_unlock(&pl_dep_lock);
	}
	return pl_dep_is_known(found) ? found : 0;
}

pl_dep_entry *pl_dep_entry_of(uintptr_t name)
{
	for (pl_dep_entry *e = *pl_dep_bucket(name); e; e = e->next)
		if (e->name == name)
			return e;
	return NULL;
}

/* From now on the name stands for that class. */
int pl_dep_set_class(uintptr_t name, uint64_t c)
{
	pl_dep_entry *e = pl_dep_entry_of(name);
	if (e) {
		pl_store64_rlx(&e->stands_for, c);
		return 0;
	}
	if (!(e = malloc(sizeof *e)))
		return -ENOMEM;
	*e = (pl_dep_entry){.next = *pl_dep_bucket(name), .name = name, .stands_for = c};
	__atomic_store_n(pl_dep_bucket(name), e, __ATOMIC_RELEASE); /* K2: release, the entry before its publication; pairs with K3 */
	return 0;
}

int pl_dep_add_class(uintptr_t key, const char *name, uint32_t level, uint64_t *out)
{
	uint32_t index = free_count ? free_classes[free_count - 1] : next_class;
	if (index >= PL_DEP_KNOWN)
		return -ENOSPC;
	pl_dep_class *c = &pl_dep_classes[index];
	uint64_t named = (uint64_t)(c->generation + 1) << 32 | index;
	int err = pl_dep_set_class(key, named); /* to readers a class of an even generation is none */
	if (err)
		return err;
	if (free_count)
		free_count--;
	else
		next_class++;
	c->said = 0;
	c->key = key;
	size_t n = strnlen(name, sizeof c->name - 3);
	memcpy(c->name, name, n);
	if (level) {
		c->name[n++] = '/';
		c->name[n++] = (char)('0' + level);
	}
	c->name[n] = 0;
	pl_store_rlx(&c->generation, c->generation + 1);
	*out = named;
	return 0;
}

void pl_dep_drop_class(uint32_t index)
{
	pl_dep_class *c = &pl_dep_classes[index];
	pl_store_rlx(&c->generation, c->generation + 1);
	pl_dep_forget_orders(index, next_class);
	free_classes[free_count++] = index;
}

uint32_t pl_dep_unlink(pl_dep_entry **bucket, uintptr_t from, uintptr_t to, pl_dep_entry **gone)
{
	uint32_t count = 0;
	for (pl_dep_entry **at = bucket; *at;) {
		pl_dep_entry *e = *at;
		if (e->name < from || e->name >= to) {
			at = &e->next;
			continue;
		}
		if (pl_dep_is_known(e->stands_for) && pl_dep_classes[pl_dep_index(e->stands_for)].key == e->name)
			pl_dep_drop_class(pl_dep_index(e->stands_for));
		__atomic_store_n(at, e->next, __ATOMIC_RELEASE); /* K2 */
		e->gone = *gone; /* who stands at it goes on along its old `next` */
		*gone = e;
		count++;
	}
	return count;
}

void pl_dep_free(pl_dep_entry **bucket, pl_dep_entry *gone)
{
	pl_thread *self = pl_self();
	if (!self)
		self = pl_domain_service(pl_domain_default());
	if (gone && self)
		pl_shazptr_synchronize(self, (uintptr_t)bucket, 0); /* readers of this bucket only */
	for (pl_dep_entry *next; gone; gone = next) {
		next = gone->gone;
		free(gone);
	}
}
