/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards inside the library: what happens to them when slots change hands, and the scan. */
#ifndef PL_SRC_HAZARD_H
#define PL_SRC_HAZARD_H

#include "domain.h"

#include <panalock/shazptr.h>

/* The slot protects nothing any more, and writers need not look at it. By its owner, or when that is gone. */
void pl_hazard_unlist(pl_domain *domain, pl_thread *slot);

/* The slot's guards end, whatever they were: its owner has ended. */
static inline void pl_hazard_forget(pl_thread *slot)
{
	if (!pl_load64_rlx(&slot->hazard))
		return;
	pl_store64_rel(&slot->wildcard, 0); /* G2 */
	pl_store64_rel(&slot->hazard, PL_HAZARD_IDLE); /* G2 */
}

static inline bool pl_hazard_active(const pl_thread *slot) { return pl_load64_rlx(&slot->hazard) >= PL_HAZARD_FIRST_NAME; }

/* A private domain in a forked child: only @keep's hazards are left. */
void pl_hazards_after_fork(pl_domain *domain, const pl_thread *keep);

/* The domain is being closed: what waits in it is reclaimed now, since its readers are gone. */
void pl_shazptr_close(pl_domain *domain);

#endif
