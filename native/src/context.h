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
	pl_compiler_fence(); /* C1: a handler must see the level taken before we touch its node */
	return (int)level;
}

static inline void pl_context_leave(pl_thread *self, uint32_t level)
{
	pl_compiler_fence(); /* C2: as C1, on the way out */
	pl_store_rlx(&self->depth, level);
}

#endif
