/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "broadcast.h"

#include <errno.h>
#include <panalock.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { most = 16000, stack_bytes = 65536, pause_us = 100 };

typedef struct {
	pl_domain *domain;
	pl_mutex mutex;
	pl_cond cond;
	uint32_t waiting, go, done;
} party;

static void *guest(void *of)
{
	party *p = of;
	pl_thread *self = pl_self_in(p->domain);
	if (pl_mutex_lock(self, &p->mutex))
		return NULL;
	p->waiting++;
	int err = 0;
	while (!p->go && !err)
		err = pl_cond_wait(self, &p->cond, &p->mutex, 0, PL_FOREVER);
	p->done++;
	(void)pl_mutex_unlock(self, &p->mutex);
	return NULL;
}

static uint32_t look(party *p, pl_thread *self, const uint32_t *counter)
{
	if (pl_mutex_lock(self, &p->mutex))
		return 0;
	uint32_t value = *counter;
	(void)pl_mutex_unlock(self, &p->mutex);
	return value;
}

static uint64_t switches_so_far(void)
{
	uint64_t voluntary, involuntary;
	plb_switches(&voluntary, &involuntary);
	return voluntary + involuntary;
}

int plb_broadcast(uint32_t waiters, uint64_t *switches)
{
	if (!waiters || waiters > most || !switches)
		return -EINVAL;
	party p = {0};
	pl_domain_options options = {.slots = waiters + 2, .pool_locks = 1};
	pthread_t *threads = calloc(waiters, sizeof *threads);
	if (!threads || pl_domain_create(&options, &p.domain)) {
		free(threads);
		return -ENOMEM;
	}
	pl_thread *self = pl_self_in(p.domain);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, stack_bytes);
	uint32_t started = 0;
	while (started < waiters && !pthread_create(&threads[started], &small, guest, &p))
		started++;
	while (look(&p, self, &p.waiting) < started)
		usleep(pause_us);
	usleep(10000); /* the last one is asleep */
	int err = pl_mutex_lock(self, &p.mutex);
	uint64_t before = switches_so_far();
	p.go = 1;
	if (!err && pl_cond_broadcast(self, &p.cond, &p.mutex) < 0)
		err = -EAGAIN;
	(void)pl_mutex_unlock(self, &p.mutex);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	*switches = switches_so_far() - before;
	pthread_attr_destroy(&small);
	free(threads);
	pl_domain_close(p.domain);
	return started < waiters ? -EAGAIN : err;
}
