/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include "arch/arch.h"
#include "held.h"

enum {
	first_ns = 20000,     /* a waiter that stands by searches so long after it began; a sleeper before it sleeps */
	seldom_ns = 8000000,  /* longest distance of searches */
	tries_max = 8,        /* so many threads that only try a lock of the circle are told from holders */
	tries_looks = 20,     /* by so many looks */
	holds_max = 8,        /* threads that may hold one lock, as the tables say */
	steps_max = 4 * PL_CYCLE_MAX, /* waits that one search looks at */
	mixed_min = 6,        /* a circle that we may be in is reported when so many searches in a row have found it */
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
	uint32_t from;   /* index of the member that waits for what this one seems to hold */
	uint64_t key;    /* for this lock */
} member;

typedef struct {
	pl_domain *domain;
	pl_thread *self;
	uint32_t level; /* of the searcher's wait */
	uint32_t steps; /* left until we give up */
	uint32_t last;  /* index of the member whose lock the searcher seems to hold; NOBODY */
	uint32_t length;
	member members[PL_CYCLE_MAX]; /* the searcher first */
} chain;

enum { NOBODY = PL_CYCLE_MAX };

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

typedef struct {
	pl_thread *slot;
	uint32_t level; /* nesting level since which it has the lock */
} hold;

/*
 * The waiting slots that hold a lock, as the tables say: one, or more while a handler that waits has interrupted code that is
 * about to take the lock or has just released it. 0: the holder does not wait, or is not recorded, or it is not clear who it is.
 * Out of line, so that its arrays are not in every frame of the recursion below.
 */
static __attribute__((noinline)) uint32_t holders_of(pl_domain *d, uint64_t key, hold holds[holds_max])
{
	uint32_t others[tries_max], count = 0, found = 0;
	for (uint32_t i = 1, used = pl_slots_used(d); i < used; i++) {
		pl_thread *slot = pl_slot(d, i);
		if (pl_load_acq(&slot->state) != PL_SLOT_USED) /* T3: acquire, pairs with T2 */
			continue;
		uint32_t since = entry_level(d, slot, key);
		if (since == PL_NESTING)
			continue;
		if (!waits_from(slot, since)) {
			if (count == tries_max)
				return 0;
			others[count++] = i;
		} else {
			if (found == holds_max)
				return 0;
			holds[found++] = (hold){slot, since};
		}
	}
	return only_tries(d, others, count, key) ? found : 0;
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

static bool on_path(const chain *c, uint32_t at, uint32_t number)
{
	while (c->members[at].number != number) {
		if (!at)
			return false;
		at = c->members[at].from;
	}
	return true;
}

typedef enum {
	MOVES,     /* it may end */
	ELSEWHERE, /* it waits for a circle */
	MIXED,     /* it waits for a circle, with the searcher in it or not: that depends on who holds a lock */
	OURS,      /* it waits for a circle with the searcher in it */
	OPEN,      /* not known yet: it has become the last member */
} fate;

/* What becomes of the wait at this level of one that may hold what member @at waits for. */
static fate enter(chain *c, uint32_t at, pl_thread *slot, uint32_t level)
{
	pl_node *node = &slot->nodes[level];
	uint32_t number = pl_node_number(slot, level), wait = pl_load_acq(&node->wait); /* R3 */
	if (!(wait & 1) || c->length == PL_CYCLE_MAX)
		return MOVES;
	if (on_path(c, at, number))
		return ELSEWHERE;
	c->members[c->length++] = (member){number, wait, at, pl_held_key(pl_load64_rlx(&node->key))};
	return OPEN;
}

static fate fate_of(chain *c, uint32_t at);

static fate fate_at(chain *c, uint32_t at, const hold *h, uint32_t level)
{
	fate f = enter(c, at, h->slot, level);
	return f == OPEN ? fate_of(c, c->length - 1) : f;
}

/* One that may hold what member @at waits for goes on when all of its waits have ended. */
static fate fate_of_holder(chain *c, uint32_t at, const hold *h)
{
	if (!seems_held(c, c->members[at].key, h->slot))
		return MOVES;
	if (h->slot == c->self) {
		if (h->level > c->level)
			return MOVES;
		c->last = at;
		return OURS;
	}
	uint32_t length = c->length, last = c->last, best_level = 0;
	fate best = MOVES;
	for (uint32_t level = h->level; level < PL_NESTING; level++) {
		fate f = fate_at(c, at, h, level);
		if (f == OURS)
			return OURS;
		c->length = length;
		c->last = last;
		if (f > best) {
			best = f;
			best_level = level;
		}
	}
	return best == MOVES ? MOVES : fate_at(c, at, h, best_level); /* once more, for its members */
}

/* The level of the only wait that such a holder has; PL_NESTING: it has several, or is the searcher. */
static uint32_t plain_wait(const chain *c, const hold *h)
{
	uint32_t found = PL_NESTING;
	for (uint32_t level = h->level; level < PL_NESTING; level++)
		if (pl_load_acq(&h->slot->nodes[level].wait) & 1) { /* R3 */
			if (found != PL_NESTING)
				return PL_NESTING;
			found = level;
		}
	return h->slot == c->self ? PL_NESTING : found;
}

/* Member @at can go on as soon as anybody of those that may hold its lock can: that one may be who holds it. */
static fate fate_of(chain *c, uint32_t at)
{
	hold holds[holds_max];
	for (;;) {
		uint32_t count = c->steps && c->steps-- ? holders_of(c->domain, c->members[at].key, holds) : 0;
		uint32_t level = count == 1 ? plain_wait(c, &holds[0]) : PL_NESTING;
		if (level == PL_NESTING) {
			fate all = count ? fate_of_holder(c, at, &holds[0]) : MOVES;
			for (uint32_t i = 1; i < count && all != MOVES; i++) {
				fate f = fate_of_holder(c, at, &holds[i]);
				all = f == MOVES || f == all ? f : MIXED;
			}
			return all;
		}
		/* The usual chain: no recursion, for stacks may be small. */
		fate f = seems_held(c, c->members[at].key, holds[0].slot) ? enter(c, at, holds[0].slot, level) : MOVES;
		if (f != OPEN)
			return f;
		at = c->length - 1;
	}
}

/* True if this hold is one that was found for what member @at waits for. */
static bool known(const chain *c, uint32_t at, const hold *h)
{
	if (h->slot == c->self)
		return h->level <= c->level;
	for (uint32_t i = 1; i < c->length; i++) {
		uint32_t number = c->members[i].number;
		bool follows = c->members[i].from == at || on_path(c, at, number);
		if (follows && number / PL_NESTING == h->slot->index && number % PL_NESTING >= h->level)
			return true;
	}
	return false;
}

/* The second collection: every wait and every hold is as it was, and nobody else has got a lock. */
static bool unchanged(chain *c)
{
	for (uint32_t i = 0; i < c->length; i++) {
		hold holds[holds_max];
		const member *m = &c->members[i];
		uint32_t count = holders_of(c->domain, m->key, holds);
		if (!count || pl_held_key(pl_load64_rlx(&pl_node_at(c->domain, m->number)->key)) != m->key)
			return false;
		while (count--)
			if (!known(c, i, &holds[count]))
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

/* True if the claimant still is where it claimed, and about to leave: not when a handler waits on top of it. */
static bool is_leaving(pl_domain *d, uint32_t claim)
{
	uint32_t number = claim >> claim_bits;
	const pl_node *node = pl_node_at(d, number);
	return node && (pl_load_acq(&node->wait) & claim_mask) == (claim & claim_mask) && /* R3 */
	       !waits_from(pl_slot(d, number / PL_NESTING), number % PL_NESTING + 1);
}

/* The circle alone: from its last member back to the searcher. */
static void explain(const chain *c, pl_deadlock *report)
{
	uint32_t length = 1;
	for (uint32_t at = c->last; at; at = c->members[at].from)
		length++;
	report->length = length;
	report->pad = 0;
	for (uint32_t at = c->last; length--; at = c->members[at].from) {
		const member *m = &c->members[at];
		report->waits[length] = (pl_deadlock_wait){m->number / PL_NESTING, m->number % PL_NESTING, m->key};
	}
}

static bool find(pl_search *s)
{
	chain c;
	c.domain = pl_thread_domain(s->self);
	c.self = s->self;
	c.level = s->number % PL_NESTING;
	c.steps = steps_max;
	c.last = NOBODY;
	c.length = 1;
	c.members[0] = (member){s->number, pl_load_rlx(&s->node->wait), 0, pl_held_key(pl_load64_rlx(&s->node->key))};
	pl_fence(); /* R1: full fence, our wait before the look at others; pairs with itself */
	fate f = fate_of(&c, 0);
	s->mixed = f == MIXED ? s->mixed + 1 : 0;
	if (f != OURS && s->mixed < mixed_min)
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
