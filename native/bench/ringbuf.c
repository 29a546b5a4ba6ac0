/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "ringbuf.h"

#include <errno.h>
#include <panalock.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

/* A record: its producer in the upper 16 bits, its number in the others. */
enum { number_bits = 48 };

struct producer {
	struct run *run;
	pthread_t thread;
	uint64_t id;
	uint64_t made, dropped; /* dropped: read by the coordinator */
	int error;
} __attribute__((aligned(128)));

struct run {
	uint32_t stop __attribute__((aligned(128)));
	uint32_t running; /* producers */
	uint64_t hits __attribute__((aligned(128)));
	const plb_ring_point *point;
	pl_ring *ring;
	struct producer *producers;
	uint64_t *seen; /* the consumer's: records by producer */
	uint64_t total;
	int consumer_error;
};

int plb_ring_pin_consumer(void) { return plb_pin_self(0); }

int plb_ring_pin_producer(uint32_t n)
{
	/* Of the whole process: this thread may have been pinned before. */
	cpu_set_t usable;
	if (sched_getaffinity(getpid(), sizeof usable, &usable))
		return -errno;
	uint32_t cpus = (uint32_t)CPU_COUNT(&usable);
	return cpus < 2 ? 0 : plb_pin_self(1 + n % (cpus - 1));
}

void plb_cheap_syscall(void) { syscall(SYS_getpgid, 0); }

static void *produce(void *argument)
{
	struct producer *p = argument;
	struct run *run = p->run;
	pl_ring *ring = run->ring;
	pl_thread *self = pl_self();
	const uint32_t batch = run->point->batch;
	plb_ring_pin_producer((uint32_t)p->id);
	if (!self)
		p->error = -ENOSPC;
	uint64_t made = 0, dropped = 0;
	while (self && !__atomic_load_n(&run->stop, __ATOMIC_RELAXED)) {
		for (uint32_t i = 0; i < batch; i++) {
			uint64_t *record;
			if (pl_ring_reserve(self, ring, sizeof *record, (void **)&record)) {
				dropped++;
				continue;
			}
			*record = p->id << number_bits | made++;
			pl_ring_commit(self, ring, record, 0);
		}
		__atomic_store_n(&p->dropped, dropped, __ATOMIC_RELAXED);
		plb_cheap_syscall();
	}
	p->made = made;
	__atomic_fetch_sub(&run->running, 1, __ATOMIC_RELEASE);
	pl_ring_wake(self, ring);
	return NULL;
}

static int check(void *context, void *data, uint32_t bytes)
{
	struct run *run = context;
	uint64_t record = *(uint64_t *)data, id = record >> number_bits;
	if (PL_UNLIKELY(bytes != sizeof record || id >= run->point->producers ||
			(record & ((1ull << number_bits) - 1)) != run->seen[id]))
		return -EILSEQ;
	run->seen[id]++;
	return 0;
}

static void *consume(void *argument)
{
	struct run *run = argument;
	pl_thread *self = pl_self();
	plb_ring_pin_consumer();
	if (!self) {
		run->consumer_error = -ENOSPC;
		return NULL;
	}
	enum { most = 1024, patience_ns = 100000000 };
	for (;;) {
		bool ended = __atomic_load_n(&run->running, __ATOMIC_ACQUIRE) == 0;
		int64_t n = pl_ring_drain(run->ring, check, run, most);
		if (n < 0) {
			run->consumer_error = (int)n;
			break;
		}
		run->total += (uint64_t)n;
		__atomic_store_n(&run->hits, run->total, __ATOMIC_RELAXED);
		if (n == 0 && ended)
			break;
		if (n == 0)
			pl_ring_wait(self, run->ring, patience_ns, 0);
	}
	return NULL;
}

static uint64_t dropped(const struct run *run)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < run->point->producers; i++)
		sum += __atomic_load_n(&run->producers[i].dropped, __ATOMIC_RELAXED);
	return sum;
}

static void take_samples(struct run *run, uint64_t *hits, uint64_t *drops, uint64_t *ns)
{
	plb_sleep(run->point->warm_ns);
	uint64_t hits_before = __atomic_load_n(&run->hits, __ATOMIC_RELAXED), drops_before = dropped(run), from = plb_now();
	for (uint32_t i = 0; i < run->point->samples; i++) {
		plb_sleep(run->point->sample_ns);
		uint64_t hits_now = __atomic_load_n(&run->hits, __ATOMIC_RELAXED), drops_now = dropped(run), now = plb_now();
		hits[i] = hits_now - hits_before;
		drops[i] = drops_now - drops_before;
		ns[i] = now - from;
		hits_before = hits_now;
		drops_before = drops_now;
		from = now;
	}
}

int plb_ringbuf(const plb_ring_point *point, uint64_t *hits, uint64_t *drops, uint64_t *ns)
{
	if (!point || !hits || !drops || !ns || !point->producers || point->producers > PLB_RING_MAX_PRODUCERS || !point->batch ||
	    !point->samples)
		return -EINVAL;
	struct run run = {.point = point};
	pl_ring_options options = {.bytes = point->ring_bytes, .lock = point->lock};
	int error = pl_ring_create(&options, &run.ring);
	if (error)
		return error;
	pthread_t consumer;
	uint32_t started = 0;
	run.producers = aligned_alloc(128, point->producers * sizeof *run.producers);
	run.seen = calloc(point->producers, sizeof *run.seen);
	run.running = 1; /* the coordinator */
	if (!run.producers || !run.seen)
		error = -ENOMEM;
	else if (pthread_create(&consumer, NULL, consume, &run))
		error = -EAGAIN;
	if (!error) {
		memset(run.producers, 0, point->producers * sizeof *run.producers);
		for (; started < point->producers && !error; started++) {
			struct producer *p = &run.producers[started];
			*p = (struct producer){.run = &run, .id = started};
			__atomic_fetch_add(&run.running, 1, __ATOMIC_RELAXED);
			if (pthread_create(&p->thread, NULL, produce, p)) {
				__atomic_fetch_sub(&run.running, 1, __ATOMIC_RELAXED);
				error = -EAGAIN;
				break;
			}
		}
		if (!error)
			take_samples(&run, hits, drops, ns);
		__atomic_store_n(&run.stop, 1, __ATOMIC_RELAXED);
		for (uint32_t i = 0; i < started; i++)
			pthread_join(run.producers[i].thread, NULL);
		__atomic_fetch_sub(&run.running, 1, __ATOMIC_RELEASE);
		pl_ring_wake(NULL, run.ring);
		pthread_join(consumer, NULL);
		for (uint32_t i = 0; i < started && !error; i++)
			error = run.producers[i].error		  ? run.producers[i].error
				: run.producers[i].made != run.seen[i] ? -EILSEQ
								       : 0;
		if (run.consumer_error)
			error = run.consumer_error;
	}
	free(run.producers);
	free(run.seen);
	pl_ring_close(run.ring);
	return error;
}
