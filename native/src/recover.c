/* SPDX-License-Identifier: Apache-2.0 */
#include "recover.h"

#include "hazard.h"
#include "held.h"
#include "line.h"
#include "os/os.h"
#include "park.h"

#include <errno.h>
#include <panalock/qspinlock.h>

/* Which processes have ended, as far as somebody has asked: to ask takes system calls. */
typedef struct {
	enum { UNASKED = 0, ALIVE, GONE } of[PL_PROCESSES];
} answers;

/* True if the slot's process has ended, or, with @threads, its thread has. */
static bool orphaned(pl_domain *d, const pl_thread *slot, bool threads, answers *known)
{
	uint32_t process = pl_load_rlx(&slot->process) % PL_PROCESSES;
	pl_process *p = &d->processes[process];
	if (pl_load64_rlx(&p->incarnation) != pl_load64_rlx(&slot->incarnation))
		return true;
	if (known->of[process] == UNASKED)
		known->of[process] = pl_process_gone(d, process) ? GONE : ALIVE;
	if (known->of[process] == GONE)
		return true;
	uint32_t tid = threads ? pl_load_rlx(&slot->tid) : 0;
	return tid && !pl_os_thread_alive(pl_load_rlx(&p->pid), tid);
}

bool pl_slot_orphaned(pl_domain *d, const pl_thread *slot)
{
	answers none = {.of = {UNASKED}};
	return orphaned(d, slot, true, &none);
}

/*
 * Its last waiter's bits: PARKED, and PENDING if it slept @reserved. That may be another's by now, if this one's was void:
 * its owner sets it anew. @layout: the low bits of the key; a mutex keeps its bit where WIDE does, and has no PENDING.
 */
static void clear_bits(uint32_t *word, int layout, bool reserved)
{
	uint32_t parked = layout == PL_LAYOUT_BYTE ? PL_Q_BYTE_PARKED : PL_Q_PARKED;
	uint32_t pending = reserved && layout <= PL_LAYOUT_WIDE ? PL_Q_PENDING : 0;
	pl_and_ar(&word[layout >= PL_LAYOUT_WIDE], ~(parked | pending)); /* B2 */
}

/* Out of the line of a lock. A lock of the pool is told when that was its last waiter; any other one's memory may be gone. */
static void leave_bucket(pl_domain *d, uint32_t number)
{
	pl_node *node = pl_node_at(d, number);
	uint64_t key = node->key;
	uint32_t watch = 0, watch_was = 0;
	pl_line_guard guard;
	pl_line_lock(&guard, pl_slot(d, 0), pl_line_of(d, key));
	if (pl_node_in_line(node)) {
		pl_line_remove(&guard, number);
		if (pl_line_find(&guard, 0, key))
			watch = pl_line_new_watch(&guard, key, number, &watch_was);
		else if ((key & ~3ull) >= d->pool_offset && key < d->size)
			clear_bits(pl_key_word(d, key), (int)(key & 3), node->kind & PL_NODE_RESERVED);
	}
	pl_store_rlx(&node->state, PL_NODE_IDLE);
	pl_line_unlock(&guard);
	if (watch)
		pl_node_wake(d, watch, watch_was);
}

/* Out of a wait queue; a wake-up that it was chosen for goes to the next. False: the queue is not within our reach. */
static bool leave_queue(pl_domain *d, uint32_t number)
{
	pl_node *node = pl_node_at(d, number);
	pl_waitq *queue = pl_key_word(d, node->key);
	if (!queue)
		return false;
	bool exclusive = node->kind & PL_NODE_EXCLUSIVE, chosen;
	pl_line_guard guard;
	pl_line_lock(&guard, pl_slot(d, 0), queue);
	chosen = !pl_node_in_line(node);
	if (!chosen)
		pl_line_remove(&guard, number);
	pl_store_rlx(&node->state, PL_NODE_IDLE);
	pl_line_unlock(&guard);
	if (chosen && exclusive)
		pl_waitq_wake(pl_slot(d, 0), queue, 1);
	return true;
}

/*
 * True for a node that may stand in a spinners' queue, where its neighbours point at it. A mutex's and an OSQ's waiters
 * (low bits of the key 3) do not say so: one that is awake may.
 */
static bool may_be_queued(const pl_node *node)
{
	return node->key && pl_load_acq(&node->state) == PL_NODE_IDLE && /* S2 */
	       ((node->key & 3) == 3 || (node->kind & PL_NODE_QUEUED && !pl_node_at_queue(node)));
}

/* Takes a dead thread's nodes out of wherever they stand. False if one must stay. */
static bool clean(pl_domain *d, pl_thread *slot)
{
	for (uint32_t level = 0; level < PL_NESTING; level++) {
		pl_node *node = &slot->nodes[level];
		uint32_t number = pl_node_number(slot, level);
		if (may_be_queued(node))
			return false;
		if (node->key && pl_node_at_queue(node)) {
			if (!leave_queue(d, number))
				return false;
		} else if (pl_node_in_line(node)) {
			leave_bucket(d, number);
		}
		pl_store_rlx(&node->state, PL_NODE_IDLE);
		pl_store64_rlx(&node->key, 0);
		pl_store_rlx(&node->kind, 0);
		pl_store_rlx(&node->wait, (pl_load_rlx(&node->wait) + 1) & ~1u); /* nobody waits here any more */
	}
	return true;
}

static uint32_t recover(pl_domain *d, bool threads)
{
	uint32_t freed = 0;
	answers known = {.of = {UNASKED}};
	for (uint32_t i = 1; i < pl_slots_used(d); i++) {
		pl_thread *slot = pl_slot(d, i);
		/* A slot that is CLAIMED may be a killed registrar's: its entry in `processes` is not known. It stays. */
		if (pl_load_rlx(&slot->state) != PL_SLOT_USED || !orphaned(d, slot, threads, &known) ||
		    !pl_cas_acq(&slot->state, PL_SLOT_USED, PL_SLOT_CLAIMED)) /* T1 */
			continue;
		answers anew = {.of = {UNASKED}}; /* it may have become another thread's since */
		bool free = orphaned(d, slot, threads, &anew) && clean(d, slot);
		if (free) {
			pl_held_reset(slot);
			pl_hazard_forget(slot);
			pl_hazard_unlist(d, slot);
			pl_store_rlx(&slot->depth, 0);
			freed++;
		}
		pl_store_rel(&slot->state, free ? PL_SLOT_FREE : PL_SLOT_USED); /* T2 */
	}
	return freed;
}

uint32_t pl_recover_slots(pl_domain *d) { return recover(d, true); }

uint32_t pl_recover_slots_sometimes(pl_domain *d, bool threads, uint64_t interval_ns)
{
	uint64_t last = pl_load64_rlx(&d->reaped);
	if (last && pl_os_now() - last < interval_ns)
		return 0;
	uint32_t freed = recover(d, threads);
	if (!freed)
		pl_store64_rlx(&d->reaped, pl_os_now());
	return freed;
}

int pl_domain_recover(pl_domain *domain, int64_t interval_ns)
{
	if (!pl_is_domain(domain) || interval_ns < 0)
		return -EINVAL;
	return (int)pl_recover_slots_sometimes(domain, true, (uint64_t)interval_ns);
}

bool pl_recover_word(pl_domain *d, uint32_t word[2])
{
	pl_recover_slots(d);
	uint64_t key = pl_key(d, word);
	for (uint32_t n = PL_NESTING; n < pl_slots_used(d) * PL_NESTING; n++)
		if ((pl_node_at(d, n)->key & ~3ull) == key && pl_load_acq(&pl_node_slot(d, n)->state) != PL_SLOT_FREE) /* T3 */
			return false;
	for (int i = 0; i < 2; i++) {
		uint32_t seen = pl_load_rlx(&word[i]);
		if (seen & PL_Q_LOCKED || !pl_cas_rlx(&word[i], seen, seen & PL_Q_POISON))
			return false;
	}
	return true;
}
