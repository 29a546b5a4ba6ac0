/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token pipe for long: players pass a token, now and then with a second one, while their waits are interrupted and time
 * out at random. A wake-up that is lost stops the game. Argument: per cent of 10^8 waits; only those reads count as such in
 * which the thread slept and was woken, not those that found the token there or saw it come.
 */
#define _GNU_SOURCE
#include "domain.h"
#include "support.h"

#include <panalock/pipe.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
	whole_waits = 100000000,
	games = 8, /* of a pipe each */
	players = 3 * games,
	capacity = 64,
	round_waits = 200000,
	stuck_s = 120,
};

typedef struct {
	pl_domain *domain;
	pl_pipe *pipe[games];
	uint64_t wanted, waits, reads, interrupted, late, passes;
	uint32_t over;
} campaign;

/* How often this thread has given up its CPU of itself: yielding does not count. */
static uint64_t sleeps(void)
{
	struct rusage u;
	REQUIRE_EQUAL(getrusage(RUSAGE_THREAD, &u), 0);
	return (uint64_t)u.ru_nvcsw;
}

static void play(int index, void *shared)
{
	campaign *c = shared;
	pl_thread *self = pl_self_in(c->domain);
	pl_pipe *pipe = c->pipe[index % games];
	uint32_t random = 99 * ((uint32_t)index + 1);
	uint64_t waits = 0, reads = 0, interrupted = 0, late = 0, passes = 0, slept = sleeps();
	REQUIRE(self);
	for (;;) {
		uint32_t r = random_next(&random);
		char token[2] = {0, 0};
		int64_t limit = r % 8 == 0 ? (int64_t)(r >> 8) % (300 * us) : PL_FOREVER;
		int64_t n = pl_pipe_read(self, pipe, token, 1, PL_WAIT_INTERRUPTIBLE, limit);
		uint64_t before = slept;
		slept = sleeps();
		waits += slept != before;
		reads++;
		if (n == -EINTR || n == -ETIMEDOUT) {
			interrupted += n == -EINTR;
			late += n == -ETIMEDOUT;
			continue;
		}
		REQUIRE_EQUAL(n, 1);
		if (token[0] == 'x') /* the second one, to be ignored */
			continue;
		passes++;
		if (r % 4) /* else the others would see it come back before they sleep */
			sleep_us(20);
		bool last = __atomic_add_fetch(&c->waits, waits, __ATOMIC_RELAXED) >= c->wanted;
		waits = 0;
		if (last)
			pl_store_rel(&c->over, 1);
		last = pl_load_acq(&c->over);
		token[0] = 't';
		token[1] = 'x';
		REQUIRE(pl_pipe_write(self, pipe, token, r % 2 && !last ? 2 : 1, 0, PL_FOREVER) > 0);
		if (last)
			break;
		if (r % 16 == 1) {
			uint32_t other = 1 + random_next(&random) % (c->domain->slots - 1);
			pl_thread_interrupt(pl_slot(c->domain, other));
		}
		slept = sleeps(); /* without those of writing and interrupting */
	}
	__atomic_fetch_add(&c->reads, reads, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->interrupted, interrupted, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->late, late, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->passes, passes, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	int percent = argc > 1 ? atoi(argv[1]) : 100;
	uint64_t left = scaled((uint64_t)whole_waits / 100 * (uint64_t)percent);
	pl_domain_options o = {.slots = players + 2, .pool_locks = 1};
	campaign c = {0};
	_Alignas(64) static char memory[games][1024];
	REQUIRE_EQUAL(pl_domain_create(&o, &c.domain), 0);
	for (int i = 0; i < games; i++) {
		REQUIRE_EQUAL(pl_pipe_init(memory[i], sizeof memory[i], capacity, 0, &c.pipe[i]), 0);
		REQUIRE_EQUAL(pl_pipe_open(pl_self_in(c.domain), c.pipe[i], PL_PIPE_READ | PL_PIPE_WRITE), 0);
	}
	uint64_t waits = 0;
	while (left) {
		c.wanted = left < round_waits ? left : round_waits;
		left -= c.wanted;
		c.waits = 0;
		c.over = 0;
		watchdog("pipe", stuck_s);
		for (int i = 0; i < games; i++) {
			pl_thread *self = pl_self_in(c.domain);
			char rest[capacity];
			pl_pipe_read(self, c.pipe[i], rest, sizeof rest, PL_PIPE_NONBLOCK, 0); /* of the round before */
			REQUIRE_EQUAL(pl_pipe_write(self, c.pipe[i], "tx", 2, 0, PL_FOREVER), 2);
		}
		crew_run(players, play, &c);
		waits += c.waits;
	}
	printf("pipe: %llu waits in %llu reads, %llu passes, %llu interrupted, %llu timed out: none lost\n",
	       (unsigned long long)waits, (unsigned long long)c.reads, (unsigned long long)c.passes, (unsigned long long)c.interrupted, (unsigned long long)c.late);
	REQUIRE_EQUAL(pl_domain_close(c.domain), 0);
	return 0;
}
