/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines: the lists of waiters behind wait queues and parking buckets.
 *
 * Invariant: a node is in the line iff its state is SLEEPING, PARKED, REARM or INTERRUPTED, and every link and every
 * change between "in" and "out" happens under the line's lock. The one exception is a node's own thread, or a waker of
 * it, changing one "in" state to another.
 *
 * The lock is a three-state futex mutex (free, held, held and slept for) that names its holder's process, for threads are
 * killed with their processes only. All signals are blocked while it is held: a handler that locks would otherwise wait for
 * the code that it interrupts. Who waits for it and finds the holder's process gone inherits it, and makes the line anew.
 */
#ifndef PL_SRC_LINE_H
#define PL_SRC_LINE_H

#include "domain.h"
#include "os/os.h"

#include <panalock/waitq.h>

typedef struct {
	pl_domain *domain;
	pl_waitq *line;
	pl_os_signals signals;
} pl_line_guard;

void pl_line_lock(pl_line_guard *guard, const pl_thread *self, pl_waitq *line);
void pl_line_unlock(pl_line_guard *guard);

/* True for what is no line of this domain, as far as its lock says. */
bool pl_line_is_bad(pl_domain *domain, const pl_waitq *line);

/* If the line's holder was killed: makes the line anew and lets go of it. For those who cannot inherit (bridge.h). */
bool pl_line_recover(pl_domain *domain, pl_waitq *line);

/* The following need the lock. */

/*
 * Inserts by arrival time, behind its equals, with state SLEEPING. The first node of a key is marked WATCH, and so is the
 * first of each other crew.
 */
void pl_line_insert(pl_line_guard *guard, uint32_t number);
/* The same for a node that sleeps already, having just been removed from another line whose lock is held too. Its state
 * stays, and it gets no watch timer: that would wake it. */
void pl_line_move_in(pl_line_guard *guard, uint32_t number);
void pl_line_remove(pl_line_guard *guard, uint32_t number);
/* First node with this key behind node @after (0: from the head), or 0. */
uint32_t pl_line_find(pl_line_guard *guard, uint32_t after, uint64_t key);

/* Chooses a node: out of the line, state CHOSEN; returns the state that it had, for pl_node_wake() after the unlock. */
uint32_t pl_line_choose(pl_line_guard *guard, uint32_t number);

/* After the removal of node @gone: if the new first node of @key of its crew sleeps without a watch timer, marks it and
 * returns its number, and in @was the state to wake it with; else 0. */
uint32_t pl_line_new_watch(pl_line_guard *guard, uint64_t key, uint32_t gone, uint32_t *was);

/* Marks a node of the line; as pl_line_new_watch() otherwise. */
uint32_t pl_line_watch(pl_line_guard *guard, uint32_t number, uint32_t *was);

/*
 * Threads that stop running together: a process's virtual threads, when their carriers are busy with others, and all of a
 * process, when it is stopped or killed.
 */
static inline uint32_t pl_node_crew(pl_domain *domain, uint32_t number)
{
	const pl_thread *slot = pl_node_slot(domain, number);
	return pl_load_rlx(&slot->process) << 1 | (pl_load_rlx(&slot->tid) == 0);
}

/* True if it stands, or stood last, at the wait queue (or condition) that its key names. */
static inline bool pl_node_at_queue(const pl_node *node)
{
	return pl_load_rlx(&node->kind) & PL_NODE_AT_QUEUE && !(pl_load64_rlx(&node->key) & 3);
}

static inline bool pl_node_in_line(const pl_node *node)
{
	uint32_t s = pl_load_acq(&node->state); /* S2 */
	return s != PL_NODE_IDLE && s != PL_NODE_CHOSEN;
}

/*
 * Sleeps on the own node (which is in a line) until its state changes or @until (monotonic ns, 0: never).
 * Returns the state seen (acquire, pairs with the chooser's release).
 */
uint32_t pl_node_sleep(pl_domain *domain, pl_node *node, uint64_t until);

#endif
