/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the slots that have protected something, and the thread that does it for many. */
#ifndef PL_SRC_SCAN_H
#define PL_SRC_SCAN_H

#include "domain.h"
#include "os/os.h"

#include <panalock/shazptr.h>

typedef struct {
	pl_domain *domain;
	uint32_t group, left;
} pl_scan;

/* Every listed slot once: begin, then next until null. A heavy fence goes before. */
void pl_scan_begin(pl_scan *scan, pl_domain *domain);
pl_thread *pl_scan_next(pl_scan *scan);

static inline uint64_t pl_hazard_of(const pl_thread *slot)
{
	return pl_load64_acq(&slot->hazard); /* G4: acquire, what the reader read before it ended the guard; pairs with G1, G2 */
}
static inline uint64_t pl_wildcard_of(const pl_thread *slot)
{
	return pl_load64_acq(&slot->wildcard); /* G4 */
}

/* Between making objects unreachable and the look at the announcements. */
static inline void pl_scan_fence(const pl_domain *domain)
{
	/* G5: full fence here and on every CPU that runs a reader; pairs with G1, G6, G9 */
	pl_os_heavy_fence(domain->flags & PL_DOMAIN_SHARED);
}

/* A number that wildcards which begin from now on have at least. */
static inline uint64_t pl_scan_raise(pl_domain *domain)
{
	/* G8: release, behind making the object unreachable; pairs with G7 */
	return pl_add64_ar(&domain->hazard_epoch, 1) + 2;
}

/* The scan thread remembers which slots are in a request's way as one of 64 bits. */
static inline uint64_t pl_scan_group(const pl_domain *domain, const pl_thread *slot)
{
	return 1ull << (uint64_t)slot->index * 64 / domain->slots;
}

/*
 * Waits until the scan thread has seen each slot let pass: @blocked are the groups of slots that may still show @name,
 * @epoch the number that wildcards must have (1: none is in the way; 0: the thread raises it first, and fences).
 * 0, or -ENOMEM when there is no scan thread.
 */
int pl_scan_thread_wait(pl_domain *domain, uint64_t name, uint64_t blocked, uint64_t epoch);

#endif
