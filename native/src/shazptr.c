/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hazards: the reader's slow paths, and the writer who looks for himself. reclaim.c has the scan thread.
 *
 * Who may write what:
 *   hazard    its slot's thread and that thread's signal handlers, who leave it as they found it. UNLISTED only before
 *             the first guard and after the slot was given back; whoever takes a dead thread's slot over sets it to IDLE.
 *   wildcard  the same. Non-zero only while `hazard` is a name.
 *   listed    the bit of a slot: set by its thread before `hazard` becomes anything but UNLISTED, cleared after it has
 *             become UNLISTED again.
 *   epoch     raised by writers, never lowered.
 *
 * What a writer must have seen of each slot before it may return, for a name p and a number m that the epoch had reached
 * after p became unreachable: once `hazard` != p, and once `wildcard` = 0 or a number of m or more. Not both at once:
 * an outermost guard on p that began before keeps `hazard` at p until it ends; a nested guard that began before keeps
 * `wildcard` at a number below m until it ends, since guards nested in it keep its number.
 *
 * Why once is enough: a guard that begins after that look finds p unreachable (the store-buffer argument in shazptr.h).
 * Why a wildcard numbered m or more does not count: its reader read the epoch (G7) as it was after p became
 * unreachable (G8), so what it looks for afterwards is not p. Hence nested guards that come later never hold a writer
 * up: after it has raised the epoch each thread can show it at most one more number below m, read before.
 */
#define PL_NO_INLINE
#include "hazard.h"

#include "arch/arch.h"
#include "os/os.h"
#include "scan.h"

#include <errno.h>

static uint32_t group_of(const pl_thread *slot) { return slot->index / 32; }
static uint32_t bit_of(const pl_thread *slot) { return 1u << slot->index % 32; }

static bool bad_slot(const pl_thread *self) { return !self || (uintptr_t)self % _Alignof(pl_thread) || self->index == 0; }

/* ---- readers ---- */

uint64_t pl_shazptr_acquire_slow(pl_thread *self, uint64_t name)
{
	pl_domain *domain = pl_thread_domain(self);
	uint64_t hazard = pl_load64_rlx(&self->hazard);
	if (hazard < PL_HAZARD_FIRST_NAME) {
		if (hazard == PL_HAZARD_UNLISTED)
			pl_or_ar(&pl_listed(domain)[group_of(self)], bit_of(self)); /* G9: release, before G1 of this slot; pairs with G10 */
		pl_store64_rel(&self->hazard, name); /* G1 */
		return PL_HAZARD_IDLE;
	}
	uint64_t before = pl_load64_rlx(&self->wildcard), nesting = before & PL_WILDCARD_NESTING;
	uint64_t number = before >> PL_WILDCARD_SHIFT;
	if (!before)
		number = pl_load64_acq(&domain->hazard_epoch) + 1; /* G7: acquire, pairs with G8 */
	nesting += nesting < PL_WILDCARD_NESTING;
	pl_store64_rel(&self->wildcard, number << PL_WILDCARD_SHIFT | nesting); /* G1 */
	return before;
}

/* A guard is what the slot goes back to: IDLE for the outermost, else the wildcard as it was. */
void pl_shazptr_clear_slow(pl_thread *self, uint64_t guard)
{
	if (guard == PL_HAZARD_IDLE)
		pl_store64_rel(&self->hazard, PL_HAZARD_IDLE); /* G2 */
	else if (guard != PL_NO_GUARD)
		pl_store64_rel(&self->wildcard, guard); /* G2 */
}

uint64_t pl_shazptr_acquire(pl_thread *self, uint64_t name)
{
	if (bad_slot(self) || name < PL_HAZARD_FIRST_NAME)
		return PL_NO_GUARD;
	return pl_shazptr_acquire_inline(self, name);
}

int pl_shazptr_clear(pl_thread *self, uint64_t guard)
{
	if (bad_slot(self) || guard == PL_NO_GUARD)
		return -EINVAL;
	uint64_t wildcard = pl_load64_rlx(&self->wildcard), nesting = wildcard & PL_WILDCARD_NESTING;
	if (!pl_hazard_active(self))
		return -EPERM;
	if (guard == PL_HAZARD_IDLE) {
		if (wildcard)
			return -EPERM;
	} else {
		uint64_t number = guard >> PL_WILDCARD_SHIFT, below = guard & PL_WILDCARD_NESTING;
		if (!wildcard || (guard && (number != wildcard >> PL_WILDCARD_SHIFT || !below)))
			return -EPERM;
		if (nesting < PL_WILDCARD_NESTING && below + 1 != nesting) /* beyond that depth guards are trusted */
			return -EPERM;
	}
	return pl_shazptr_clear_inline(self, guard);
}

int pl_shazptr_try_protect(pl_thread *self, void *const *source, void **object, uint64_t *guard)
{
	if (bad_slot(self) || !source || (uintptr_t)source % _Alignof(void *) || !object || !guard ||
	    pl_thread_domain(self)->flags & PL_DOMAIN_SHARED)
		return -EINVAL;
	if ((uintptr_t)__atomic_load_n(source, __ATOMIC_RELAXED) == PL_HAZARD_IDLE)
		return -EINVAL; /* no object has that address */
	return pl_shazptr_try_protect_inline(self, source, object, guard);
}

uint64_t pl_shazptr_name(pl_thread *self, const void *object)
{
	if (!self || !object)
		return 0;
	pl_domain *domain = pl_thread_domain(self);
	return domain->flags & PL_DOMAIN_SHARED ? pl_key(domain, object) : (uintptr_t)object;
}

/* ---- slots that change hands ---- */

void pl_hazard_unlist(pl_domain *domain, pl_thread *slot)
{
	if (!pl_load64_rlx(&slot->hazard))
		return;
	pl_store64_rel(&slot->wildcard, 0); /* G2 */
	pl_store64_rel(&slot->hazard, PL_HAZARD_UNLISTED); /* G2 */
	pl_and_ar(&pl_listed(domain)[group_of(slot)], ~bit_of(slot)); /* G9 */
}

void pl_hazards_after_fork(pl_domain *domain, const pl_thread *keep)
{
	for (uint32_t i = 0; i < (domain->slots + 31) / 32; i++)
		pl_listed(domain)[i] = 0;
	for (uint32_t i = 1; i < domain->slots; i++) {
		pl_thread *slot = pl_slot(domain, i);
		if (slot != keep)
			slot->hazard = slot->wildcard = 0;
		else if (slot->hazard)
			pl_listed(domain)[group_of(slot)] = bit_of(slot);
	}
}

/* ---- the scan ---- */

void pl_scan_begin(pl_scan *scan, pl_domain *domain)
{
	scan->domain = domain;
	scan->group = 0;
	/* G10: acquire, behind the heavy fence: a slot that is not listed yet has not announced anything either; pairs with G9 */
	scan->left = pl_load_acq(&pl_listed(domain)[0]);
}

pl_thread *pl_scan_next(pl_scan *scan)
{
	pl_domain *d = scan->domain;
	while (!scan->left) {
		if (++scan->group >= (d->slots + 31) / 32)
			return NULL;
		scan->left = pl_load_acq(&pl_listed(d)[scan->group]); /* G10 */
	}
	uint32_t index = scan->group * 32 + (uint32_t)__builtin_ctz(scan->left);
	scan->left &= scan->left - 1;
	return index < d->slots ? pl_slot(d, index) : NULL; /* damaged memory of another process */
}

int pl_shazptr_is_protected(pl_domain *domain, uint64_t name)
{
	if (!pl_is_domain(domain) || name < PL_HAZARD_FIRST_NAME)
		return -EINVAL;
	pl_scan scan;
	pl_scan_begin(&scan, domain);
	for (pl_thread *slot; (slot = pl_scan_next(&scan));)
		if (pl_hazard_of(slot) == name || pl_wildcard_of(slot))
			return 1;
	return 0;
}

/* ---- writers ---- */

/*
 * Looks at one slot until it has shown what it must (see the top), or @until is past. What it has shown already is kept in
 * the flags. The epoch is raised once per call of synchronize, when a wildcard is in the way.
 */
typedef struct {
	pl_domain *domain;
	uint64_t name;
	uint64_t epoch; /* m; 0: not raised yet */
} writer;

static bool wildcard_blocks(writer *w, const pl_thread *slot)
{
	uint64_t wildcard = pl_wildcard_of(slot);
	if (!wildcard)
		return false;
	if (!w->epoch)
		w->epoch = pl_scan_raise(w->domain);
	return wildcard >> PL_WILDCARD_SHIFT < w->epoch;
}

static bool slot_blocks(writer *w, const pl_thread *slot, bool *named, bool *nested)
{
	uint64_t hazard = pl_hazard_of(slot);
	if (hazard < PL_HAZARD_FIRST_NAME)
		return *named = *nested = false; /* no guard at all, so none is nested either */
	*named = *named && hazard == w->name;
	*nested = *nested && wildcard_blocks(w, slot);
	return *named || *nested;
}

/* True if the slot let us pass before @until. */
static bool outwait(writer *w, const pl_thread *slot, bool *named, bool *nested, uint64_t until)
{
	enum { looks = 16, distance_ns = 100 };
	do {
		for (int i = 0; i < looks; i++) {
			if (!slot_blocks(w, slot, named, nested))
				return true;
			pl_os_watch((const uint32_t *)(*named ? &slot->hazard : &slot->wildcard),
				    (uint32_t)(*named ? w->name : pl_load64_rlx(&slot->wildcard)), distance_ns);
		}
	} while (pl_os_now() < until);
	return false;
}

int pl_shazptr_synchronize(pl_thread *self, uint64_t name, uint32_t flags)
{
	enum { spin_ns = 20000 };
	if (!self || (uintptr_t)self % _Alignof(pl_thread) || name < PL_HAZARD_FIRST_NAME ||
	    flags & ~(uint32_t)PL_SHAZPTR_SKIP_SELF_SCAN)
		return -EINVAL;
	pl_domain *domain = pl_thread_domain(self);
	if (pl_hazard_active(self) && (pl_load64_rlx(&self->hazard) == name || pl_load64_rlx(&self->wildcard)))
		return -EDEADLK;
	if (flags & PL_SHAZPTR_SKIP_SELF_SCAN && pl_scan_thread_wait(domain, name, UINT64_MAX, 0) == 0)
		return 0;
	pl_scan_fence(domain);
	writer w = {domain, name, 0};
	uint64_t until = 0, blocked = 0;
	bool any_nested = false;
	pl_scan scan;
	pl_scan_begin(&scan, domain);
	for (pl_thread *slot; (slot = pl_scan_next(&scan));) {
		bool named = true, nested = true;
		if (PL_LIKELY(!slot_blocks(&w, slot, &named, &nested)))
			continue;
		if (!until)
			until = pl_os_now() + spin_ns;
		if (!outwait(&w, slot, &named, &nested, until)) {
			blocked |= named ? pl_scan_group(domain, slot) : 0;
			any_nested = any_nested || nested;
		}
	}
	if (PL_LIKELY(!blocked && !any_nested))
		return 0;
	if (pl_scan_thread_wait(domain, name, blocked, any_nested ? w.epoch : 1) == 0)
		return 0;
	/* No scan thread to be had: look on, slot by slot. */
	enum { nap_ns = 1000000 };
	pl_scan_begin(&scan, domain);
	for (pl_thread *slot; (slot = pl_scan_next(&scan));) {
		bool named = true, nested = true;
		while (!outwait(&w, slot, &named, &nested, 0) && !pl_slot_orphaned(domain, slot))
			pl_futex_wait(&(uint32_t){0}, 0, nap_ns, 0);
	}
	return 0;
}
