/* SPDX-License-Identifier: Apache-2.0 */
#include "hazard_hammer.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { places = 8, words = 7, by_bucket = 4, poison = 0xdb };

typedef struct {
	pl_shazptr_retired retired; /* first */
	uint64_t data[words];       /* all the same: the number of the place */
} node;

typedef struct {
	pl_domain *domain;
	void *place[places]; /* the nodes; from by_bucket on readers protect the place, not the node */
	uint64_t reads, wanted;
	int readers;
} hammer;

static node *new_node(uint64_t place)
{
	node *n = malloc(sizeof *n);
	REQUIRE(n);
	for (int i = 0; i < words; i++)
		n->data[i] = place;
	return n;
}

static void poison_and_free(node *n)
{
	memset(n->data, poison, sizeof n->data);
	free(n);
}

static void reclaim(pl_shazptr_retired *r) { poison_and_free((node *)(void *)r); }

static void read_node(const node *n, uint64_t place)
{
	for (int i = 0; i < words; i++)
		REQUIRE_EQUAL(n->data[i], place);
}

/* One guarded read, and inside it sometimes others. */
static uint64_t read_place(hammer *h, pl_thread *self, uint32_t *random, int deep)
{
	uint32_t r = random_next(random);
	uint64_t place = r % places, guard, reads = 1;
	node *n;
	if (place < by_bucket) {
		int err = pl_shazptr_try_protect(self, &h->place[place], (void **)&n, &guard);
		if (err == -EAGAIN)
			return 0;
		REQUIRE_EQUAL(err, 0);
	} else {
		guard = pl_shazptr_acquire(self, (uintptr_t)&h->place[place]);
		n = __atomic_load_n(&h->place[place], __ATOMIC_ACQUIRE);
	}
	read_node(n, place);
	if (deep < 3 && r >> 8 & 1)
		reads += read_place(h, self, random, deep + 1);
	read_node(n, place);
	pl_shazptr_clear(self, guard);
	return reads;
}

static void replace(hammer *h, pl_thread *self, uint32_t *random)
{
	uint32_t r = random_next(random);
	uint64_t place = r % places;
	node *old = __atomic_exchange_n(&h->place[place], new_node(place), __ATOMIC_ACQ_REL);
	uint64_t name = place < by_bucket ? (uintptr_t)old : (uintptr_t)&h->place[place];
	switch (r >> 8 & 3) {
	case 0:
		REQUIRE_EQUAL(pl_shazptr_synchronize(self, name, PL_SHAZPTR_SKIP_SELF_SCAN), 0);
		poison_and_free(old);
		break;
	case 1:
		REQUIRE_EQUAL(pl_shazptr_retire(self, &old->retired, name, reclaim), 0);
		break;
	default:
		REQUIRE_EQUAL(pl_shazptr_synchronize(self, name, 0), 0);
		poison_and_free(old);
	}
}

static void work(int index, void *shared)
{
	hammer *h = shared;
	pl_thread *self = pl_self_in(h->domain);
	uint32_t random = 4711 * ((uint32_t)index + 1);
	REQUIRE(self);
	while (pl_load64_acq(&h->reads) < h->wanted)
		if (index < h->readers) {
			uint64_t reads = 0;
			for (int i = 0; i < 100; i++)
				reads += read_place(h, self, &random, 0);
			pl_add64_ar(&h->reads, reads);
		} else {
			replace(h, self, &random);
		}
}

void hazard_hammer(uint64_t reads, int readers, int writers)
{
	hammer h = {.wanted = reads, .readers = readers};
	pl_domain_options o = {.slots = 64};
	REQUIRE_EQUAL(pl_domain_create(&o, &h.domain), 0);
	for (uint64_t i = 0; i < places; i++)
		h.place[i] = new_node(i);
	crew_run(readers + writers, work, &h);
	REQUIRE_EQUAL(pl_shazptr_drain(pl_self_in(h.domain)), 0);
	for (int i = 0; i < places; i++)
		free(h.place[i]);
	REQUIRE_EQUAL(pl_domain_close(h.domain), 0);
}
