/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for deadlocks: who holds the lock that I wait for, what does that thread wait for, and so on; if the chain
 * comes back to me, it is a circle of threads that wait for each other.
 *
 * Edges. A wait is a node whose generation `wait` is odd, from just before the waiter's first serious look at the lock until
 * just before the compare-and-swap that takes it, or until it leaves; a hold is an entry of the held table whose thread does
 * not wait for that very key at that level. A hold of nesting level e depends on the thread's waits of level e and above.
 *
 * No true circle is missed: each member publishes its wait, after its holds, and then (R1: full fence) searches. The last
 * whose fence runs sees the waits and holds of all others.
 *
 * Doubt. An entry stands for no hold while its thread is between the entry and the compare-and-swap, or between the release
 * and the clearing. Such a thread does not wait, unless a handler does that has interrupted it there; then two or more waiting
 * threads seem to hold the lock, and one of them does, or nobody. The lock is a dead end only if each of them waits for the
 * circle. Who is in the circle whichever of them is the holder reports it at once; who is only if it is a certain one waits
 * whether somebody else does, and reports it when the sixth search in a row finds it still there.
 *
 * No false report: the chain is collected twice. If a wait's generation is the same odd number both times, its thread has
 * neither taken the lock nor left in between, nor released anything, nor taken anything. So at any moment between the two
 * collections every member waited, and held what the chain says, or (doubt) one of those that may hold it did. Where only one
 * may hold it and does not, the lock is free: the locks of the searcher itself and those in the domain's pool are looked at.
 *
 * One victim: the member with the lowest node number is the circle's registrar. Whoever finds the circle writes its own
 * node number and generation into the registrar's `locked` by compare-and-swap from what it read there before the second
 * collection. Who succeeds leaves; others wait on. An old claim is void once its claimant's generation has changed, or while a
 * handler waits on top of the claimant: then it cannot leave, and another does; it leaves too when the handler has returned.
 */
#ifndef PL_SRC_SEARCH_H
#define PL_SRC_SEARCH_H

#include "domain.h"

#include <panalock/rqspinlock.h>

enum { PL_SEARCH_AGAIN_NS = 1000000 }; /* the second search after the first */

typedef struct pl_search {
	pl_thread *self;
	pl_node *node;
	uint32_t number; /* of the node */
	uint32_t gap_ns; /* from the last search to the next; 0: none yet */
	uint32_t mixed;  /* searches in a row that found a circle which we may be in */
	uint64_t at;     /* when to search next, monotonic ns; UINT64_MAX: never, this thread holds nothing else */
	pl_deadlock *report; /* null: not wanted */
} pl_search;

/* The wait becomes visible, for one with this node, whose key is set; and invisible, before the key goes. */
void pl_search_begin(pl_search *s, pl_node *node, uint32_t number, uint64_t now);
void pl_search_end(pl_search *s);

/* Around a compare-and-swap that takes the lock: it is no wait any more when it has. */
static inline void pl_search_pause(pl_search *s)
{
	/* R2: release, what is done after a wait comes after its end; pairs with R3 */
	pl_store_rel(&s->node->wait, pl_load_rlx(&s->node->wait) + 1);
}
static inline void pl_search_resume(pl_search *s) { pl_search_pause(s); }

/* Time to look? If so looks, and sets the next time. True: a deadlock, and we are the one to leave; the report is made. */
bool pl_search_due(pl_search *s, uint64_t now);

/* The lock is free, nothing to search for: who sleeps until the next search must not find that passed for ever. */
static inline void pl_search_postpone(pl_search *s, uint64_t now)
{
	if (now >= s->at)
		s->at = now + PL_SEARCH_AGAIN_NS;
}

/* The first search is due when the waiter is about to sleep for the first time. */
static inline void pl_search_hurry(pl_search *s, uint64_t now)
{
	if (!s->gap_ns && s->at != UINT64_MAX)
		s->at = now;
}

/* The slow path of qspinlock.c, with a search for deadlocks; for a thread that is not at its deepest nesting level. */
int pl_q_wait(pl_thread *self, void *lock, int layout, uint32_t flags, int64_t timeout_ns, pl_search *search);

#endif
