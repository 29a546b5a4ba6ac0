/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nesting levels of a slot: the thread itself and the signal handlers on top of it, each with a node of its own.
 * Touched by the owning thread only; a handler finds the level either taken or not, whatever it interrupts.
 */
#ifndef PL_SRC_CONTEXT_H
#define PL_SRC_CONTEXT_H

#include <errno.h>
#include <panalock/atomic.h>
#include <panalock/thread.h>

/* Takes the next level; -ENOSPC when all are taken (nothing has changed then). */
static inline int pl_context_enter(pl_thread *self)
{
	uint32_t level = pl_load_rlx(&self->depth);
	if (level >= PL_NESTING)
		return -ENOSPC;
	pl_store_rlx(&self->depth, level + 1);
	pl_compiler_fence(); /* C1: compiler fence: a handler sees the level taken before we touch its node; pairs with C2 */
	return (int)level;
}

static inline void pl_context_leave(pl_thread *self, uint32_t level)
{
	pl_compiler_fence(); /* C2: compiler fence: a handler sees the level free only after our last touch; pairs with C1 */
	pl_store_rlx(&self->depth, level);
}

#endif
