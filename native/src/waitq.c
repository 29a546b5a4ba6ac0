/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"
#include "line.h"
#include "recover.h"

#include <errno.h>
#include <panalock/qspinlock.h>

static bool bad(pl_thread *self, pl_waitq *queue)
{
	return !self || !queue || (uintptr_t)queue % _Alignof(pl_waitq) || pl_line_is_bad(pl_thread_domain(self), queue);
}

/* True if the ends of the line are no nodes: memory that was never initialised, or of another domain. Needs the lock. */
static bool damaged(const pl_line_guard *guard)
{
	uint32_t head = guard->line->head, tail = guard->line->tail;
	return !head != !tail || (head && (!pl_node_at(guard->domain, head) || !pl_node_at(guard->domain, tail)));
}

static int join(pl_thread *self, pl_waitq *queue, uint32_t number)
{
	pl_line_guard guard;
	pl_line_lock(&guard, self, queue);
	bool no_line = damaged(&guard);
	if (!no_line)
		pl_line_insert(&guard, number);
	pl_line_unlock(&guard);
	pl_fence(); /* W1: full fence, the insertion before the caller's look at its condition; pairs with W2 */
	return no_line ? -EINVAL : 0;
}

static bool bad_place(pl_thread *self, int place)
{
	return self->index == 0 || place < 0 || place >= PL_NESTING || (uint32_t)place >= self->depth;
}

int pl_waitq_init(pl_waitq *queue)
{
	if (!queue || (uintptr_t)queue % _Alignof(pl_waitq))
		return -EINVAL;
	*queue = (pl_waitq){0};
	return 0;
}

int pl_waitq_enter(pl_thread *self, pl_waitq *queue, uint32_t flags)
{
	if (bad(self, queue) || self->index == 0 || flags & ~(uint32_t)PL_WAITQ_EXCLUSIVE)
		return -EINVAL;
	int level = pl_context_enter(self);
	if (level < 0)
		return level;
	pl_node *node = &self->nodes[level];
	pl_store_rlx(&node->kind, PL_NODE_AT_QUEUE | (flags & PL_WAITQ_EXCLUSIVE ? PL_NODE_EXCLUSIVE : 0));
	pl_store64_rlx(&node->key, pl_key(pl_thread_domain(self), queue));
	node->arrival = pl_os_now();
	int err = join(self, queue, pl_node_number(self, (uint32_t)level));
	if (err) {
		pl_store64_rlx(&node->key, 0);
		pl_context_leave(self, (uint32_t)level);
	}
	return err ? err : level;
}

/* True once if an interruption was pending. */
static bool interrupted(pl_thread *self)
{
	pl_fence(); /* I2: full fence, our node's state before the look at the flag; pairs with I1 */
	return pl_load_rlx(&self->interrupted) && pl_swap_ar(&self->interrupted, 0); /* I4: acquire, pairs with I3 */
}

int pl_waitq_sleep(pl_thread *self, pl_waitq *queue, int place, int64_t timeout_ns, uint32_t flags)
{
	if (bad(self, queue) || bad_place(self, place) || flags & ~(uint32_t)PL_WAIT_INTERRUPTIBLE)
		return -EINVAL;
	pl_node *node = &self->nodes[place];
	uint32_t number = pl_node_number(self, (uint32_t)place);
	pl_domain *domain = pl_thread_domain(self);
	uint64_t until = timeout_ns < 0 ? 0 : pl_os_now() + (uint64_t)timeout_ns;
	for (;;) {
		if (flags & PL_WAIT_INTERRUPTIBLE && interrupted(self))
			return -EINTR;
		uint64_t slice = 0; /* in shared domains: a waker, or the waiter chosen in our stead, may have been killed */
		if (domain->flags & PL_DOMAIN_SHARED) {
			slice = pl_os_now() + PL_RECHECK_NS;
			slice = until && until <= slice ? 0 : slice;
		}
		uint32_t state = pl_node_sleep(domain, node, slice ? slice : until);
		if (slice && state == PL_NODE_SLEEPING) {
			pl_recover_slots_sometimes(domain, false, PL_RECHECK_NS);
			continue;
		}
		if (state == PL_NODE_CHOSEN) {
			pl_store_rlx(&node->state, PL_NODE_IDLE);
			return 0;
		}
		if (state == PL_NODE_IDLE) /* chosen before: join again, then let the caller look at its condition */
			return join(self, queue, number);
		if (state == PL_NODE_SLEEPING)
			return -ETIMEDOUT;
		pl_cas_ar(&node->state, state, PL_NODE_SLEEPING); /* S6: woken for another reason: look again; fails if chosen */
	}
}

static int wake(pl_thread *self, pl_waitq *queue, int exclusive)
{
	enum { batch = 64 };
	pl_domain *domain = pl_thread_domain(self);
	uint32_t numbers[batch], was[batch];
	int chosen = 0, n = 0;
	pl_line_guard guard;
	pl_line_lock(&guard, self, queue);
	if (damaged(&guard)) {
		pl_line_unlock(&guard);
		return -EINVAL;
	}
	for (uint32_t i = queue->head, next; i; i = next) {
		pl_node *node = pl_node_at(domain, i);
		next = node->next;
		if (node->kind & PL_NODE_EXCLUSIVE && exclusive <= 0)
			continue;
		exclusive -= (node->kind & PL_NODE_EXCLUSIVE) != 0;
		if (n == batch) {
			/* No memory for more, so these are woken with the line's lock held: without it they would join again
			 * at their old places before the rest is chosen, and again, without end. */
			for (int w = 0; w < n; w++)
				pl_node_wake(domain, numbers[w], was[w]);
			n = 0;
		}
		numbers[n] = i;
		was[n++] = pl_line_choose(&guard, i);
		chosen++;
	}
	pl_line_unlock(&guard);
	for (int i = 0; i < n; i++)
		pl_node_wake(domain, numbers[i], was[i]);
	return chosen;
}

int pl_waitq_leave(pl_thread *self, pl_waitq *queue, int place, int consumed)
{
	if (bad(self, queue) || bad_place(self, place) || (uint32_t)place + 1 != self->depth)
		return -EINVAL;
	pl_node *node = &self->nodes[place];
	bool chosen = false; /* out of the line though it has not left: a waker took it */
	pl_line_guard guard;
	pl_line_lock(&guard, self, queue);
	if (pl_node_in_line(node))
		pl_line_remove(&guard, pl_node_number(self, (uint32_t)place));
	else
		chosen = true;
	pl_store_rlx(&node->state, PL_NODE_IDLE);
	pl_line_unlock(&guard);
	bool exclusive = node->kind & PL_NODE_EXCLUSIVE;
	pl_store64_rlx(&node->key, 0);
	pl_context_leave(self, (uint32_t)place);
	if (exclusive && chosen && !consumed)
		wake(self, queue, 1);
	return 0;
}

int pl_waitq_wake(pl_thread *self, pl_waitq *queue, int exclusive)
{
	if (bad(self, queue) || exclusive < 0)
		return -EINVAL;
	pl_fence(); /* W2: full fence, the caller's change of its condition before the look at the line; pairs with W1 */
	if (!pl_load_rlx(&queue->head))
		return 0;
	return wake(self, queue, exclusive);
}
