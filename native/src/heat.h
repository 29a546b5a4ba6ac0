/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat: how often of late a thread contended again right after a contended acquisition. A hot thread's lock is used back
 * to back, so its owner is left alone for a slice. Touched by the owning thread only.
 */
#ifndef PL_SRC_HEAT_H
#define PL_SRC_HEAT_H

#include <panalock/thread.h>

enum {
	/*
	 * Back to back is who contends again within what a hand-over costs: the lock's line and the data's move to the other CPU
	 * and back. Two CPUs of a virtual machine that were 450 ns apart made locks that thought 400 ns enough pass from hand to
	 * hand all the time. Nobody with 500 ns of work outside, who does not contend, comes back so soon.
	 */
	hot_ns = 600,
	hot_max = 16, /* highest heat */
	hot_from = 4, /* heat from which the owner is left alone for its slice */
};

static inline bool pl_is_hot(const pl_thread *self) { return self->heat >= hot_from; }

/* To be called when the thread has to wait. */
static inline void pl_warm(pl_thread *self, uint64_t now)
{
	bool soon = now - self->acquired < hot_ns;
	if (soon && self->heat < hot_max)
		self->heat++;
	else if (!soon && self->heat)
		self->heat--;
}

#endif
