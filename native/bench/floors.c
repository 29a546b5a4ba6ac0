/* SPDX-License-Identifier: Apache-2.0 */
/* Floors: what the machine itself costs. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "work.h"

struct ball {
	uint32_t turn __attribute__((aligned(128))); /* 0: ours, 1: the partner's, 2: over */
	uint32_t ready __attribute__((aligned(128)));
	uint32_t cpu;
	int error;
};

static int pin_to(uint32_t cpu)
{
	cpu_set_t one;
	if (cpu >= CPU_SETSIZE)
		return -ENODEV;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof one, &one) ? -ENODEV : 0;
}

static void *partner(void *arg)
{
	struct ball *ball = arg;
	ball->error = pin_to(ball->cpu);
	__atomic_store_n(&ball->ready, 1, __ATOMIC_RELEASE);
	for (uint32_t seen = 0; seen != 2;) {
		seen = __atomic_load_n(&ball->turn, __ATOMIC_ACQUIRE);
		if (seen == 1) /* exchanged, not stored: a "2" of an impatient main thread must not get lost */
			__atomic_compare_exchange_n(&ball->turn, &seen, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	}
	return NULL;
}

int plb_ping_pong(uint32_t cpu_a, uint32_t cpu_b, uint64_t window_ns, double *one_way_ns)
{
	if (cpu_a == cpu_b || !one_way_ns || !window_ns)
		return -EINVAL;
	cpu_set_t before;
	if (sched_getaffinity(0, sizeof before, &before))
		return -ENODEV;
	struct ball ball = { .cpu = cpu_b };
	pthread_t thread;
	int error = pin_to(cpu_a);
	if (error)
		return error;
	if (pthread_create(&thread, NULL, partner, &ball)) {
		sched_setaffinity(0, sizeof before, &before);
		return -EAGAIN;
	}
	while (!__atomic_load_n(&ball.ready, __ATOMIC_ACQUIRE))
		sched_yield();
	double best = 1e18;
	/* The best of many short windows: an interruption of either thread spoils only its own. */
	const uint64_t end = plb_now() + window_ns;
	bool in_time = !ball.error;
	while (in_time && plb_now() < end) {
		enum { rounds = 500, patience = 100000 };
		uint64_t from = plb_now();
		for (int i = 0; in_time && i < rounds; i++) {
			__atomic_store_n(&ball.turn, 1, __ATOMIC_RELEASE);
			for (uint32_t spins = 1; in_time && __atomic_load_n(&ball.turn, __ATOMIC_ACQUIRE); spins++)
				if (spins % patience == 0 && plb_now() > end)
					in_time = false; /* the partner does not get to run */
		}
		double each = (double)(plb_now() - from) / (2 * rounds);
		if (in_time && each < best)
			best = each;
	}
	__atomic_store_n(&ball.turn, 2, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof before, &before);
	*one_way_ns = best;
	return ball.error ? ball.error : best < 1e18 ? 0 : -ETIMEDOUT;
}

int plb_floors(double *atomic_ns, double *clock_ns)
{
	if (!atomic_ns || !clock_ns)
		return -EINVAL;
	enum { windows = 200, atomics = 5000, looks = 500 };
	static struct {
		uint64_t word;
	} __attribute__((aligned(128))) alone;
	*atomic_ns = *clock_ns = 1e18;
	for (int w = 0; w < windows; w++) {
		uint64_t from = plb_now();
		for (int i = 0; i < atomics; i++)
			__atomic_fetch_add(&alone.word, 1, __ATOMIC_ACQ_REL);
		uint64_t between = plb_now();
		for (int i = 0; i < looks; i++)
			plb_now();
		uint64_t to = plb_now();
		double one = (double)(between - from) / atomics, look = (double)(to - between) / looks;
		if (one < *atomic_ns)
			*atomic_ns = one;
		if (look < *clock_ns)
			*clock_ns = look;
	}
	return 0;
}
