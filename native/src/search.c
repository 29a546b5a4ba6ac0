/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include "arch/arch.h"
#include "held.h"

enum {
	first_ns = 20000,     /* a waiter that stands by searches so long after it began; a sleeper before it sleeps */
	seldom_ns = 8000000,  /* longest distance of searches */
	tries_max = 8,        /* so many threads that only try a lock of the circle are told from holders */
	tries_looks = 20,     /* by so many looks */
	claim_bits = 16,      /* a claim: the claimant's node number above so many bits of its generation */
	claim_mask = 0xffff,
};

/* ---- what a waiter shows ---- */

void pl_search_begin(pl_search *s, pl_node *node, uint32_t number, uint64_t now)
{
	uint32_t wait = pl_load_rlx(&node->wait) + 1;
	s->node = node;
	s->number = number;
	pl_store_rlx(&node->locked, wait & claim_mask); /* nobody's claim, and unlike any before */
	pl_store_rel(&node->wait, wait);                /* R2 */
	if (s->at != UINT64_MAX)
		s->at = now + first_ns;
}

void pl_search_end(pl_search *s)
{
	if (pl_load_rlx(&s->node->wait) & 1)
		pl_search_pause(s);
	pl_fence(); /* R4: full fence, the end of the wait before any entry that this thread pushes next; pairs with R5 */
}

/* ---- the chain ---- */

typedef struct {
	uint32_t number; /* node that waits */
	uint32_t wait;   /* at this generation */
	uint64_t key;    /* for this lock */
} member;

typedef struct {
	pl_domain *domain;
	pl_thread *self;
	uint32_t level; /* of the searcher's wait */
	uint32_t length;
	member members[PL_CYCLE_MAX]; /* the searcher first */
} chain;

/* True if this slot waits at @level for @key: its entry for it is an attempt, not a hold. */
static bool attempts(pl_thread *slot, uint32_t level, uint64_t key)
{
	pl_node *node = &slot->nodes[level];
	return pl_load_acq(&node->wait) & 1 && pl_held_key(pl_load64_rlx(&node->key)) == key; /* R3: acquire, pairs with R2 */
}

/* The level of a slot's entry for a lock that it does not just wait for; PL_NESTING: it has none. */
static uint32_t entry_level(pl_domain *d, pl_thread *slot, uint64_t key)
{
	uint64_t entries[PL_HELD];
	for (uint32_t n = pl_held_read(d, slot, entries); n-- > 0;) {
		uint32_t since = pl_held_level(entries[n]);
		if (pl_held_key(entries[n]) == key && !attempts(slot, since, key))
			return since;
	}
	return PL_NESTING;
}

static bool waits_from(const pl_thread *slot, uint32_t level)
{
	for (; level < PL_NESTING; level++)
		if (pl_load_acq(&slot->nodes[level].wait) & 1) /* R3 */
			return true;
	return false;
}

/* Entries of threads that do not wait: tries that fail go within moments, what stays is a hold. */
static bool only_tries(pl_domain *d, const uint32_t *slots, uint32_t count, uint64_t key)
{
	for (uint32_t i = 0; i < count; i++) {
		int looks = tries_looks;
		while (entry_level(d, pl_slot(d, slots[i]), key) != PL_NESTING) {
			if (!looks--)
				return false;
			pl_cpu_relax();
		}
	}
	return true;
}

/*
 * The waiting slot that holds a lock, and in @level since which nesting level. Null: its holder does not wait, or is not
 * recorded, or it is not clear who it is.
 */
static pl_thread *holder_of(pl_domain *d, uint64_t key, uint32_t *level)
{
	pl_thread *holder = NULL;
	uint32_t others[tries_max], count = 0;
	for (uint32_t i = 1, used = pl_slots_used(d); i < used; i++) {
		pl_thread *slot = pl_slot(d, i);
		if (pl_load_acq(&slot->state) != PL_SLOT_USED) /* T3: acquire, pairs with T2 */
			continue;
		uint32_t since = entry_level(d, slot, key);
		if (since == PL_NESTING)
			continue;
		if (!waits_from(slot, since)) {
			if (count == tries_max)
				return NULL;
			others[count++] = i;
		} else if (holder) {
			return NULL;
		} else {
			holder = slot;
			*level = since;
		}
	}
	return holder && only_tries(d, others, count, key) ? holder : NULL;
}

/* False if we can tell that the lock is free: the entry that says otherwise is being cleared. */
static bool seems_held(chain *c, uint64_t key, const pl_thread *holder)
{
	const uint32_t *word;
	if (key < c->domain->size)
		word = (const uint32_t *)(const void *)((char *)c->domain + key);
	else if (holder == c->self && key & PL_KEY_LOCAL)
		word = (const uint32_t *)(uintptr_t)(key & ((1ull << PL_KEY_REGION_SHIFT) - 1));
	else
		return true;
	return pl_load_rlx(word) & PL_Q_LOCKED;
}

static bool in_chain(const chain *c, const pl_thread *slot)
{
	for (uint32_t i = 0; i < c->length; i++)
		if (c->members[i].number / PL_NESTING == slot->index)
			return true;
	return false;
}

/* From the last member on. True when the chain has come back to the searcher. */
static bool follow(chain *c)
{
	uint32_t since = 0;
	uint64_t key = c->members[c->length - 1].key;
	pl_thread *holder = holder_of(c->domain, key, &since);
	if (!holder || !seems_held(c, key, holder))
		return false;
	if (holder == c->self)
		return since <= c->level;
	if (in_chain(c, holder) || c->length == PL_CYCLE_MAX) /* a circle, but not with us in it */
		return false;
	for (uint32_t level = since; level < PL_NESTING; level++) {
		pl_node *node = &holder->nodes[level];
		uint32_t wait = pl_load_acq(&node->wait); /* R3 */
		if (!(wait & 1))
			continue;
		c->members[c->length++] = (member){pl_node_number(holder, level), wait, pl_held_key(pl_load64_rlx(&node->key))};
		if (follow(c))
			return true;
		c->length--;
	}
	return false;
}

/* The second collection: every wait and every hold is as it was. */
static bool unchanged(chain *c)
{
	for (uint32_t i = 0; i < c->length; i++) {
		const member *m = &c->members[i], *next = &c->members[(i + 1) % c->length];
		uint32_t since = PL_NESTING;
		const pl_thread *holder = holder_of(c->domain, m->key, &since);
		if (!holder || holder->index != next->number / PL_NESTING || since > next->number % PL_NESTING)
			return false;
		const pl_node *node = pl_node_at(c->domain, m->number);
		if (pl_held_key(pl_load64_rlx(&node->key)) != m->key)
			return false;
	}
	pl_fence(); /* R5: full fence, the holds before the last look at the waits; pairs with R4 */
	for (uint32_t i = 0; i < c->length; i++)
		if (pl_load_acq(&pl_node_at(c->domain, c->members[i].number)->wait) != c->members[i].wait) /* R3 */
			return false;
	return true;
}

/* ---- the victim ---- */

static uint32_t *registrar(chain *c)
{
	uint32_t lowest = c->members[0].number;
	for (uint32_t i = 1; i < c->length; i++)
		if (c->members[i].number < lowest)
			lowest = c->members[i].number;
	return &pl_node_at(c->domain, lowest)->locked;
}

/* True if the claimant still is where it claimed: it is about to leave. */
static bool is_leaving(pl_domain *d, uint32_t claim)
{
	const pl_node *node = pl_node_at(d, claim >> claim_bits);
	return node && (pl_load_acq(&node->wait) & claim_mask) == (claim & claim_mask); /* R3 */
}

static void explain(const chain *c, pl_deadlock *report)
{
	report->length = c->length;
	report->pad = 0;
	for (uint32_t i = 0; i < c->length; i++)
		report->waits[i] = (pl_deadlock_wait){c->members[i].number / PL_NESTING, c->members[i].number % PL_NESTING,
						      c->members[i].key};
}

static bool find(pl_search *s)
{
	chain c;
	c.domain = pl_thread_domain(s->self);
	c.self = s->self;
	c.level = s->number % PL_NESTING;
	c.length = 1;
	c.members[0] = (member){s->number, pl_load_rlx(&s->node->wait), pl_held_key(pl_load64_rlx(&s->node->key))};
	pl_fence(); /* R1: full fence, our wait before the look at others; pairs with itself */
	if (!follow(&c))
		return false;
	uint32_t *claims = registrar(&c);
	uint32_t before = pl_load_acq(claims); /* R6: acquire, pairs with itself: who claimed before had left when we collect */
	if (is_leaving(c.domain, before) || !unchanged(&c))
		return false;
	if (!pl_cas_ar(claims, before, s->number << claim_bits | (c.members[0].wait & claim_mask))) /* R6: and release */
		return false;
	if (s->report)
		explain(&c, s->report);
	return true;
}

bool pl_search_due(pl_search *s, uint64_t now)
{
	if (PL_LIKELY(now < s->at))
		return false;
	s->gap_ns = !s->gap_ns ? PL_SEARCH_AGAIN_NS : s->gap_ns * 2 > seldom_ns ? seldom_ns : s->gap_ns * 2;
	s->at = now + s->gap_ns;
	return find(s);
}
