/* SPDX-License-Identifier: Apache-2.0 */
/* Which class was waited for while which was held, and the search for circles. */
#include "lockdep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t (*pl_dep_after)[PL_DEP_ROW_WORDS];

/* Under the lock. */
static void set_bit(uint32_t first, uint32_t second, bool on)
{
	uint32_t *word = &pl_dep_after[first][second / 32], bit = 1u << second % 32;
	pl_store_rlx(word, on ? pl_load_rlx(word) | bit : pl_load_rlx(word) & ~bit);
}

static const pl_dep_order *order_of(uint32_t first, uint32_t second)
{
	for (const pl_dep_order *o = pl_dep_classes[first].orders; o; o = o->next)
		if (o->second == second)
			return o;
	return NULL;
}

/* Under the lock: the shortest chain from @from to @to, as predecessors; false if there is none. */
static bool find_path(uint32_t from, uint32_t to, uint16_t *before, uint16_t *queue)
{
	uint32_t read = 0, written = 0;
	memset(before, 0, PL_DEP_KNOWN * sizeof *before);
	queue[written++] = (uint16_t)from;
	before[from] = (uint16_t)from;
	while (read < written) {
		uint32_t at = queue[read++];
		for (const pl_dep_order *o = pl_dep_classes[at].orders; o; o = o->next) {
			if (before[o->second])
				continue;
			before[o->second] = (uint16_t)at;
			if (o->second == to)
				return true;
			queue[written++] = (uint16_t)o->second;
		}
	}
	return false;
}

static void say_order(pl_dep_text *t, uint32_t first, const pl_dep_order *o)
{
	pl_dep_say(t, "\"%s\" while holding \"%s\", first by %s:\n", pl_dep_classes[o->second].name, pl_dep_classes[first].name, o->thread);
	pl_dep_say_trace(t, "  holding, acquired at", &o->held);
	pl_dep_say_trace(t, "  acquiring at", &o->acquired);
}

/* Under the lock. @return how many orders the circle has. */
static uint32_t say_circle(pl_dep_text *t, const pl_dep_order *closing, uint32_t first, uint32_t second, const uint16_t *before, uint16_t *chain)
{
	/* From `second` along the known orders to `first`; `closing` leads from `first` back to `second`. */
	uint32_t n = 0;
	for (uint32_t at = first; at != second; at = before[at])
		chain[n++] = (uint16_t)at;
	chain[n++] = (uint16_t)second;
	pl_dep_say(t, "lock-order validator: possible deadlock: %s acquires \"%s\" against an order seen before:", closing->thread,
	    pl_dep_classes[second].name);
	for (uint32_t i = n - 1; i > 0; i--)
		pl_dep_say(t, " \"%s\" before \"%s\";", pl_dep_classes[chain[i]].name, pl_dep_classes[chain[i - 1]].name);
	pl_dep_say(t, " \"%s\" before \"%s\". Acquire them in one order everywhere.\n", pl_dep_classes[first].name, pl_dep_classes[second].name);
	for (uint32_t i = n - 1; i > 0; i--) {
		const pl_dep_order *o = order_of(chain[i], chain[i - 1]);
		if (o)
			say_order(t, chain[i], o);
	}
	say_order(t, first, closing);
	return n;
}

void pl_dep_add_order(const pl_dep_held *h, uint64_t to, const void *caller)
{
	uint32_t first = pl_dep_index(h->class), second = pl_dep_index(to);
	pl_dep_order *o = malloc(sizeof *o);
	uint16_t *work = malloc(2 * PL_DEP_KNOWN * sizeof *work);
	if (!o || !work) {
		free(o), free(work);
		pl_dep_report_full(-ENOMEM);
		return;
	}
	o->second = second;
	o->held = h->where;
	pl_dep_thread_name(o->thread);
	pl_dep_take_trace(&o->acquired, caller);
	pl_dep_text t = {0};
	uint32_t circle = 0;
	char name[PL_DEP_NAME_BYTES], thread[PL_NAME_BYTES];
	pthread_mutex_lock(&pl_dep_lock);
	if (pl_dep_is_known(h->class) && pl_dep_is_known(to) && !pl_dep_is_after(first, second)) {
		if (find_path(second, first, work, work + PL_DEP_KNOWN)) {
			circle = say_circle(&t, o, first, second, work, work + PL_DEP_KNOWN);
			memcpy(name, pl_dep_classes[second].name, sizeof name);
			memcpy(thread, o->thread, sizeof thread);
		}
		o->next = pl_dep_classes[first].orders;
		pl_dep_classes[first].orders = o;
		set_bit(first, second, true);
		o = NULL;
	}
	pthread_mutex_unlock(&pl_dep_lock);
	free(o), free(work);
	if (circle)
		pl_dep_deliver(PL_LOCKDEP_INVERSION, circle, name, thread, &t);
}

void pl_dep_forget_orders(uint32_t index, uint32_t end)
{
	for (pl_dep_order *o = pl_dep_classes[index].orders, *next; o; o = next) {
		next = o->next;
		free(o);
	}
	pl_dep_classes[index].orders = NULL;
	memset(pl_dep_after[index], 0, sizeof pl_dep_after[index]);
	for (uint32_t first = 1; first < end; first++) {
		if (!pl_dep_is_after(first, index))
			continue;
		set_bit(first, index, false);
		for (pl_dep_order **o = &pl_dep_classes[first].orders; *o; o = &(*o)->next)
			if ((*o)->second == index) {
				pl_dep_order *gone = *o;
				*o = gone->next;
				free(gone);
				break;
			}
	}
}
