/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * OSQ: a queue of spinners that each can leave at any moment, 4 bytes, zero is valid and empty. The one at its head "has"
 * the queue; optimistic spinning puts it in front of a sleeping lock, so that one thread competes and the others
 * spin on words of their own. Not a mutual exclusion lock for data: who has it still holds nothing but first place.
 *
 * Waiting is first come, first served among those who stay. A waiter leaves when its time is up, when it is interrupted,
 * when the caller's predicate says so, or (PL_OSQ_RUNNING) when the waiter before it seems not to run; it unlinks itself
 * from the middle of the queue, waiting for nobody but a neighbour that leaves at the same moment.
 *
 * Two ways to wait for one's turn: *conditional load* (the default: arm64 sleeps in WFE on the node's word until it is
 * written, x86 reads it between `pause`s) looks at the reasons to leave every PL_OSQ_LOOK_NS, so that a predicate that
 * changes without a store to that word is still noticed; *poll* (PL_WAIT_POLL) looks at them at every turn.
 *
 * Nodes are those of the thread's slot: having or awaiting an OSQ takes a nesting level, and several are given back in
 * reverse order. A slot that has one cannot be released.
 *
 * Sources: Mellor-Crummey and Scott 1991 (MCS); the public description of the kernel's optimistic spin queue.
 */
#ifndef PANALOCK_OSQ_H
#define PANALOCK_OSQ_H

#include <panalock/thread.h>

PL_EXTERN_C_BEGIN

typedef struct pl_osq {
	uint32_t tail; /**< Node number of the last in the queue, 0 if nobody has or awaits it. */
} pl_osq;

#define PL_OSQ_INIT { 0 }

/** Flag of pl_osq_lock_wait(): leave when the waiter before this one has not looked around for PL_OSQ_IDLE_NS. */
#define PL_OSQ_RUNNING 32

/** The conditional load looks this often at the reasons to leave, ns (on arm64 up to 100 us more). */
#define PL_OSQ_LOOK_NS 20000
/** A waiter that did not look for so long does not run, ns. */
#define PL_OSQ_IDLE_NS 200000

/** A caller's reason to leave: called again and again while it waits, on its own thread; not 0 ends the wait. */
typedef int (*pl_osq_leave)(void *argument);

/** Makes the queue empty. Not for a queue in use. @return 0; -EINVAL. */
PL_API int pl_osq_init(pl_osq *queue);

/** Joins the queue and spins until this thread is its head. Acquire. Never sleeps in the kernel, but yields. @return 0;
 *  -EINVAL; -ENOSPC (deeper than PL_NESTING contexts). */
PL_API int pl_osq_lock(pl_thread *self, pl_osq *queue);

/**
 * The same with reasons to leave. @p flags: PL_WAIT_INTERRUPTIBLE, PL_WAIT_POLL, PL_OSQ_RUNNING. @p timeout_ns: from now,
 * or PL_FOREVER. Acquire.
 * @return 0; -ETIMEDOUT; -EINTR; -EAGAIN (the waiter before does not run); -EINVAL; -ENOSPC.
 */
PL_API int pl_osq_lock_wait(pl_thread *self, pl_osq *queue, uint32_t flags, int64_t timeout_ns);

/** The same with a predicate. @return as pl_osq_lock_wait(); -ECANCELED (the predicate said so). */
PL_API int pl_osq_lock_unless(pl_thread *self, pl_osq *queue, uint32_t flags, int64_t timeout_ns, pl_osq_leave leave,
			      void *argument);

/** Takes an empty queue. Acquire. Call. @return 0; -EBUSY; -EINVAL; -ENOSPC. */
PL_API int pl_osq_trylock(pl_thread *self, pl_osq *queue);

/**
 * Makes the next one head. Release. Waits for nobody but a successor that joins or leaves at this moment.
 * @return 0; -EPERM (this thread is not the head, or has another queue that it got later); -EINVAL.
 */
PL_API int pl_osq_unlock(pl_thread *self, pl_osq *queue);

/** Whether anybody has or awaits it (a hint: relaxed). @return 1 or 0; -EINVAL. */
PL_API int pl_osq_is_locked(const pl_osq *queue);

PL_EXTERN_C_END

#endif
