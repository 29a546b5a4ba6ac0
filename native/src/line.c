/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include "park.h"

#include <errno.h>
#include <panalock/qspinlock.h>

/* ---- the line's lock ---- */

static void link_node(pl_line_guard *guard, uint32_t number);
static uint32_t first_of_crew(pl_line_guard *guard, uint64_t key, uint32_t like);

/* A bucket's line is made anew from its nodes. Everybody looks again, since a wake-up may be missing too. */
static void rebuild_bucket(pl_line_guard *guard)
{
	pl_domain *d = guard->domain;
	for (uint32_t n = PL_NESTING; n < pl_slots_used(d) * PL_NESTING; n++) {
		pl_node *node = pl_node_at(d, n);
		if (pl_node_in_line(node) && !pl_node_at_queue(node) && node->key && pl_line_of(d, node->key) == guard->line)
			link_node(guard, n);
	}
	for (uint32_t n = guard->line->head; n; n = pl_node_at(d, n)->next) {
		pl_node *node = pl_node_at(d, n);
		if (first_of_crew(guard, node->key, n) == n)
			pl_store_rlx(&node->kind, node->kind | PL_NODE_WATCH);
		uint32_t was = pl_or_ar(&node->state, 0); /* S3 */
		if (was == PL_NODE_REARM || was == PL_NODE_INTERRUPTED || pl_cas_ar(&node->state, was, PL_NODE_REARM)) /* S3 */
			pl_node_wake(d, n, was);
	}
}

/* A wait queue is emptied: what its waiters wait for may have happened. Each looks, and joins again if it has not. */
static void empty_queue(pl_line_guard *guard, uint64_t key)
{
	pl_domain *d = guard->domain;
	for (uint32_t n = PL_NESTING; n < pl_slots_used(d) * PL_NESTING; n++) {
		pl_node *node = pl_node_at(d, n);
		if (node->key != key || !pl_node_at_queue(node) || !pl_node_in_line(node))
			continue;
		pl_store_rlx(&node->next, 0);
		node->prev = 0;
		pl_node_wake(d, n, pl_swap_ar(&node->state, PL_NODE_CHOSEN)); /* S1 */
	}
}

/*
 * The line's holder was killed, at any point of a change of the list. We hold its lock now. The nodes say by state and key
 * who stands here: a waiter's state is the last that an insertion writes. A queue in memory that is not attached is left as
 * it is: its waiters in other processes give it other keys.
 */
static void rebuild(pl_line_guard *guard)
{
	pl_domain *d = guard->domain;
	uint64_t offset = (uint64_t)((char *)guard->line - (char *)d);
	bool bucket = offset >= d->buckets_offset && offset - d->buckets_offset < PL_BUCKETS * sizeof(pl_bucket);
	uint64_t key = pl_key(d, guard->line);
	if (!bucket && key & PL_KEY_LOCAL)
		return;
	pl_store_rlx(&guard->line->head, 0);
	guard->line->tail = 0;
	if (bucket)
		rebuild_bucket(guard);
	else
		empty_queue(guard, key);
}

/* Nobody has let go of the line for long: true if its holder was killed, and it is ours now. */
static bool inherit(pl_line_guard *guard, uint32_t mine)
{
	uint32_t seen = pl_load_rlx(&guard->line->lock);
	if (!seen || !pl_line_holder_gone(guard->domain, seen) ||
	    !pl_cas_acq(&guard->line->lock, seen, mine | PL_WAITQ_CONTENDED)) /* N1 */
		return false;
	rebuild(guard);
	return true;
}

bool pl_line_recover(pl_domain *domain, pl_waitq *line)
{
	pl_line_guard guard = {.domain = domain, .line = line};
	pl_os_block_signals(&guard.signals);
	bool ours = domain->flags & PL_DOMAIN_SHARED && inherit(&guard, pl_line_holder(domain));
	if (ours)
		pl_line_unlock(&guard);
	else
		pl_os_restore_signals(&guard.signals);
	return ours;
}

void pl_line_lock(pl_line_guard *guard, const pl_thread *self, pl_waitq *line)
{
	guard->domain = pl_thread_domain((pl_thread *)(uintptr_t)self);
	guard->line = line;
	pl_os_block_signals(&guard->signals);
	uint32_t mine = pl_line_holder(guard->domain);
	if (PL_LIKELY(pl_cas_acq(&line->lock, 0, mine))) /* N1: acquire, pairs with N2 */
		return;
	enum { brief_ns = 3000 };
	for (;;) {
		uint32_t seen = pl_load_rlx(&line->lock);
		if (seen)
			seen = pl_os_watch(&line->lock, seen, brief_ns);
		if (!seen) {
			/* Others may sleep still: we cannot know, so we hold it as contended. */
			if (pl_cas_acq(&line->lock, 0, mine | PL_WAITQ_CONTENDED)) /* N1 */
				return;
		} else if (seen & PL_WAITQ_CONTENDED || pl_cas_rlx(&line->lock, seen, seen | PL_WAITQ_CONTENDED)) {
			/* Not for ever: the holder may be killed, and so may whoever was woken in our stead. */
			if (pl_futex_wait(&line->lock, seen | PL_WAITQ_CONTENDED, PL_WATCH_NS / 2, pl_futex_flags(guard->domain)) ==
				    -ETIMEDOUT &&
			    guard->domain->flags & PL_DOMAIN_SHARED && inherit(guard, mine))
				return;
		}
	}
}

bool pl_line_is_bad(pl_domain *d, const pl_waitq *line)
{
	uint32_t lock = pl_load_rlx(&line->lock);
	return lock && (!(lock & PL_WAITQ_HELD) || (!(d->flags & PL_DOMAIN_SHARED) && pl_line_holder_gone(d, lock)));
}

void pl_line_unlock(pl_line_guard *guard)
{
	uint32_t *lock = &guard->line->lock;
	if (pl_swap_ar(lock, 0) & PL_WAITQ_CONTENDED) /* N2: release, pairs with N1 */
		pl_futex_wake(lock, 1, pl_futex_flags(guard->domain));
	pl_os_restore_signals(&guard->signals);
}

/* ---- the list ---- */

/* Its waiter looks at its kind without the lock. */
static void set_kind(pl_node *node, uint32_t kind) { pl_store_rlx(&node->kind, kind); }

/* First node with this key of the crew that node @like belongs to, or 0. */
static uint32_t first_of_crew(pl_line_guard *guard, uint64_t key, uint32_t like)
{
	uint32_t crew = pl_node_crew(guard->domain, like);
	uint32_t n = pl_line_find(guard, 0, key);
	while (n && pl_node_crew(guard->domain, n) != crew)
		n = pl_line_find(guard, n, key);
	return n;
}

static void link_node(pl_line_guard *guard, uint32_t number)
{
	pl_waitq *line = guard->line;
	pl_node *node = pl_node_at(guard->domain, number);
	uint32_t before = line->tail; /* goes behind this one */
	while (before && pl_node_at(guard->domain, before)->arrival > node->arrival)
		before = pl_node_at(guard->domain, before)->prev;
	node->prev = before;
	/* `next` atomically: a spinner that stood behind this node in another queue may look at it still (spinners.h). */
	pl_store_rlx(&node->next, before ? pl_node_at(guard->domain, before)->next : line->head);
	if (node->next)
		pl_node_at(guard->domain, node->next)->prev = number;
	else
		line->tail = number;
	if (before)
		pl_store_rlx(&pl_node_at(guard->domain, before)->next, number);
	else
		pl_store_rlx(&line->head, number); /* wakers look without the lock */
}

void pl_line_insert(pl_line_guard *guard, uint32_t number)
{
	pl_node *node = pl_node_at(guard->domain, number);
	link_node(guard, number);
	if (first_of_crew(guard, node->key, number) == number)
		set_kind(node, node->kind | PL_NODE_WATCH);
	pl_store_rel(&node->state, PL_NODE_SLEEPING); /* S5: release, pairs with S3 */
}

void pl_line_move_in(pl_line_guard *guard, uint32_t number) { link_node(guard, number); }

void pl_line_remove(pl_line_guard *guard, uint32_t number)
{
	pl_waitq *line = guard->line;
	pl_node *node = pl_node_at(guard->domain, number);
	if (node->prev)
		pl_store_rlx(&pl_node_at(guard->domain, node->prev)->next, node->next);
	else
		pl_store_rlx(&line->head, node->next);
	if (node->next)
		pl_node_at(guard->domain, node->next)->prev = node->prev;
	else
		line->tail = node->prev;
	pl_store_rlx(&node->next, 0);
	node->prev = 0;
	set_kind(node, node->kind & ~(uint32_t)PL_NODE_WATCH);
}

uint32_t pl_line_find(pl_line_guard *guard, uint32_t after, uint64_t key)
{
	uint32_t n = after ? pl_node_at(guard->domain, after)->next : guard->line->head;
	for (pl_node *node; n; n = node->next) {
		node = pl_node_at(guard->domain, n);
		if (!node)
			return 0; /* damaged memory */
		/* Relaxed, not plain: one that another process chose changes its key, and TSan does not see that process. */
		if (pl_load64_rlx(&node->key) == key)
			return n;
	}
	return 0;
}

uint32_t pl_line_choose(pl_line_guard *guard, uint32_t number)
{
	pl_line_remove(guard, number);
	return pl_swap_ar(&pl_node_at(guard->domain, number)->state, PL_NODE_CHOSEN); /* S1: release, pairs with S2 */
}

uint32_t pl_line_watch(pl_line_guard *guard, uint32_t number, uint32_t *was)
{
	pl_node *node = pl_node_at(guard->domain, number);
	set_kind(node, node->kind | PL_NODE_WATCH);
	*was = pl_or_ar(&node->state, 0); /* S3; a waiter that is about to sleep again (S6) sees its kind, or we see it asleep */
	if (*was != PL_NODE_SLEEPING && *was != PL_NODE_PARKED)
		return 0; /* awake anyway */
	return pl_cas_ar(&node->state, *was, PL_NODE_REARM) ? number : 0; /* S3: acquire and release, pairs with S2, S5 */
}

uint32_t pl_line_new_watch(pl_line_guard *guard, uint64_t key, uint32_t gone, uint32_t *was)
{
	uint32_t number = first_of_crew(guard, key, gone);
	if (!number || pl_node_at(guard->domain, number)->kind & PL_NODE_WATCH)
		return 0;
	return pl_line_watch(guard, number, was);
}

uint32_t pl_node_sleep(pl_domain *domain, pl_node *node, uint64_t until)
{
	for (;;) {
		uint32_t state = pl_load_acq(&node->state); /* S2: acquire, pairs with S1 */
		if (state != PL_NODE_SLEEPING)
			return state;
		int64_t left = PL_FOREVER;
		if (until) {
			uint64_t now = pl_os_now();
			if (now >= until)
				return state;
			left = (int64_t)(until - now);
		}
		pl_futex_wait(&node->state, PL_NODE_SLEEPING, left, pl_futex_flags(domain));
	}
}
