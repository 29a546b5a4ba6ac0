/* SPDX-License-Identifier: Apache-2.0 */
/* The futex system calls, as values: errno is left alone. */
#define _GNU_SOURCE
#include "os.h"

#include <limits.h>
#include <linux/futex.h>
#include <panalock/atomic.h>
#include <panalock/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { ns_per_s = 1000000000 };

static int op(int command, uint32_t flags) { return flags & PL_FUTEX_SHARED ? command : command | FUTEX_PRIVATE_FLAG; }

static bool bad_word(const uint32_t *word, uint32_t flags)
{
	return !word || (uintptr_t)word % sizeof *word || flags & ~(uint32_t)PL_FUTEX_SHARED;
}

/* The result of a raw system call as a value; errno stays what it was. */
static int result(long returned, int errno_before)
{
	int error = errno;
	errno = errno_before;
	return returned < 0 ? -error : (int)returned;
}

int pl_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns, uint32_t flags)
{
	if (bad_word(word, flags))
		return -EINVAL;
	int saved = errno;
	struct timespec limit = {.tv_sec = timeout_ns / ns_per_s, .tv_nsec = timeout_ns % ns_per_s};
	struct timespec *bound = timeout_ns < 0 ? NULL : &limit;
	return result(syscall(SYS_futex, word, op(FUTEX_WAIT, flags), expected, bound, NULL, 0), saved);
}

int pl_futex_wake(uint32_t *word, uint32_t count, uint32_t flags)
{
	if (bad_word(word, flags))
		return -EINVAL;
	if (count == 0)
		return 0; /* the system call would wake one */
	int saved = errno;
	return result(syscall(SYS_futex, word, op(FUTEX_WAKE, flags), count > INT_MAX ? INT_MAX : count, NULL, NULL, 0), saved);
}

int pl_futex_requeue(uint32_t *word, uint32_t expected, uint32_t wake, uint32_t move, uint32_t *target, uint32_t flags)
{
	if (bad_word(word, flags) || bad_word(target, flags) || wake > INT_MAX || move > INT_MAX)
		return -EINVAL;
	int saved = errno;
	return result(syscall(SYS_futex, word, op(FUTEX_CMP_REQUEUE, flags), wake, (void *)(uintptr_t)move, target, expected),
		      saved);
}

/* ---- operations on a word ---- */

enum { arg_min = -2048, arg_max = 2047 }; /* what the system call's encoding has room for */

static bool known(uint32_t op, uint32_t compare)
{
	return (op & ~(uint32_t)PL_FUTEX_SHIFT) <= PL_FUTEX_XOR && compare <= PL_FUTEX_GE;
}

static uint32_t operand(uint32_t op, int32_t arg)
{
	return op & PL_FUTEX_SHIFT ? 1u << ((uint32_t)arg & 31) : (uint32_t)arg;
}

static bool compares(uint32_t old, uint32_t compare, int32_t with)
{
	int32_t is = (int32_t)old;
	switch (compare) {
	case PL_FUTEX_EQ: return is == with;
	case PL_FUTEX_NE: return is != with;
	case PL_FUTEX_LT: return is < with;
	case PL_FUTEX_LE: return is <= with;
	case PL_FUTEX_GT: return is > with;
	default: return is >= with;
	}
}

static uint32_t encode(uint32_t op, int32_t arg, uint32_t compare, int32_t with)
{
	uint32_t kernel_op = op & PL_FUTEX_SHIFT ? (op & ~(uint32_t)PL_FUTEX_SHIFT) | FUTEX_OP_OPARG_SHIFT : op;
	return (kernel_op & 0xf) << 28 | (compare & 0xf) << 24 | ((uint32_t)arg & 0xfff) << 12 | ((uint32_t)with & 0xfff);
}

/*
 * 0 if the word can be both read and written, -EFAULT if not; never a signal. The kernel finds out: it reads the word for
 * us, then adds 0 to it, which needs both permissions. The comparison is one that does not hold for the value read, so
 * that (unless the word changes in between) no sleeper of the word is woken: a spurious wake-up, which every futex user
 * must expect, is the worst that can happen.
 */
static int probe(uint32_t *word)
{
	uint32_t seen, nobody = 0;
	struct iovec to = {&seen, sizeof seen}, from = {word, sizeof *word};
	int saved = errno;
	if (syscall(SYS_process_vm_readv, getpid(), &to, 1ul, &from, 1ul, 0ul) != (long)sizeof seen) {
		int error = errno;
		errno = saved;
		if (error == EFAULT)
			return -EFAULT;
		seen = 0; /* the call is forbidden here: let the other one decide */
	}
	uint32_t false_for_seen = (int32_t)seen < 0 ? PL_FUTEX_GE : PL_FUTEX_LT;
	int err = result(syscall(SYS_futex, &nobody, op(FUTEX_WAKE_OP, 0), 1, (void *)1, word,
				 encode(PL_FUTEX_ADD, 0, false_for_seen, 0)),
			 saved);
	return err < 0 ? err : 0;
}

int pl_futex_op(uint32_t *word, uint32_t op, int32_t arg, uint32_t compare, int32_t with, uint32_t *old)
{
	if (bad_word(word, 0))
		return -EINVAL;
	if (!known(op, compare))
		return -ENOSYS;
	int err = probe(word);
	if (err)
		return err;
	uint32_t value = operand(op, arg), before;
	switch (op & ~(uint32_t)PL_FUTEX_SHIFT) {
	case PL_FUTEX_SET: before = pl_swap_ar(word, value); break;        /* F1: acquire and release, pairs with F1 in another caller */
	case PL_FUTEX_ADD: before = pl_add_ar(word, value); break;         /* F1 */
	case PL_FUTEX_OR: before = pl_or_ar(word, value); break;           /* F1 */
	case PL_FUTEX_ANDN: before = pl_and_ar(word, ~value); break;       /* F1 */
	default: before = pl_xor_ar(word, value); break;                   /* F1 */
	}
	if (old)
		*old = before;
	return compares(before, compare, with);
}

int pl_futex_cmpxchg(uint32_t *word, uint32_t expected, uint32_t desired, uint32_t *seen)
{
	if (bad_word(word, 0))
		return -EINVAL;
	int err = probe(word);
	if (err)
		return err;
	uint32_t before = pl_cas_value_ar(word, expected, desired); /* F1 */
	if (seen)
		*seen = before;
	return before == expected;
}

int pl_futex_wake_op(uint32_t *word, uint32_t wake, uint32_t *target, uint32_t wake_target, uint32_t op_, int32_t arg,
		     uint32_t compare, int32_t with, uint32_t flags)
{
	if (bad_word(word, flags) || bad_word(target, flags) || wake == 0 || wake_target == 0 || wake > INT_MAX ||
	    wake_target > INT_MAX || arg < arg_min || arg > arg_max || with < arg_min || with > arg_max)
		return -EINVAL;
	if (!known(op_, compare))
		return -ENOSYS;
	/* The kernel complains about a shift outside of the word; we mean what its low five bits say. */
	int32_t masked = op_ & PL_FUTEX_SHIFT ? arg & 31 : arg;
	int saved = errno;
	return result(syscall(SYS_futex, word, op(FUTEX_WAKE_OP, flags), wake, (void *)(uintptr_t)wake_target, target,
			      encode(op_, masked, compare, with)),
		      saved);
}

/* ---- several words ---- */

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* the same on every architecture; since Linux 5.16 */
#endif

/* As the system call wants it; older headers lack it. */
struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

int pl_futex_waitv(const pl_futex_waiter *waiters, uint32_t count, int64_t timeout_ns, uint32_t flags)
{
	enum { size_u32 = 2, private = 128 };
	if (!waiters || count == 0 || count > PL_FUTEX_WAITV_MAX || flags)
		return -EINVAL;
	struct waitv kernel[PL_FUTEX_WAITV_MAX];
	for (uint32_t i = 0; i < count; i++) {
		const pl_futex_waiter *w = &waiters[i];
		if (bad_word(w->word, w->flags))
			return -EINVAL;
		kernel[i] = (struct waitv){w->expected, (uint64_t)(uintptr_t)w->word,
					   size_u32 | (w->flags & PL_FUTEX_SHARED ? 0 : private), 0};
	}
	struct timespec limit;
	if (timeout_ns >= 0) {
		uint64_t until = pl_os_now() + (uint64_t)timeout_ns;
		limit = (struct timespec){.tv_sec = (time_t)(until / ns_per_s), .tv_nsec = (long)(until % ns_per_s)};
	}
	int saved = errno;
	return result(syscall(SYS_futex_waitv, kernel, count, 0, timeout_ns < 0 ? NULL : &limit, CLOCK_MONOTONIC), saved);
}
