/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue behind OSQ and mutex: an MCS queue whose waiters can leave from the middle. The tail, a node number, may share
 * its word with other bits outside @mask.
 *
 * Who may change what:
 *   tail          whoever joins (exchange), leaves as the last or unlocks as the only one (compare-and-swap from itself).
 *   node->next    set by the successor when it joins, or by a successor's neighbour when it leaves; taken (set to 0)
 *                 by compare-and-swap or exchange only, by the node's owner or by the successor that leaves. Whoever took
 *                 it is the only one that may use what it held: that pins both neighbours.
 *   node->prev    set by the owner before it links itself (V2), later by a predecessor that leaves (V8) while it has this
 *                 node pinned.
 *   node->locked  set once, by the predecessor that hands over.
 *   node->kind    the owner's beat: odd numbers of a waiter that looks around, 0 for the head. (In a line the same field
 *                 holds PL_NODE_*; a node is in one of the two at a time.)
 *
 * Leaving, steps A, B, C. A: take prev->next from ourselves to 0; the predecessor can then neither hand over to us nor
 * leave. B: take our own next, or be the last and swing the tail back. C: link the neighbours. If A fails because the
 * predecessor is leaving itself, it will tell us our new one; if it has handed over, we are head and do not leave.
 *
 * A waiter in step A may look at `next` of a predecessor that has left and uses its node elsewhere. That is harmless: only
 * our own number makes us change it, and nobody but we and our neighbours write that.
 */
#ifndef PL_SRC_SPINNERS_H
#define PL_SRC_SPINNERS_H

#include "arch/arch.h"
#include "domain.h"
#include "os/os.h"

#include <panalock/osq.h>

#define PL_ALWAYS_INLINE static inline __attribute__((always_inline))

typedef struct {
	pl_domain *domain;
	uint32_t *word;
	uint32_t mask, shift; /* where the tail stands in it */
	pl_node *node;
	uint32_t number;
} pl_spinner;

enum { pl_spinner_tries = 64 }; /* compare-and-swaps for a shared tail before the caller does without (bug row 4) */

PL_ALWAYS_INLINE uint32_t pl_spinners_tail(const pl_spinner *s, uint32_t seen) { return (seen & s->mask) >> s->shift; }

PL_ALWAYS_INLINE uint32_t pl_spinners_with(const pl_spinner *s, uint32_t seen, uint32_t tail)
{
	return (seen & ~s->mask) | tail << s->shift;
}

/* Makes us the tail: the old one, or -1 after too many lost compare-and-swaps. */
PL_ALWAYS_INLINE int64_t pl_spinners_join(const pl_spinner *s)
{
	pl_store_rlx(&s->node->locked, 0);
	pl_store_rlx(&s->node->next, 0);
	if (s->mask == UINT32_MAX)
		return pl_swap_ar(s->word, s->number); /* V1: acquire and release, pairs with V6 and itself (the next tail) */
	for (int i = 0; i < pl_spinner_tries; i++) {
		uint32_t seen = pl_load_rlx(s->word);
		if (pl_cas_ar(s->word, seen, pl_spinners_with(s, seen, s->number))) /* V1 */
			return pl_spinners_tail(s, seen);
	}
	return -1;
}

/* If we are the tail, makes @to the tail. */
PL_ALWAYS_INLINE bool pl_spinners_retreat(const pl_spinner *s, uint32_t to)
{
	for (;;) {
		uint32_t seen = pl_load_rlx(s->word);
		if (pl_spinners_tail(s, seen) != s->number)
			return false;
		/* V6: acquire and release, pairs with V1. A failure is a newer tail, or other bits that changed. */
		if (pl_cas_ar(s->word, seen, pl_spinners_with(s, seen, to)))
			return true;
	}
}

/* Between two looks at what a neighbour does this very moment, unless it has lost its CPU. */
PL_ALWAYS_INLINE void pl_spinners_pause(uint32_t *turns)
{
	enum { turns_per_yield = 256 };
	if (++*turns % turns_per_yield)
		pl_cpu_relax();
	else
		pl_os_yield();
}

/* Step B: takes our successor, or, when there is none, makes @before the tail: 0. */
PL_ALWAYS_INLINE uint32_t pl_spinners_pin_next(const pl_spinner *s, uint32_t before)
{
	for (uint32_t turns = 0;; pl_spinners_pause(&turns)) {
		if (pl_spinners_retreat(s, before))
			return 0;
		/* Not just read: a successor that leaves at the same time must find it gone (bug row 16). */
		if (!pl_load_rlx(&s->node->next))
			continue;
		uint32_t next = pl_swap_ar(&s->node->next, 0); /* V7: acquire and release, pairs with V2, V5, V8 */
		if (next)
			return next;
	}
}

/* Leaves the queue: true if it did; false when we were made head meanwhile. */
PL_ALWAYS_INLINE bool pl_spinners_leave(const pl_spinner *s)
{
	pl_node *before;
	uint32_t number;
	for (uint32_t turns = 0;; pl_spinners_pause(&turns)) {
		number = pl_load_rlx(&s->node->prev);
		before = pl_node_at(s->domain, number);
		if (before && pl_load_rlx(&before->next) == s->number &&
		    pl_cas_ar(&before->next, s->number, 0)) /* V5: acquire and release, pairs with V7 */
			break;
		if (pl_load_acq(&s->node->locked)) /* V3 */
			return false;
	}
	uint32_t next = pl_spinners_pin_next(s, number);
	if (next) {
		pl_store_rlx(&pl_node_at(s->domain, next)->prev, number);
		pl_store_rel(&before->next, next); /* V8: release, the successor's new `prev` before the link; pairs with V7 */
	}
	return true;
}

PL_ALWAYS_INLINE void pl_spinners_unlock(const pl_spinner *s)
{
	uint32_t next = pl_spinners_pin_next(s, 0);
	if (next)
		pl_store_rel(&pl_node_at(s->domain, next)->locked, 1); /* V4: release, pairs with V3 */
}

/* Whether the waiter before ours runs, as far as can be seen from its beat. */
typedef struct {
	uint32_t number, beat;
	uint64_t since;
} pl_spinner_watch;

PL_ALWAYS_INLINE bool pl_spinners_idle_before(const pl_spinner *s, pl_spinner_watch *watch, uint64_t now)
{
	uint32_t number = pl_load_rlx(&s->node->prev);
	const pl_node *before = pl_node_at(s->domain, number);
	uint32_t beat = before ? pl_load_rlx(&before->kind) : 0;
	if (!(beat & 1) || number != watch->number || beat != watch->beat) {
		*watch = (pl_spinner_watch){number, beat, now};
		return false;
	}
	return now - watch->since >= PL_OSQ_IDLE_NS;
}

/*
 * Waits to become head: 0; or what @leave returned, negative, and we are out of the queue. -EAGAIN also when there was
 * no place to be had.
 */
PL_ALWAYS_INLINE int pl_spinners_wait(const pl_spinner *s, uint32_t flags, int (*leave)(void *, uint64_t now), void *argument)
{
	int64_t before = pl_spinners_join(s);
	if (before < 0)
		return -EAGAIN;
	pl_node *prev = pl_node_at(s->domain, (uint32_t)before);
	if (!prev) {
		pl_store_rlx(&s->node->kind, 0);
		return 0;
	}
	uint32_t beat = 1;
	pl_spinner_watch watch = {0, 0, 0};
	pl_store_rlx(&s->node->kind, beat);
	pl_store_rlx(&s->node->prev, (uint32_t)before);
	/* V2: release, our node's initialisation and `prev` before the link (bug row 15); pairs with V7 */
	pl_store_rel(&prev->next, s->number);
	int why = 0;
	while (!pl_load_acq(&s->node->locked)) { /* V3: acquire, pairs with V4 */
		uint64_t now = pl_os_now();
		why = leave(argument, now);
		if (!why && flags & PL_OSQ_RUNNING && pl_spinners_idle_before(s, &watch, now))
			why = -EAGAIN;
		if (why && pl_spinners_leave(s))
			return why;
		pl_store_rlx(&s->node->kind, beat += 2);
		if (flags & PL_WAIT_POLL)
			pl_cpu_relax();
		else if (!pl_os_watch(&s->node->locked, 0, PL_OSQ_LOOK_NS))
			pl_os_yield(); /* nobody hands over for long: perhaps for want of a CPU */
	}
	pl_store_rlx(&s->node->kind, 0);
	return 0;
}

#endif
