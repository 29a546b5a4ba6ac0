/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OSQ and mutex: 64 threads, of which half leave at random, on one OSQ and on one mutex by turns. At the end the queue is
 * empty and nobody is stuck. Argument: per cent of two minutes.
 */
#define _GNU_SOURCE
#include "os/os.h"
#include "support.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { whole_ms = 120000, rounds = 4, threads = 64, stuck_s = 60 };

static pl_domain *domain;

typedef struct {
	pl_osq queue;
	pl_mutex mutex;
	uint32_t stop, inside, use_mutex;
	int64_t counter;
	uint64_t got[threads], left[threads];
} crowd;

static int moody(void *of) { return random_next(of) % 16 == 0; }

static int take(crowd *c, pl_thread *self, bool leaver, uint32_t r, uint32_t *mood)
{
	uint32_t flags = (r & 1 ? PL_WAIT_POLL : 0) | (leaver && r & 2 ? PL_WAIT_INTERRUPTIBLE : 0);
	int64_t timeout = leaver && r & 4 ? (int64_t)(r >> 12) % (200 * us) : PL_FOREVER;
	if (leaver && r & 0x30 && !(r & 0x40))
		pl_thread_interrupt(self);
	if (c->use_mutex)
		return pl_mutex_lock_wait(self, &c->mutex, flags | (r & 8 ? PL_WAIT_BLOCK : 0), timeout);
	return pl_osq_lock_unless(self, &c->queue, flags, timeout, leaver && r & 8 ? moody : NULL, mood);
}

static void come_and_go(int index, void *shared)
{
	crowd *c = shared;
	pl_thread *self = pl_self_in(domain);
	uint32_t random = 77 + (uint32_t)index, mood = 99 + (uint32_t)index;
	REQUIRE(self);
	while (!pl_load_acq(&c->stop)) {
		uint32_t r = random_next(&random);
		int err = take(c, self, index % 2, r, &mood);
		if (err) {
			REQUIRE(index % 2);
			c->left[index]++;
			continue;
		}
		REQUIRE_EQUAL(pl_add_ar(&c->inside, 1), 0);
		c->counter++;
		if (r % 64 == 0)
			sched_yield();
		REQUIRE_EQUAL(pl_sub_rel(&c->inside, 1), 1);
		REQUIRE_EQUAL(c->use_mutex ? pl_mutex_unlock(self, &c->mutex) : pl_osq_unlock(self, &c->queue), 0);
		c->got[index]++;
	}
	pl_thread_clear_interrupt(self);
}

int main(int argc, char **argv)
{
	double percent = argc > 1 ? atof(argv[1]) : 100;
	unsigned round_us = (unsigned)(whole_ms * 10.0 * percent / rounds);
	pl_domain_options o = {.slots = threads + 8};
	REQUIRE_EQUAL(pl_domain_create(&o, &domain), 0);
	for (int round = 0; round < rounds; round++) {
		crowd c = {.use_mutex = round % 2};
		pl_os_cpus = round < 2 ? 2 : threads; /* the mutex's spinners form a queue in the last round */
		watchdog("osq soak", round_us / 1000000 + stuck_s);
		crew *all = crew_start(threads, come_and_go, &c);
		sleep_us(round_us);
		pl_store_rel(&c.stop, 1);
		crew_join(all);
		uint64_t got = 0, left = 0;
		for (int i = 0; i < threads; i++) {
			got += c.got[i];
			left += c.left[i];
		}
		REQUIRE_EQUAL(c.counter, (int64_t)got);
		REQUIRE_EQUAL(c.queue.tail | c.mutex.owner | c.mutex.state, 0);
		REQUIRE(left > 0);
		printf("%s: %llu got it, %llu left\n", c.use_mutex ? "mutex" : "osq", (unsigned long long)got, (unsigned long long)left);
	}
	return 0;
}
