/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Wait queue: a line of sleepers for any condition, 16 bytes of memory shared by its users, zero is valid and empty.
 *
 * Non-exclusive waiters are all woken by every wake-up; exclusive ones are woken first come, first served, as many as
 * the waker says, so that one event costs one wake-up. A chosen exclusive waiter that leaves without consuming the
 * wake-up (time-out, interruption) passes it on to the next.
 *
 * Worked example (a gate that lets one through for every ticket):
 *
 *     int place = pl_waitq_enter(self, &gate->line, PL_WAITQ_EXCLUSIVE);
 *     while (!take_ticket(gate) && err == 0)
 *         err = pl_waitq_sleep(self, &gate->line, place, PL_FOREVER, 0);
 *     pl_waitq_leave(self, &gate->line, place, err == 0);
 *
 *     add_ticket(gate);                    // change the condition first
 *     pl_waitq_wake(self, &gate->line, 1); // then wake
 *
 * Enter and sleep are full fences before the caller's next look at the condition, wake is one after the caller's change
 * of it: a waiter that misses the change is found by the waker.
 */
#ifndef PANALOCK_WAITQ_H
#define PANALOCK_WAITQ_H

#include <panalock/thread.h>

PL_EXTERN_C_BEGIN

#define PL_WAITQ_EXCLUSIVE 1 /**< Woken one by one. */

/** Wakes every waiter. */
#define PL_WAITQ_ALL 0x7fffffff

/** Makes the queue empty. */
PL_API int pl_waitq_init(pl_waitq *queue);

/**
 * Joins the line (at its end) without sleeping yet; re-check the condition after it.
 * @return the place, to be passed to the calls below; -ENOSPC (deeper than PL_NESTING contexts); -EINVAL.
 */
PL_API int pl_waitq_enter(pl_thread *self, pl_waitq *queue, uint32_t flags);

/**
 * Sleeps until chosen. Afterwards the caller is out of the line; on its next call it joins again, keeping its arrival
 * time. Blocks. @p flags: PL_WAIT_INTERRUPTIBLE; @p timeout_ns: see PL_FOREVER.
 * @return 0 (chosen); -ETIMEDOUT or -EINTR (still in the line: call leave); -EINVAL.
 */
PL_API int pl_waitq_sleep(pl_thread *self, pl_waitq *queue, int place, int64_t timeout_ns, uint32_t flags);

/**
 * Leaves for good and gives the place back. A wake-up that chose this waiter and was not @p consumed is passed on.
 * A thread that stands in several queues leaves them in reverse order.
 * @return 0; -EINVAL.
 */
PL_API int pl_waitq_leave(pl_thread *self, pl_waitq *queue, int place, int consumed);

/**
 * Wakes all non-exclusive waiters and up to @p exclusive others. @p self: any slot of the waiters' domain.
 * @return how many were chosen; -EINVAL.
 */
PL_API int pl_waitq_wake(pl_thread *self, pl_waitq *queue, int exclusive);

PL_EXTERN_C_END

#endif
