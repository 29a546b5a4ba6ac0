/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contended: N threads, one lock, fixed time. The coordinator opens the window once every thread runs and closes it
 * after window_ns; each thread counts its own acquisitions between the two.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "locks.h"
#include "work.h"

enum phase { gate, warm, measure, stop };

struct run {
	uint32_t phase __attribute__((aligned(128)));
	uint32_t arrived __attribute__((aligned(128))); /* threads in their loop */
	pthread_mutex_t gate_lock;
	pthread_cond_t gate_open;
	const plb_point *point;
	uint64_t inside, outside; /* steps of work */
	/* What the lock protects: a counter, who came last, how often it changed hands. */
	struct {
		uint64_t count;
		uint64_t last;
		uint64_t handovers;
	} guarded __attribute__((aligned(128)));
};

struct worker {
	struct run *run;
	pthread_t thread;
	uint64_t id; /* from 1 */
	int error;
	uint64_t all, counted; /* acquisitions since the start, in the window */
	uint64_t longest, timed;
	uint64_t seed;
	uint64_t *buckets;
} __attribute__((aligned(128)));

static inline uint32_t phase_of(const struct run *run) { return __atomic_load_n(&run->phase, __ATOMIC_RELAXED); }

static inline void enter_section(struct run *run, uint64_t id)
{
	run->guarded.count++;
	if (run->guarded.last != id) {
		run->guarded.last = id;
		run->guarded.handovers++;
	}
}

static inline void record(struct worker *w, uint64_t ns)
{
	w->buckets[plb_bucket_of(ns)]++;
	w->timed++;
	if (ns > w->longest)
		w->longest = ns;
}

/*
 * Throughput: the phase is read once per acquisition. A thread that was kept waiting through the whole window counted
 * nothing in it. Latency: an acquisition that ended after the window opened, and began before it closed, is recorded,
 * however long it takes.
 */
#define X(name, flags, type, init, lock, unlock)                                                                    \
	static struct {                                                                                             \
		type l;                                                                                             \
	} __attribute__((aligned(128))) lock_##name;                                                                \
	static void reset_##name(void)                                                                              \
	{                                                                                                           \
		static const struct {                                                                               \
			type l;                                                                                     \
		} fresh = { init };                                                                                 \
		memcpy((void *)&lock_##name, (const void *)&fresh, sizeof fresh);                                   \
	}                                                                                                           \
	__attribute__((noinline, aligned(64))) static void throughput_##name(struct worker *w, pl_thread *self)     \
	{                                                                                                           \
		struct run *run = w->run;                                                                           \
		type *l = &lock_##name.l;                                                                           \
		const uint64_t id = w->id, inside = run->inside, outside = run->outside;                            \
		const uint64_t pauses = run->point->inside_pauses;                                                  \
		uint64_t n = 0, at_open = 0, x = id;                                                                \
		uint32_t seen = warm, now;                                                                          \
		plb_node node;                                                                                      \
		(void)self, (void)node;                                                                             \
		for (;;) {                                                                                          \
			now = phase_of(run);                                                                        \
			if (PL_UNLIKELY(now != seen)) {                                                             \
				if (seen != measure)                                                                \
					at_open = n;                                                                \
				if (now == stop)                                                                    \
					break;                                                                      \
				seen = now;                                                                         \
			}                                                                                           \
			lock;                                                                                       \
			enter_section(run, id);                                                                     \
			x = plb_steps(x, inside);                                                                   \
			plb_pauses(pauses);                                                                         \
			unlock;                                                                                     \
			x = plb_steps(x, outside);                                                                  \
			n++;                                                                                        \
		}                                                                                                   \
		w->all = n;                                                                                         \
		w->counted = n - at_open;                                                                           \
		w->seed = x;                                                                                        \
	}                                                                                                           \
	__attribute__((noinline, aligned(64))) static void latency_##name(struct worker *w, pl_thread *self)        \
	{                                                                                                           \
		struct run *run = w->run;                                                                           \
		type *l = &lock_##name.l;                                                                           \
		const uint64_t id = w->id, inside = run->inside, outside = run->outside;                            \
		const uint64_t pauses = run->point->inside_pauses;                                                  \
		uint64_t n = 0, x = id;                                                                             \
		plb_node node;                                                                                      \
		(void)self, (void)node;                                                                             \
		while (phase_of(run) != stop) {                                                                     \
			uint64_t from = plb_now();                                                                  \
			lock;                                                                                       \
			uint64_t waited = plb_now() - from;                                                         \
			enter_section(run, id);                                                                     \
			x = plb_steps(x, inside);                                                                   \
			plb_pauses(pauses);                                                                         \
			unlock;                                                                                     \
			n++;                                                                                        \
			if (phase_of(run) != warm)                                                                  \
				record(w, waited);                                                                  \
			x = plb_steps(x, outside);                                                                  \
		}                                                                                                   \
		w->all = n;                                                                                         \
		w->counted = w->timed;                                                                              \
		w->seed = x;                                                                                        \
	}
PLB_LOCKS(X)
#undef X

struct loop {
	void (*reset)(void);
	void (*run[2])(struct worker *w, pl_thread *self);
};

static const struct loop loops[] = {
#define X(name, flags, type, init, lock, unlock) { reset_##name, { throughput_##name, latency_##name } },
	PLB_LOCKS(X)
#undef X
};

static void sleep_ns(uint64_t ns)
{
	uint64_t until = plb_now() + ns;
	struct timespec t = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* The n-th CPU of the set, modulo their number. */
static int nth_cpu(const cpu_set_t *set, uint64_t n)
{
	n %= (uint64_t)CPU_COUNT(set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set) && n-- == 0)
			return cpu;
	return -1;
}

int plb_pin_self(uint64_t n)
{
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof allowed, &allowed))
		return -errno;
	int cpu = nth_cpu(&allowed, n);
	CPU_ZERO(&allowed);
	CPU_SET(cpu, &allowed);
	return sched_setaffinity(0, sizeof allowed, &allowed) ? -errno : 0;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct run *run = w->run;
	const plb_point *point = run->point;
	if (point->flags & PLB_PIN)
		w->error = plb_pin_self(w->id - 1);
	pl_thread *self = pl_self();
	if (!self)
		w->error = -ENOSPC;
	pthread_mutex_lock(&run->gate_lock);
	while (phase_of(run) == gate)
		pthread_cond_wait(&run->gate_open, &run->gate_lock);
	pthread_mutex_unlock(&run->gate_lock);
	__atomic_fetch_add(&run->arrived, 1, __ATOMIC_RELAXED);
	if (!w->error)
		loops[point->lock].run[point->mode](w, self);
	return NULL;
}

static void set_phase(struct run *run, uint32_t phase) { __atomic_store_n(&run->phase, phase, __ATOMIC_RELAXED); }

static void open_gate(struct run *run, uint32_t phase)
{
	pthread_mutex_lock(&run->gate_lock);
	set_phase(run, phase);
	pthread_cond_broadcast(&run->gate_open);
	pthread_mutex_unlock(&run->gate_lock);
}

void plb_switches(uint64_t *voluntary, uint64_t *involuntary)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	*voluntary = (uint64_t)u.ru_nvcsw;
	*involuntary = (uint64_t)u.ru_nivcsw;
}

static void count_switches(plb_result *result, int sign)
{
	uint64_t voluntary, involuntary;
	plb_switches(&voluntary, &involuntary);
	result->voluntary += (uint64_t)sign * voluntary;
	result->involuntary += (uint64_t)sign * involuntary;
}

static bool valid(const plb_point *p)
{
	return p && p->lock < plb_locks && plb_lock_flags(p->lock) & PLB_CONTENDED_OK && p->threads &&
	       p->threads <= PLB_MAX_THREADS && p->mode <= PLB_LATENCY && !(p->flags & ~(uint32_t)PLB_PIN) && p->window_ns;
}

int plb_contended(const plb_point *point, plb_result *result, uint64_t *counts, uint64_t *buckets)
{
	if (point && plb_lock_flags(point->lock) & PLB_ABSENT)
		return -ENOSYS;
	if (!valid(point) || !result || !counts)
		return -EINVAL;
	const uint32_t threads = point->threads;
	const bool latency = point->mode == PLB_LATENCY;
	memset(result, 0, sizeof *result);

	struct run run = { .point = point,
			   .gate_lock = PTHREAD_MUTEX_INITIALIZER,
			   .gate_open = PTHREAD_COND_INITIALIZER,
			   .inside = plb_steps_for(point->inside_ns),
			   .outside = plb_steps_for(point->outside_ns) };
	struct worker *workers = aligned_alloc(128, threads * sizeof *workers);
	uint64_t *all_buckets = latency ? calloc(threads, PLB_BUCKETS * sizeof *all_buckets) : NULL;
	if (!workers || (latency && !all_buckets)) {
		free(workers);
		free(all_buckets);
		return -EAGAIN;
	}
	memset(workers, 0, threads * sizeof *workers);
	if (latency)
		memset(all_buckets, 0, threads * PLB_BUCKETS * sizeof *all_buckets); /* no page faults in the window */
	loops[point->lock].reset();

	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	uint32_t started = 0;
	for (; started < threads; started++) {
		struct worker *w = &workers[started];
		w->run = &run;
		w->id = started + 1;
		w->buckets = latency ? all_buckets + (size_t)started * PLB_BUCKETS : NULL;
		if (pthread_create(&w->thread, &small, worker_main, w))
			break;
	}
	pthread_attr_destroy(&small);

	int error = started < threads ? -EAGAIN : 0;
	if (error) {
		open_gate(&run, stop);
	} else {
		open_gate(&run, warm);
		do
			sleep_ns(point->warm_ns ? point->warm_ns : 100000);
		while (__atomic_load_n(&run.arrived, __ATOMIC_RELAXED) < threads);
		count_switches(result, -1);
		set_phase(&run, measure);
		uint64_t from = plb_now();
		sleep_ns(point->window_ns);
		result->window_ns = plb_now() - from;
		set_phase(&run, stop);
		count_switches(result, 1);
	}
	for (uint32_t i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);

	if (buckets)
		memset(buckets, 0, PLB_BUCKETS * sizeof *buckets);
	for (uint32_t i = 0; i < started; i++) {
		const struct worker *w = &workers[i];
		if (w->error)
			error = w->error;
		counts[i] = w->counted;
		result->total += w->counted;
		result->all += w->all;
		result->timed += w->timed;
		if (w->longest > result->longest_ns)
			result->longest_ns = w->longest;
		for (uint32_t b = 0; latency && buckets && b < PLB_BUCKETS; b++)
			buckets[b] += w->buckets[b];
	}
	result->handovers = run.guarded.handovers;
	if (!error && result->all != run.guarded.count)
		error = -EILSEQ;
	free(all_buckets);
	free(workers);
	return error;
}
