/* SPDX-License-Identifier: Apache-2.0 */
/* Uncontended: lock and unlock on one thread, nothing else. */
#define _GNU_SOURCE
#include <errno.h>

#include "locks.h"
#include "work.h"

/*
 * The loop only counts: what is inside a pair are two atomic accesses, which the compiler neither drops nor merges.
 * The function is kept whole, so that every lock's loop starts at an aligned address of its own.
 */
#define X(name, flags, type, init, lock, unlock)                                                                    \
	static struct {                                                                                             \
		type l;                                                                                             \
	} __attribute__((aligned(128))) pairs_lock_##name = { init };                                               \
	__attribute__((noinline, aligned(64))) static void pairs_##name(pl_thread *self, uint64_t pairs)            \
	{                                                                                                           \
		type *l = &pairs_lock_##name.l;                                                                     \
		plb_node node;                                                                                      \
		(void)self, (void)node;                                                                             \
		for (uint64_t i = 0; i < pairs; i++) {                                                              \
			lock;                                                                                       \
			unlock;                                                                                     \
		}                                                                                                   \
	}
PLB_LOCKS(X)
#undef X

typedef void (*pairs_loop)(pl_thread *self, uint64_t pairs);

static const pairs_loop loops[] = {
#define X(name, flags, type, init, lock, unlock) pairs_##name,
	PLB_LOCKS(X)
#undef X
};

int plb_pairs(uint32_t lock, uint64_t pairs, uint64_t *elapsed_ns)
{
	if (lock >= plb_locks || !pairs || !elapsed_ns)
		return -EINVAL;
	if (plb_lock_flags(lock) & PLB_ABSENT)
		return -ENOSYS;
	pl_thread *self = pl_self();
	if (!self)
		return -ENOSPC;
	uint64_t from = plb_now();
	loops[lock](self, pairs);
	*elapsed_ns = plb_now() - from;
	return 0;
}

uint32_t plb_version(void) { return PLB_VERSION; }

const char *plb_lock_name(uint32_t lock)
{
	static const char *const names[] = {
#define X(name, flags, type, init, lock, unlock) #name,
		PLB_LOCKS(X)
#undef X
	};
	return lock < plb_locks ? names[lock] : NULL;
}

uint32_t plb_lock_flags(uint32_t lock)
{
	static const uint32_t all[] = {
#define X(name, flags, type, init, lock, unlock) flags,
		PLB_LOCKS(X)
#undef X
	};
	return lock < plb_locks ? all[lock] : 0;
}
