/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about machine and library. */
#define _GNU_SOURCE
#include <errno.h>
#include <dirent.h>
#include <panalock.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

int plb_membarrier(void)
{
	enum { query = 0 };
	long commands = syscall(SYS_membarrier, query, 0, 0);
	return commands < 0 ? -errno : (int)commands;
}

const char *plb_relax_name(void) { return pl_relax_method(); }
const char *plb_wait_name(void) { return pl_wait_method(); }

uint32_t plb_lock_bytes(uint32_t layout)
{
	switch (layout) {
	case PL_LAYOUT_WORD:
		return sizeof(pl_qspinlock);
	case PL_LAYOUT_BYTE:
		return sizeof(pl_qspinlock_byte);
	case PL_LAYOUT_WIDE:
		return sizeof(pl_qspinlock_wide);
	default:
		return 0;
	}
}

uint64_t plb_domain_bytes(uint32_t slots)
{
	pl_domain_options options = { .slots = slots };
	return pl_domain_size(&options);
}

int plb_use_cpus(const uint32_t *cpus, uint32_t count)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	for (uint32_t i = 0; cpus && i < count; i++) {
		if (cpus[i] >= CPU_SETSIZE)
			return -EINVAL;
		CPU_SET(cpus[i], &set);
	}
	if (CPU_COUNT(&set) == 0)
		return -EINVAL;
	DIR *tasks = opendir("/proc/self/task");
	if (!tasks)
		return -errno;
	int error = 0;
	for (struct dirent *task; (task = readdir(tasks));) {
		int id = atoi(task->d_name); /* 0 for the dots; a thread that has just ended does not matter */
		if (id > 0 && sched_setaffinity(id, sizeof set, &set) && errno != ESRCH)
			error = -errno;
	}
	closedir(tasks);
	return error;
}

int plb_init_adaptive(void *mutex)
{
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	*(pthread_mutex_t *)mutex = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
	return 0;
#else
	(void)mutex;
	return -ENOSYS;
#endif
}
