/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs of locks and unlocks, over 6 locks by 8 threads, many of which really deadlock. Every step is logged with a
 * sequence number, taken so that the log's order is one in which the steps can have happened:
 *
 *   WANT     before the call that may wait: the thread holds what it held;
 *   GOT      after it has returned with the lock: the lock was free at some moment before;
 *   REFUSED  after it has returned -EDEADLK;
 *   LEAVE    before the call that releases.
 *
 * A single thread then replays the log against a model of owners and waits:
 *   - GOT: nobody else may own the lock (an owner has logged LEAVE before it released);
 *   - REFUSED: from the call's WANT on there was a moment at which the model had a circle through this thread, or the thread
 *     owned the lock itself;
 *   - one victim: a circle of the model costs one of its threads, so each REFUSED needs a circle that no earlier one has used up;
 *   - at the end everything is free, nobody waits, every table is empty. A program that hangs meets the watchdog.
 */
#include "oracle.h"

#include "domain.h"
#include "held.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { threads = 8, locks = 6, steps = 6, most_events = threads * steps * 12 };

typedef enum { WANT, GOT, REFUSED, LEAVE } what;

typedef struct {
	what what;
	int thread, lock;
} event;

typedef struct {
	uint32_t seed, next, ready, turn, over;
	int layout;
	pl_domain *domain;
	any_lock locks[locks];
	event log[most_events];
	uint32_t finished;
} program;

static void note(program *p, what w, int thread, int lock)
{
	uint32_t n = pl_add_ar(&p->next, 1);
	REQUIRE(n < most_events);
	p->log[n] = (event){w, thread, lock};
}

static bool has(const int *held, int count, int lock)
{
	for (int i = 0; i < count; i++)
		if (held[i] == lock)
			return true;
	return false;
}

static void run_one(program *p, int thread, pl_thread *self)
{
	uint32_t random = p->seed * 2654435761u + 77u * (uint32_t)thread + 1;
	int held[locks], count = 0;
	for (int i = 0; i < steps; i++) {
		uint32_t r = random_next(&random);
		int lock = (int)(r % locks);
		if (count == locks || (count && (r >> 8) % 4 == 0)) { /* release any of them */
			int at = (int)((r >> 12) % (uint32_t)count);
			note(p, LEAVE, thread, held[at]);
			REQUIRE_EQUAL(any_rq_unlock(p->layout, self, &p->locks[held[at]]), 0);
			held[at] = held[--count];
			continue;
		}
		if (has(held, count, lock) && (r >> 16) % 8)
			lock = (lock + 1) % locks; /* its own lock only now and then */
		note(p, WANT, thread, lock);
		int err = any_rq_lock_wait(p->layout, self, &p->locks[lock], (r >> 20) % 4 ? 0 : PL_WAIT_SPIN, PL_FOREVER, NULL);
		if (err == 0) {
			note(p, GOT, thread, lock);
			held[count++] = lock;
			if ((r >> 24) % 4 == 0)
				sleep_us(r >> 28); /* others come to want what we hold */
		} else {
			REQUIRE_EQUAL(err, -EDEADLK);
			note(p, REFUSED, thread, lock);
			while (count) { /* the victim gives way */
				note(p, LEAVE, thread, held[--count]);
				REQUIRE_EQUAL(any_rq_unlock(p->layout, self, &p->locks[held[count]]), 0);
			}
		}
	}
	while (count) {
		note(p, LEAVE, thread, held[--count]);
		REQUIRE_EQUAL(any_rq_unlock(p->layout, self, &p->locks[held[count]]), 0);
	}
	REQUIRE(!pl_held_any(self));
}

/* ---- the oracle ---- */

typedef struct {
	int owner[locks];  /* -1: nobody */
	int wants[threads]; /* -1: nothing */
	bool guilty[threads]; /* a circle was seen through it during its present wait */
	bool self[threads]; /* it asked for its own lock */
} model;

/* Marks all threads of every circle that there is now. */
static bool mark_circles(model *m)
{
	bool any = false;
	for (int t = 0; t < threads; t++) {
		int at = t;
		for (int hops = 0; hops <= threads && m->wants[at] >= 0 && m->owner[m->wants[at]] >= 0; hops++) {
			at = m->owner[m->wants[at]];
			if (at == t) {
				m->guilty[t] = true;
				any = true;
				break;
			}
		}
	}
	return any;
}

/* The number of refusals; fails the test when one of the log's steps cannot be. */
static int replay(const program *p, int *circles)
{
	model m;
	int refused = 0;
	bool was_circle = false;
	for (int l = 0; l < locks; l++)
		m.owner[l] = -1;
	for (int t = 0; t < threads; t++)
		m = (model){.owner = {-1, -1, -1, -1, -1, -1}, .wants = {-1, -1, -1, -1, -1, -1, -1, -1}};
	for (uint32_t n = 0; n < p->next; n++) {
		const event *e = &p->log[n];
		switch (e->what) {
		case WANT:
			REQUIRE_EQUAL(m.wants[e->thread], -1);
			m.self[e->thread] = m.owner[e->lock] == e->thread;
			m.guilty[e->thread] = false;
			m.wants[e->thread] = e->lock;
			break;
		case GOT:
			REQUIRE_EQUAL(m.wants[e->thread], e->lock);
			REQUIRE_EQUAL(m.owner[e->lock], -1);
			m.owner[e->lock] = e->thread;
			m.wants[e->thread] = -1;
			break;
		case REFUSED:
			REQUIRE_EQUAL(m.wants[e->thread], e->lock);
			REQUIRE(m.self[e->thread] || m.guilty[e->thread]); /* no false report */
			m.wants[e->thread] = -1;
			refused++;
			break;
		case LEAVE:
			REQUIRE_EQUAL(m.owner[e->lock], e->thread);
			m.owner[e->lock] = -1;
			break;
		}
		bool circle = mark_circles(&m);
		*circles += circle && !was_circle;
		was_circle = circle;
	}
	for (int l = 0; l < locks; l++)
		REQUIRE_EQUAL(m.owner[l], -1);
	for (int t = 0; t < threads; t++)
		REQUIRE_EQUAL(m.wants[t], -1);
	return refused;
}

/* ---- the runs ---- */

typedef struct {
	program *p;
	uint32_t programs, at, arrived;
	uint32_t deadlocked, refused;
} runs;

static void await_all(runs *r, uint32_t round)
{
	if (pl_add_ar(&r->arrived, 1) + 1 == threads * (round + 1))
		return;
	AWAIT(pl_load_acq(&r->arrived) >= threads * (round + 1));
}

static void run_programs(int index, void *shared)
{
	runs *r = shared;
	pl_thread *self = pl_self_in(r->p->domain);
	for (uint32_t n = 0; n < r->programs; n++) {
		await_all(r, 2 * n);
		run_one(r->p, index, self);
		await_all(r, 2 * n + 1);
		if (index == 0) { /* the others wait for the next round */
			program *p = r->p;
			int circles = 0, refused = replay(p, &circles);
			r->refused += (uint32_t)refused;
			r->deadlocked += circles > 0;
			for (int l = 0; l < locks; l++)
				REQUIRE_EQUAL(any_bits(p->layout, &p->locks[l]), 0);
			p->next = 0;
			p->seed++;
			p->layout = (int)(p->seed % layouts);
		}
	}
}

void oracle_run(uint32_t programs)
{
	program *p = calloc(1, sizeof *p);
	pl_domain_options o = {.slots = threads + 4};
	REQUIRE_EQUAL(pl_domain_create(&o, &p->domain), 0);
	p->seed = 1;
	p->layout = 1;
	runs r = {.p = p, .programs = programs};
	crew_run(threads, run_programs, &r);
	printf("             %u programs, %u deadlocked (%u %%), %u threads refused\n", r.programs, r.deadlocked,
		      100 * r.deadlocked / r.programs, r.refused);
	REQUIRE(5 * r.deadlocked >= r.programs); /* a fifth at least, or the programs are too tame */
	for (uint32_t i = 1; i < p->domain->slots; i++)
		REQUIRE(!pl_held_any(pl_slot(p->domain, i)));
	REQUIRE_EQUAL(pl_domain_close(p->domain), 0);
	free(p);
}
