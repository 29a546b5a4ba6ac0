/* SPDX-License-Identifier: Apache-2.0 */
#define PL_NO_INLINE /* this file defines the exported form */
#include "domain.h"

#include "held.h"
#include "hazard.h"
#include "os/os.h"
#include "os/pthread.h"
#include "recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The slots that this thread got by pl_self_in(), most programs' only one first. Touched by this thread and its signal
 * handlers; an entry is valid once its domain is set. Only a pointer is thread-local: a process has little static
 * thread-local memory for libraries loaded late, and may load this one several times (class loaders). */
enum { own_max = 32 };
typedef struct {
	pl_domain *domain;
	pl_thread *slot;
	uint32_t tid; /* what the slot says while it is this thread's: another domain may be mapped at a closed one's place */
} own_slot;
static __thread own_slot *own __attribute__((tls_model("initial-exec"))); /* own_max entries, or null */

__thread pl_thread *pl_self_found __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- registering ---- */

/* Takes a slot in state @from; on success it is CLAIMED by us. */
static bool claim(pl_thread *slot, uint32_t from)
{
	return pl_load_rlx(&slot->state) == from &&
	       pl_cas_acq(&slot->state, from, PL_SLOT_CLAIMED); /* T1: acquire, pairs with T2 */
}

static pl_thread *free_slot(pl_domain *d)
{
	uint32_t usable = d->slots - 1, start = pl_load_rlx(&d->slot_hint);
	for (uint32_t n = 0; n < usable; n++) {
		pl_thread *slot = pl_slot(d, 1 + (start + n) % usable);
		if (claim(slot, PL_SLOT_FREE)) {
			pl_store_rlx(&d->slot_hint, slot->index);
			return slot;
		}
	}
	return NULL;
}

/* @patient: do not look for slots of dead threads if that was done just now; it takes system calls for each slot. */
static pl_thread *find_slot(pl_domain *d, bool patient)
{
	enum { interval_ns = 10000000 };
	pl_thread *slot = free_slot(d);
	while (!slot && (patient ? pl_recover_slots_sometimes(d, true, interval_ns) : pl_recover_slots(d)))
		slot = free_slot(d);
	return slot;
}

/* Before the slot is USED: whoever looks at USED slots looks far enough. */
static void use_slot(pl_domain *d, uint32_t index)
{
	uint32_t seen;
	/* T4: release, pairs with T5 */
	while (seen = pl_load_rlx(&d->slots_used), seen <= index && !pl_cas_ar(&d->slots_used, seen, index + 1))
		;
}

static int register_slot(pl_domain *domain, uint32_t tid, bool patient, pl_thread **out)
{
	if (!pl_is_domain(domain) || !out)
		return -EINVAL;
	if (pl_load_rlx(&domain->closed))
		return -ESHUTDOWN;
	pl_thread *slot = find_slot(domain, patient);
	if (!slot)
		return -ENOSPC;
	uint32_t process = pl_domain_process(domain);
	pl_store_rlx(&slot->process, process); /* those who look for orphans read these at any time */
	pl_store64_rlx(&slot->incarnation, pl_load64_rlx(&domain->processes[process].incarnation));
	pl_store_rlx(&slot->tid, tid);
	pl_store_rlx(&slot->depth, 0);
	slot->heat = 0;
	slot->acquired = 0;
	pl_store_rlx(&slot->interrupted, 0);
	pl_held_reset(slot);
	pl_hazard_forget(slot); /* a dead owner's guards */
	slot->name[0] = 0;
	use_slot(domain, slot->index);
	pl_store_rel(&slot->state, PL_SLOT_USED); /* T2: release, pairs with T1 */
	*out = slot;
	return 0;
}

int pl_thread_register(pl_domain *domain, uint32_t tid, pl_thread **out)
{
	return register_slot(domain, tid, false, out);
}

int pl_thread_release(pl_thread *thread)
{
	if (!thread || thread->index == 0)
		return -EINVAL;
	if (pl_load_rlx(&thread->depth) || pl_held_any(thread) || pl_hazard_active(thread))
		return -EBUSY;
	if (thread == pl_self_found)
		pl_self_found = NULL;
	enum { tries = 1000 };
	for (int i = 0; !claim(thread, PL_SLOT_USED); i++) {
		if (pl_load_rlx(&thread->state) == PL_SLOT_FREE)
			return -EINVAL;
		if (i == tries)
			return -EBUSY;
		pl_os_yield(); /* somebody looks whether its owner is gone */
	}
	pl_hazard_unlist(pl_thread_domain(thread), thread);
	pl_store_rel(&thread->state, PL_SLOT_FREE); /* T2 */
	return 0;
}

/* ---- the calling thread's own slots ---- */

/* True if the entry's slot is this thread's still; a smaller domain may be mapped where the slot's was. */
static inline bool is_own(const own_slot *o)
{
	return (uint64_t)((char *)o->slot - (char *)o->domain) < o->domain->buckets_offset && pl_load_rlx(&o->slot->tid) == o->tid;
}

static void release_own(void *unused)
{
	(void)unused;
	own_slot *entries = own;
	/* Whoever closes a domain has seen its users finish, but not a thread's end: that may come at the same time. */
	pl_domains_hold();
	for (int i = 0; entries && i < own_max; i++) {
		own_slot *o = &entries[i];
		if (!o->domain)
			continue;
		pl_thread *slot = pl_domain_is_open(o->domain) && is_own(o) ? o->slot : NULL;
		o->domain = NULL;
		if (slot) {
			/* A lock held at thread exit stays locked, its record ends; guards end. */
			pl_hazard_forget(slot);
			pl_held_reset(slot);
			pl_thread_release(slot);
		}
	}
	pl_domains_let_go();
	own = NULL; /* a later destructor that locks begins anew */
	pl_self_found = NULL;
	free(entries);
}

static pl_thread *own_slot_of(pl_domain *domain)
{
	for (int i = 0; own && i < own_max; i++)
		if (own[i].domain == domain && is_own(&own[i])) {
			own[i].tid = pl_os_tid();
			return own[i].slot;
		}
	return NULL;
}

static void after_fork(void)
{
	pl_self_found = NULL;
	pl_os_register_fences();
	pl_domains_each_after_fork(own_slot_of);
	for (int i = 0; own && i < own_max; i++)
		if (own[i].domain && (!pl_domain_is_open(own[i].domain) || own[i].domain->flags & PL_DOMAIN_SHARED))
			own[i].domain = NULL; /* closed before, or the slot is the parent's */
}

static void once_init(void)
{
	pthread_key_create(&exit_key, release_own);
	pthread_atfork(NULL, NULL, after_fork);
}

void pl_threads_prepare(void) { pthread_once(&once, once_init); }

/* The forked child's copy of a private domain: only the forking thread is left. */
void pl_domain_after_fork(pl_domain *domain, pl_thread *keep)
{
	for (uint32_t i = 1; i < domain->slots; i++) {
		pl_thread *slot = pl_slot(domain, i);
		if (slot == keep)
			continue;
		for (int level = 0; level < PL_NESTING; level++) {
			slot->nodes[level].state = PL_NODE_IDLE;
			slot->nodes[level].wait += slot->nodes[level].wait & 1;
		}
		slot->depth = 0;
		pl_held_reset(slot);
		slot->state = PL_SLOT_FREE;
	}
	pl_hazards_after_fork(domain, keep);
	pl_bucket *buckets = (pl_bucket *)(void *)((char *)domain + domain->buckets_offset);
	for (int i = 0; i < PL_BUCKETS; i++)
		buckets[i] = (pl_bucket){0}; /* every waiter was one of the threads that are gone */
	if (keep) {
		keep->tid = pl_os_tid();
		keep->incarnation = pl_os_incarnation(pl_os_pid());
	}
}

static pl_thread *register_own(pl_domain *domain)
{
	own_slot *entry = NULL;
	if (!own && !(own = calloc(own_max, sizeof *own)))
		return NULL;
	for (int i = 0; i < own_max && !entry; i++)
		if (!own[i].domain || own[i].domain == domain || !pl_domain_is_open(own[i].domain))
			entry = &own[i];
	if (!entry)
		return NULL;
	pl_os_signals saved;
	pl_os_block_signals(&saved); /* a handler that locks must not register a second slot meanwhile */
	pl_thread *slot = NULL;
	if (register_slot(domain, pl_os_tid(), true, &slot) == 0) {
		entry->slot = slot;
		entry->tid = slot->tid;
		entry->domain = domain;
	}
	/* Set again whenever a slot is registered, so that a later round of destructors releases it too; after the last
	 * round the slot is reused once its thread is gone. Without a slot the table is to be freed. */
	pthread_setspecific(exit_key, own);
	pl_os_restore_signals(&saved);
	return slot;
}

pl_thread *pl_self_in(pl_domain *domain)
{
	for (int i = 0; PL_LIKELY(own != NULL) && i < own_max; i++)
		if (PL_LIKELY(own[i].domain == domain) && domain && PL_LIKELY(is_own(&own[i])))
			return own[i].slot;
	return domain ? register_own(domain) : NULL;
}

pl_thread *pl_self(void)
{
	/* The default domain is never closed: what was found stays right until the thread ends. */
	if (PL_UNLIKELY(!pl_self_found))
		pl_self_found = pl_self_in(pl_domain_default());
	return pl_self_found;
}

pl_thread *pl_domain_service(pl_domain *domain) { return pl_is_domain(domain) ? pl_slot(domain, 0) : NULL; }

/* ---- names and interruption ---- */

int pl_thread_set_name(pl_thread *thread, const char *name)
{
	if (!thread || !name)
		return -EINVAL;
	size_t n = strnlen(name, PL_NAME_BYTES - 1);
	while (n && name[n] && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--; /* do not cut a character in two */
	memcpy(thread->name, name, n);
	memset(thread->name + n, 0, PL_NAME_BYTES - n);
	return 0;
}

int pl_thread_interrupt(pl_thread *thread)
{
	if (!thread || thread->index == 0)
		return -EINVAL;
	pl_domain *domain = pl_thread_domain(thread);
	pl_store_rel(&thread->interrupted, 1); /* I3: release, pairs with I4 */
	pl_fence(); /* I1: full fence, the flag before the look at the nodes; pairs with I2 */
	for (uint32_t level = 0; level < PL_NESTING; level++) {
		pl_node *node = &thread->nodes[level];
		uint32_t was = pl_load_rlx(&node->state);
		if ((was == PL_NODE_SLEEPING || was == PL_NODE_PARKED) && pl_cas_ar(&node->state, was, PL_NODE_INTERRUPTED)) /* S3 */
			pl_node_wake(domain, pl_node_number(thread, level), was);
	}
	return 0;
}

int pl_thread_clear_interrupt(pl_thread *thread)
{
	if (!thread)
		return -EINVAL;
	return pl_load_rlx(&thread->interrupted) && pl_swap_ar(&thread->interrupted, 0); /* I4 */
}
