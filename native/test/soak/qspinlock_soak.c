/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock hammer: all layouts, policies mixed on one word, up to 4 threads a CPU, random time-outs, interruptions and
 * signal handlers that lock. Argument: per cent of ten minutes.
 */
#define _GNU_SOURCE
#include "domain.h"
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { whole_s = 600, round_ms = 2500, most_threads = 64, stuck_s = 60 };

typedef struct {
	pl_domain *domain;
	int layout, threads, inside_ns, outside_ns;
	uint32_t spin_share; /* of 256 acquisitions */
	any_lock *lock, *handlers_lock;
	int64_t counter, handled, by_handlers;
	uint32_t inside, stop, running;
	uint64_t acquired[most_threads], failed[most_threads];
	pthread_t threads_id[most_threads];
	pl_thread *slots[most_threads];
} campaign;

static campaign *now_on;
static __thread int me = -1;

static void busy(int ns)
{
	if (ns)
		for (uint64_t end = now_ns() + (uint64_t)ns; now_ns() < end;)
			;
}

static void on_signal(int signal)
{
	(void)signal;
	int before = errno;
	campaign *c = now_on;
	if (me >= 0) {
		pl_thread *self = c->slots[me];
		REQUIRE_EQUAL(any_lock_it(c->layout, self, c->handlers_lock), 0);
		c->handled++;
		REQUIRE_EQUAL(any_unlock(c->layout, self, c->handlers_lock), 0);
		int err = any_lock_wait(c->layout, self, c->lock, before & 1 ? PL_WAIT_SPIN : 0, 20 * us);
		if (err == 0) { /* else our own thread may hold it */
			REQUIRE_EQUAL(c->inside++, 0);
			c->counter++;
			c->by_handlers++;
			c->inside--;
			REQUIRE_EQUAL(any_unlock(c->layout, self, c->lock), 0);
		} else {
			REQUIRE_EQUAL(err, -ETIMEDOUT);
		}
	}
	errno = before;
}

static void hammer_away(int index, void *shared)
{
	campaign *c = shared;
	pl_thread *self = c->slots[index] = pl_self_in(c->domain);
	uint32_t random = 4711 * ((uint32_t)index + 1);
	REQUIRE(self);
	me = index;
	__atomic_store_n(&c->threads_id[index], pthread_self(), __ATOMIC_RELEASE);
	while (!pl_load_acq(&c->stop)) {
		uint32_t r = random_next(&random);
		uint32_t flags = r % 256 < c->spin_share ? PL_WAIT_SPIN : 0;
		int64_t timeout = r & 0x300 ? PL_FOREVER : (int64_t)(r >> 12);
		if (!(r & 0xc00))
			flags |= PL_WAIT_INTERRUPTIBLE;
		int err = r & 0xf0000 ? any_lock_wait(c->layout, self, c->lock, flags, timeout)
				      : any_trylock(c->layout, self, c->lock);
		if (err) {
			REQUIRE(err == -ETIMEDOUT || err == -EINTR || err == -EBUSY);
			c->failed[index]++;
			continue;
		}
		REQUIRE_EQUAL(c->inside++, 0);
		c->counter++;
		busy(c->inside_ns);
		if ((r & 0xfff00000) == 0)
			sleep_us(500);
		c->inside--;
		REQUIRE_EQUAL(any_unlock(c->layout, self, c->lock), 0);
		c->acquired[index]++;
		busy(c->outside_ns);
	}
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pl_sub_rel(&c->running, 1);
	AWAIT(pl_load_acq(&c->running) == 0);
	sleep_us(20000); /* the disturber has seen it too */
}

static void run_campaign(campaign *c, uint64_t duration)
{
	void *words[2];
	pl_domain_options o = {.slots = most_threads + 2};
	REQUIRE_EQUAL(pl_domain_create(&o, &c->domain), 0);
	for (int i = 0; i < 2; i++)
		REQUIRE_EQUAL(pl_domain_pool_take(c->domain, &words[i]), 0);
	c->lock = words[0];
	c->handlers_lock = words[1];
	c->running = (uint32_t)c->threads;
	now_on = c;
	watchdog("qspinlock soak", stuck_s);
	uint64_t end = now_ns() + duration;
	crew *threads = crew_start(c->threads, hammer_away, c);
	for (uint32_t i = 0; now_ns() < end; i++) {
		int victim = (int)(i % (uint32_t)c->threads);
		pthread_t t = __atomic_load_n(&c->threads_id[victim], __ATOMIC_ACQUIRE);
		if (t) {
			if (i % 3)
				pthread_kill(t, SIGUSR1);
			else
				pl_thread_interrupt(c->slots[victim]);
		}
		sleep_us(200);
	}
	pl_store_rel(&c->stop, 1);
	crew_join(threads);
	uint64_t acquired = 0, failed = 0, least = UINT64_MAX;
	for (int i = 0; i < c->threads; i++) {
		acquired += c->acquired[i];
		failed += c->failed[i];
		least = c->acquired[i] < least ? c->acquired[i] : least;
	}
	REQUIRE_EQUAL(c->counter, (int64_t)acquired + c->by_handlers);
	REQUIRE_EQUAL(any_bits(c->layout, c->lock) | any_bits(c->layout, c->handlers_lock), 0);
	for (uint32_t i = 1; i < c->domain->slots; i++)
		REQUIRE_EQUAL(pl_slot(c->domain, i)->depth, 0);
	printf("%s %2d threads, %3u/256 spin, %3d ns inside, %3d outside: %9llu acquired (least %llu), %llu not, %lld handlers\n",
	       layout_names[c->layout], c->threads, c->spin_share, c->inside_ns, c->outside_ns, (unsigned long long)acquired,
	       (unsigned long long)least, (unsigned long long)failed, (long long)c->handled);
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		REQUIRE_EQUAL(pl_domain_pool_give(c->domain, words[i]), 0);
	REQUIRE_EQUAL(pl_domain_close(c->domain), 0);
}

int main(int argc, char **argv)
{
	uint64_t percent = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	uint64_t total = percent * whole_s * 10 * (uint64_t)ms, spent = 0;
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &action, NULL);
	uint32_t random = 1;
	/* Short runs make shorter rounds, so that each layout is met. */
	uint64_t round = total / 12 < (uint64_t)round_ms * ms ? total / 12 : (uint64_t)round_ms * ms;
	for (int i = 0; spent < total; i++, spent += round) {
		static const uint32_t shares[] = {0, 256, 128, 16, 240};
		static const int inside[] = {0, 100, 1000}, outside[] = {0, 0, 500};
		campaign c = {.layout = i % layouts,
			      .threads = 1 + (int)(random_next(&random) % (uint32_t)(4 * cpus)),
			      .spin_share = shares[i / layouts % 5],
			      .inside_ns = inside[random_next(&random) % 3],
			      .outside_ns = outside[random_next(&random) % 3]};
		if (c.threads > most_threads)
			c.threads = most_threads;
		run_campaign(&c, round);
	}
	puts("qspinlock soak: passed");
	return 0;
}
