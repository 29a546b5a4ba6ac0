/* SPDX-License-Identifier: Apache-2.0 */
/* The operating system in one place: clocks, futex, membarrier, signals, process identity. Nothing else knows it. */
#ifndef PL_OS_H
#define PL_OS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Monotonic time, ns. */
uint64_t pl_os_now(void);

/* Relax instructions that take about 100 ns on this CPU, measured when the library is loaded; at least 1. */
extern uint32_t pl_os_relaxes_per_100ns;

/* CPUs that this process may run on, as it was when the library was loaded; at least 1. */
extern uint32_t pl_os_cpus;

/* Busy-waits for about @ns nanoseconds (up to 100 us more on some arm64 CPUs, from 10 us on) or until the word differs from
 * @value, whether or not anybody ever stores to it; returns the word, relaxed. */
uint32_t pl_os_watch(const uint32_t *word, uint32_t value, uint32_t ns);

/*
 * A full fence on every CPU that runs a thread of this process (private) or of any process that registered (shared);
 * lets the other side of a store-buffer pattern do with a compiler fence. A full fence here in any case.
 */
void pl_os_heavy_fence(bool shared);
/* Makes this process one that heavy fences reach; at load and in a forked child. Sets pl_release_needs_fence. */
void pl_os_register_fences(void);

uint32_t pl_os_pid(void);
uint32_t pl_os_tid(void);
#define PL_OS_UNKNOWN UINT64_MAX /* pl_os_incarnation: cannot tell */
/* Start time of a process in clock ticks since boot; 0 when there is no such process (a zombie counts as none). */
uint64_t pl_os_incarnation(uint32_t pid);
/* True if two start times may be one process's. */
static inline bool pl_os_same_incarnation(uint64_t a, uint64_t b)
{
	return a == b || a == PL_OS_UNKNOWN || b == PL_OS_UNKNOWN;
}
bool pl_os_thread_alive(uint32_t pid, uint32_t tid);
/* What names the PID namespace of this process: an inode; 0: cannot tell. */
uint64_t pl_os_pid_namespace(void);

/* At the top of a function: errno is what it was when the function returns. */
#define PL_KEEP_ERRNO __attribute__((cleanup(pl_os_restore_errno))) const int errno_before = errno
static inline void pl_os_restore_errno(const int *before) { errno = *before; }

/* Writes all of it; 0 or a negative errno. Async-signal-safe. */
int pl_os_write(int fd, const void *bytes, uint64_t count);

/* Lets another runnable thread have this CPU. */
void pl_os_yield(void);

/* Blocks every signal of the calling thread, so that no handler runs while it holds a line's lock. */
typedef struct {
	sigset_t before;
} pl_os_signals;
void pl_os_block_signals(pl_os_signals *saved);
void pl_os_restore_signals(const pl_os_signals *saved);

#endif
