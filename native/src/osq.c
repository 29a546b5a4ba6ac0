/* SPDX-License-Identifier: Apache-2.0 */
/* OSQ: nesting levels and reasons to leave around the queue of spinners.h. */
#include "context.h"
#include "spinners.h"

enum { osq_key = 3 }; /* the key's low bits: no lock layout has these */

static bool bad(const void *queue) { return !queue || (uintptr_t)queue % _Alignof(pl_osq); }

static uint64_t key_of(pl_domain *domain, const pl_osq *queue) { return pl_key(domain, queue) | osq_key; }

static pl_spinner spinner_of(pl_thread *self, pl_osq *queue, uint32_t level)
{
	return (pl_spinner){.domain = pl_thread_domain(self),
			    .word = &queue->tail,
			    .mask = UINT32_MAX,
			    .node = &self->nodes[level],
			    .number = pl_node_number(self, level)};
}

typedef struct {
	pl_thread *self;
	uint64_t until; /* monotonic ns; 0: never */
	uint32_t flags;
	pl_osq_leave leave;
	void *argument;
} reasons;

static int must_leave(void *of, uint64_t now)
{
	const reasons *r = of;
	if (r->flags & PL_WAIT_INTERRUPTIBLE && pl_load_rlx(&r->self->interrupted) &&
	    pl_swap_ar(&r->self->interrupted, 0)) /* I4: acquire, pairs with I3 */
		return -EINTR;
	if (r->until && now >= r->until)
		return -ETIMEDOUT;
	return r->leave && r->leave(r->argument) ? -ECANCELED : 0;
}

int pl_osq_init(pl_osq *queue)
{
	if (bad(queue))
		return -EINVAL;
	pl_store_rlx(&queue->tail, 0);
	return 0;
}

int pl_osq_lock_unless(pl_thread *self, pl_osq *queue, uint32_t flags, int64_t timeout_ns, pl_osq_leave leave, void *argument)
{
	enum { all_flags = PL_WAIT_INTERRUPTIBLE | PL_WAIT_POLL | PL_OSQ_RUNNING };
	if (!self || self->index == 0 || bad(queue) || flags & ~(uint32_t)all_flags)
		return -EINVAL;
	uint32_t tail = pl_load_rlx(&queue->tail);
	if (tail && !pl_node_at(pl_thread_domain(self), tail))
		return -EINVAL; /* not a queue, or another domain's */
	int level = pl_context_enter(self);
	if (level < 0)
		return level;
	reasons r = {.self = self, .flags = flags, .leave = leave, .argument = argument};
	if (timeout_ns >= 0)
		r.until = pl_os_now() + (uint64_t)timeout_ns;
	pl_spinner s = spinner_of(self, queue, (uint32_t)level);
	pl_store64_rlx(&s.node->key, key_of(s.domain, queue));
	int result = pl_spinners_wait(&s, flags, must_leave, &r);
	if (result) {
		pl_store64_rlx(&s.node->key, 0);
		pl_context_leave(self, (uint32_t)level);
	}
	return result;
}

int pl_osq_lock_wait(pl_thread *self, pl_osq *queue, uint32_t flags, int64_t timeout_ns)
{
	return pl_osq_lock_unless(self, queue, flags, timeout_ns, NULL, NULL);
}

int pl_osq_lock(pl_thread *self, pl_osq *queue) { return pl_osq_lock_unless(self, queue, 0, PL_FOREVER, NULL, NULL); }

int pl_osq_trylock(pl_thread *self, pl_osq *queue)
{
	if (!self || self->index == 0 || bad(queue))
		return -EINVAL;
	if (pl_load_rlx(&queue->tail))
		return -EBUSY;
	int level = pl_context_enter(self);
	if (level < 0)
		return level;
	pl_spinner s = spinner_of(self, queue, (uint32_t)level);
	pl_store_rlx(&s.node->next, 0);
	pl_store_rlx(&s.node->kind, 0);
	pl_store64_rlx(&s.node->key, key_of(s.domain, queue));
	if (pl_cas_ar(&queue->tail, 0, s.number)) /* V6 */
		return 0;
	pl_store64_rlx(&s.node->key, 0);
	pl_context_leave(self, (uint32_t)level);
	return -EBUSY;
}

int pl_osq_unlock(pl_thread *self, pl_osq *queue)
{
	if (!self || self->index == 0 || bad(queue))
		return -EINVAL;
	uint32_t depth = pl_load_rlx(&self->depth);
	if (!depth || self->nodes[depth - 1].key != key_of(pl_thread_domain(self), queue))
		return -EPERM;
	pl_spinner s = spinner_of(self, queue, depth - 1);
	pl_spinners_unlock(&s);
	pl_store64_rlx(&s.node->key, 0);
	pl_context_leave(self, depth - 1);
	return 0;
}

int pl_osq_is_locked(const pl_osq *queue) { return bad(queue) ? -EINVAL : pl_load_rlx(&queue->tail) != 0; }
