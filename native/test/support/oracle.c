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
 * A single thread then replays the log against a model of owners and waits. A thread waits for one lock, and a lock has one owner,
 * so a thread is in one circle at most, and only a refusal of a member ends it:
 *   - GOT: nobody else may own the lock (an owner has logged LEAVE before it released);
 *   - REFUSED: the thread is in a circle now, or owns the lock itself. Now, not some time before: a member of a circle that
 *     has been broken by another's refusal is a second victim, and the test fails;
 *   - LEAVE: the thread owns the lock, and waits for none;
 *   - at the end there were as many circles as refusals, everything is free, nobody waits, every table is empty. A program that
 *     hangs meets the watchdog.
 * A third of the programs takes locks in ascending order: nobody may be refused there but for a lock that he has.
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
		bool ordered = p->seed % 3 == 0;
		int most = count ? held[0] : -1;
		for (int h = 1; h < count; h++)
			most = held[h] > most ? held[h] : most;
		int lock = ordered && most + 1 < locks ? most + 1 + (int)(r % (uint32_t)(locks - most - 1)) : (int)(r % locks);
		if (count == locks || (ordered && most == locks - 1) || (count && (r >> 8) % 4 == 0)) { /* release any of them */
			int at = (int)((r >> 12) % (uint32_t)count);
			note(p, LEAVE, thread, held[at]);
			REQUIRE_EQUAL(any_rq_unlock(p->layout, self, &p->locks[held[at]]), 0);
			held[at] = held[--count];
			continue;
		}
		if (!ordered && has(held, count, lock) && (r >> 16) % 8)
			lock = (lock + 1) % locks; /* its own lock only now and then */
		if (ordered && count && (r >> 16) % 16 == 0)
			lock = held[0];
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
	int owner[locks];   /* -1: nobody */
	int wants[threads]; /* -1: nothing */
} model;

/* Threads of the circle that this one is in; 0: it is in none. */
static int circle_of(const model *m, int thread)
{
	int at = thread;
	for (int length = 1; length <= threads && m->wants[at] >= 0 && m->owner[m->wants[at]] >= 0; length++) {
		at = m->owner[m->wants[at]];
		if (at == thread)
			return length;
	}
	return 0;
}

typedef struct {
	int of[threads + 1]; /* circles, by length; of[1]: a thread that wants its own lock */
	int refused;
} verdict;

/* Fails the test when one of the log's steps cannot be. */
static verdict replay(const program *p)
{
	verdict v = {.refused = 0};
	model m;
	int circles = 0;
	for (int l = 0; l < locks; l++)
		m.owner[l] = -1;
	for (int t = 0; t < threads; t++)
		m.wants[t] = -1;
	for (uint32_t n = 0; n < p->next; n++) {
		const event *e = &p->log[n];
		int length;
		switch (e->what) {
		case WANT:
			REQUIRE_EQUAL(m.wants[e->thread], -1);
			m.wants[e->thread] = e->lock;
			if ((length = circle_of(&m, e->thread))) { /* its last member closes a circle */
				v.of[length]++;
				circles++;
			}
			break;
		case GOT:
			REQUIRE_EQUAL(m.wants[e->thread], e->lock);
			REQUIRE_EQUAL(m.owner[e->lock], -1);
			m.owner[e->lock] = e->thread;
			m.wants[e->thread] = -1;
			break;
		case REFUSED:
			REQUIRE_EQUAL(m.wants[e->thread], e->lock);
			REQUIRE(circle_of(&m, e->thread)); /* no false report, no second victim */
			m.wants[e->thread] = -1;
			v.refused++;
			break;
		case LEAVE:
			REQUIRE_EQUAL(m.wants[e->thread], -1);
			REQUIRE_EQUAL(m.owner[e->lock], e->thread);
			m.owner[e->lock] = -1;
			break;
		}
	}
	REQUIRE_EQUAL(v.refused, circles); /* every circle is reported, to one */
	REQUIRE(p->seed % 3 || circles == v.of[1]);
	for (int l = 0; l < locks; l++)
		REQUIRE_EQUAL(m.owner[l], -1);
	for (int t = 0; t < threads; t++)
		REQUIRE_EQUAL(m.wants[t], -1);
	return v;
}

/* ---- the runs ---- */

typedef struct {
	program *p;
	uint32_t programs, at, arrived;
	uint32_t deadlocked; /* with a circle of two threads or more */
	uint32_t circles[threads + 1];
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
			verdict v = replay(p);
			r->deadlocked += v.refused > v.of[1];
			for (int length = 1; length <= threads; length++)
				r->circles[length] += (uint32_t)v.of[length];
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
	printf("             %u programs, %u deadlocked (%u %%); circles of 1, 2, ... threads:", r.programs, r.deadlocked,
	       100 * r.deadlocked / r.programs);
	for (int length = 1; length <= threads; length++)
		printf(" %u", r.circles[length]);
	printf("; one refused in each\n");
	REQUIRE(5 * r.deadlocked >= r.programs); /* a fifth at least, or the programs are too tame */
	for (uint32_t i = 1; i < p->domain->slots; i++)
		REQUIRE(!pl_held_any(pl_slot(p->domain, i)));
	REQUIRE_EQUAL(pl_domain_close(p->domain), 0);
	free(p);
}
