/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_traffic.h"

#include "support.h"

#include <stdlib.h>
#include <string.h>

pl_ring *ring_new(uint64_t bytes, uint32_t flags, uint32_t lock)
{
	pl_ring_options o = {.bytes = bytes, .flags = flags, .lock = lock};
	pl_ring *r = NULL;
	REQUIRE_EQUAL(QUIETLY(pl_ring_create(&o, &r)), 0);
	return r;
}

void ring_fill(uint8_t *p, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(seed + i * 7);
}

bool ring_filled(const uint8_t *p, uint32_t bytes, uint32_t seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (p[i] != (uint8_t)(seed + i * 7))
			return false;
	return true;
}

typedef struct {
	uint32_t producer, check;
	uint64_t number;
	uint8_t rest[]; /* producer-dependent length, filled */
} message;

enum { most_producers = 52 };

typedef struct {
	pl_ring *r;
	int producers;
	uint64_t each;            /* records that a producer tries to make */
	uint32_t running;
	uint64_t made[most_producers], dropped[most_producers], number[most_producers];
	uint64_t next[most_producers]; /* consumer: number of the last record seen */
	uint64_t seen, gaps;
	uint32_t discards;
} traffic;

static uint32_t rest_of(uint64_t number) { return (uint32_t)(number * 2654435761u >> 7) % 40; }

static void produce(int index, void *shared)
{
	traffic *t = shared;
	pl_thread *self = pl_self_in(t->r->domain);
	for (uint64_t i = 1; i <= t->each; i++) {
		message *m;
		uint64_t number = t->made[index] + 1;
		uint32_t rest = rest_of(number);
		int err = pl_ring_reserve(self, t->r, (uint32_t)sizeof *m + rest, (void **)&m);
		if (err) {
			REQUIRE(err == -EAGAIN || err == -ETIMEDOUT); /* the latter: rqspinlock on a machine that has no time for us */
			t->dropped[index]++;
			continue;
		}
		if (i % 16 == 0) { /* discarded ones must not be seen, whatever is in them */
			memset(m, 0xee, sizeof *m + rest);
			REQUIRE_EQUAL(pl_ring_discard(self, t->r, m, 0), 0);
			continue;
		}
		m->producer = (uint32_t)index;
		m->number = number;
		m->check = (uint32_t)index * 31 + (uint32_t)number;
		ring_fill(m->rest, rest, m->check);
		t->made[index] = number;
		REQUIRE_EQUAL(pl_ring_commit(self, t->r, m, 0), 0);
	}
	__atomic_fetch_sub(&t->running, 1, __ATOMIC_RELEASE);
	pl_ring_wake(self, t->r);
}

static int receive(void *context, void *record, uint32_t bytes)
{
	traffic *t = context;
	message *m = record;
	REQUIRE(bytes >= sizeof *m && m->producer < (uint32_t)t->producers);
	REQUIRE_EQUAL(bytes, sizeof *m + rest_of(m->number));
	REQUIRE_EQUAL(m->check, m->producer * 31 + (uint32_t)m->number);
	REQUIRE(ring_filled(m->rest, bytes - (uint32_t)sizeof *m, m->check));
	if (t->r->flags & PL_RING_OVERWRITE) {
		REQUIRE(m->number > t->next[m->producer]);
		t->gaps += m->number - t->next[m->producer] - 1;
	} else {
		REQUIRE_EQUAL(m->number, t->next[m->producer] + 1); /* each once, in order */
	}
	t->next[m->producer] = m->number;
	t->seen++;
	return 0;
}

static void consume_all(traffic *t)
{
	pl_thread *self = pl_self_in(t->r->domain);
	for (;;) {
		bool ended = __atomic_load_n(&t->running, __ATOMIC_ACQUIRE) == 0;
		int64_t n = pl_ring_drain(t->r, receive, t, 0);
		REQUIRE(n >= 0);
		if (ended && n == 0)
			return;
		if (n == 0 && !ended)
			REQUIRE_EQUAL(pl_ring_wait(self, t->r, 5 * ms, 0) % ETIMEDOUT, 0);
	}
}

void ring_traffic(int producers, uint32_t flags, uint32_t lock, uint64_t bytes, uint64_t records)
{
	traffic *t = calloc(1, sizeof *t);
	t->r = ring_new(bytes, flags, lock);
	t->producers = producers;
	t->running = (uint32_t)producers;
	t->each = records / (uint64_t)producers + 20;
	crew *c = crew_start(producers, produce, t);
	consume_all(t);
	crew_join(c);
	uint64_t made = 0;
	for (int i = 0; i < producers; i++) {
		made += t->made[i];
		if (!(flags & PL_RING_OVERWRITE))
			REQUIRE_EQUAL(t->made[i], t->next[i]);
	}
	REQUIRE_EQUAL(pl_ring_query(t->r, PL_RING_AVAILABLE), 0);
	if (flags & PL_RING_OVERWRITE) {
		for (int i = 0; i < producers; i++)
			t->gaps += t->made[i] - t->next[i]; /* the last ones may be lost too */
		REQUIRE_EQUAL(t->seen + t->gaps, made);
		/* Overwritten before the consumer had passed them; one that it was just reading counts as well. */
		REQUIRE(pl_ring_query(t->r, PL_RING_LOST) >= t->gaps);
	} else {
		REQUIRE_EQUAL(t->seen, made);
	}
	REQUIRE_EQUAL(pl_ring_close(t->r), 0);
	free(t);
}
