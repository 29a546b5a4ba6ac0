/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os.h"

#include "../arch/arch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <panalock/atomic.h>
#include <panalock/qspinlock.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ns_per_s = 1000000000 };

uint32_t pl_os_relaxes_per_100ns = 4;
uint32_t pl_os_cpus = 1;
uint32_t pl_release_needs_fence = 1; /* until membarrier is registered */

uint64_t pl_os_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * ns_per_s + (uint64_t)t.tv_nsec;
}

static uint64_t time_relaxes(uint32_t count)
{
	uint64_t start = pl_os_now();
	for (uint32_t i = 0; i < count; i++)
		pl_cpu_relax();
	return pl_os_now() - start;
}

int pl_os_write(int fd, const void *bytes, uint64_t count)
{
	PL_KEEP_ERRNO;
	const char *from = bytes;
	while (count) {
		ssize_t n = write(fd, from, count);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			from += n;
			count -= (uint64_t)n;
		}
	}
	return 0;
}

static long membarrier(int command)
{
	PL_KEEP_ERRNO;
	return syscall(SYS_membarrier, command, 0, 0);
}

static uint32_t count_cpus(void)
{
	PL_KEEP_ERRNO;
	unsigned char mask[1024] = {0}; /* 8,192 CPUs */
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
	uint32_t cpus = 0;
	for (long i = 0; i < bytes; i++)
		cpus += (uint32_t)__builtin_popcount(mask[i]);
	return cpus ? cpus : 1;
}

/* Runs when the library is loaded. */
__attribute__((constructor)) static void os_init(void)
{
	pl_cpu_init(getenv("PANALOCK_ARM64_WAIT"));
	enum { relaxes = 200, tries = 5 };
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < tries; i++) {
		uint64_t t = time_relaxes(relaxes);
		if (t < best)
			best = t;
	}
	uint64_t per_100ns = best ? 100 * relaxes / best : relaxes;
	pl_os_relaxes_per_100ns = per_100ns ? (uint32_t)per_100ns : 1;

	pl_os_cpus = count_cpus();
	pl_os_register_fences();
}

void pl_os_register_fences(void)
{
	bool shared = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
	bool private = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
	pl_release_needs_fence = !(shared && private);
}

void pl_os_heavy_fence(bool shared)
{
	if (membarrier(shared ? MEMBARRIER_CMD_GLOBAL_EXPEDITED : MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
		pl_fence(); /* P3: full fence, pairs with U5; refused: then releases are fully fenced */
}

__attribute__((no_sanitize("thread"))) uint32_t pl_os_watch(const uint32_t *word, uint32_t value, uint32_t ns)
{
	enum { piece_ns = 100000 }; /* relaxes are only about right: longer waits look at the clock now and then */
	if (PL_LIKELY(ns <= piece_ns))
		return pl_cpu_wait_change(word, value, ns, pl_os_relaxes_per_100ns);
	uint64_t now = pl_os_now(), until = now + ns;
	uint32_t seen;
	do {
		uint32_t piece = until - now < piece_ns ? (uint32_t)(until - now) : piece_ns;
		seen = pl_cpu_wait_change(word, value, piece, pl_os_relaxes_per_100ns);
	} while (seen == value && (now = pl_os_now()) < until);
	return seen;
}

void pl_os_yield(void) { sched_yield(); }

uint32_t pl_os_pid(void) { return (uint32_t)getpid(); }
uint32_t pl_os_tid(void) { return (uint32_t)syscall(SYS_gettid); }

uint64_t pl_os_incarnation(uint32_t pid)
{
	PL_KEEP_ERRNO;
	char path[48], text[512];
	/* The first thread's entry says the same; emulators make up /proc/PID/stat of the process itself. */
	snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, pid);
	/* Raw system calls: the C library's are cancellation points, and our callers hold locks. */
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* no descriptor left, no /proc: cannot tell, unless there is no such process at all */
		return syscall(SYS_kill, pid, 0) != 0 && errno == ESRCH ? 0 : PL_OS_UNKNOWN;
	long n = syscall(SYS_read, fd, text, sizeof text - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return syscall(SYS_kill, pid, 0) != 0 && errno == ESRCH ? 0 : PL_OS_UNKNOWN;
	text[n] = 0;
	/* The second field, the command in parentheses, may hold anything: count from its end. State is field 3, the
	 * start time field 22. */
	enum { state_field = 3, threads_field = 20, start_field = 22 };
	const char *p = strrchr(text, ')');
	if (!p || p[1] != ' ')
		return 0;
	p += 2;
	bool zombie = *p == 'Z' || *p == 'X';
	for (int field = state_field; field < start_field && p; field++) {
		if (field == threads_field && zombie && strtoul(p, NULL, 10) <= 1)
			return 0; /* else the first thread has ended before the others */
		p = (p = strchr(p, ' ')) ? p + 1 : NULL;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

uint64_t pl_os_pid_namespace(void)
{
	PL_KEEP_ERRNO;
	struct statx st;
	return syscall(SYS_statx, AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &st) ? 0 : st.stx_ino;
}

bool pl_os_thread_alive(uint32_t pid, uint32_t tid)
{
	PL_KEEP_ERRNO;
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

void pl_os_block_signals(pl_os_signals *saved)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &saved->before); /* Linux: per thread, and async-signal-safe */
}

void pl_os_restore_signals(const pl_os_signals *saved) { sigprocmask(SIG_SETMASK, &saved->before, NULL); }
