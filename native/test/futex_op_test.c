/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "support.h"

#include <limits.h>
#include <panalock/futex.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static const uint32_t values[] = {0, 1, 5, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
enum { value_count = sizeof values / sizeof *values };

static uint32_t result_of(uint32_t op, uint32_t old, int32_t arg)
{
	uint32_t by = op & PL_FUTEX_SHIFT ? 1u << ((uint32_t)arg & 31) : (uint32_t)arg;
	switch (op & 15) {
	case PL_FUTEX_SET: return by;
	case PL_FUTEX_ADD: return old + by;
	case PL_FUTEX_OR: return old | by;
	case PL_FUTEX_ANDN: return old & ~by;
	default: return old ^ by;
	}
}

static int holds(uint32_t compare, uint32_t old, int32_t with)
{
	const int results[] = {(int32_t)old == with, (int32_t)old != with, (int32_t)old < with,
			       (int32_t)old <= with, (int32_t)old > with,  (int32_t)old >= with};
	return results[compare];
}

static void every_operation_and_comparison_does_what_it_says(void **state)
{
	(void)state;
	static const int32_t args[] = {0, 1, 31, 32, 33, -1, INT32_MIN};
	for (uint32_t op = PL_FUTEX_SET; op <= PL_FUTEX_XOR; op++)
		for (uint32_t shift = 0; shift <= PL_FUTEX_SHIFT; shift += PL_FUTEX_SHIFT)
			for (int v = 0; v < value_count; v++)
				for (size_t a = 0; a < sizeof args / sizeof *args; a++)
					for (uint32_t compare = PL_FUTEX_EQ; compare <= PL_FUTEX_GE; compare++) {
						uint32_t word = values[v], old = 99;
						int32_t with = (int32_t)values[(v + (int)a) % value_count];
						assert_int_equal(QUIETLY(pl_futex_op(&word, op | shift, args[a], compare, with, &old)),
								 holds(compare, values[v], with));
						assert_int_equal(old, values[v]);
						assert_int_equal(word, result_of(op | shift, values[v], args[a]));
					}
}

static void cmpxchg_swaps_only_what_was_expected(void **state)
{
	(void)state;
	uint32_t word = 7, seen = 0;
	assert_int_equal(QUIETLY(pl_futex_cmpxchg(&word, 8, 9, &seen)), 0);
	assert_int_equal(seen, 7);
	assert_int_equal(word, 7);
	assert_int_equal(QUIETLY(pl_futex_cmpxchg(&word, 7, 9, NULL)), 1);
	assert_int_equal(word, 9);
}

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	uint32_t words[2] = {3, 4}, *askew = (uint32_t *)(void *)((char *)words + 1);
	assert_int_equal(QUIETLY(pl_futex_op(NULL, PL_FUTEX_SET, 1, PL_FUTEX_EQ, 0, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_op(askew, PL_FUTEX_SET, 1, PL_FUTEX_EQ, 0, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_op(words, PL_FUTEX_XOR + 1, 1, PL_FUTEX_EQ, 0, NULL)), -ENOSYS);
	assert_int_equal(QUIETLY(pl_futex_op(words, PL_FUTEX_SET, 1, PL_FUTEX_GE + 1, 0, NULL)), -ENOSYS);
	assert_int_equal(QUIETLY(pl_futex_cmpxchg(NULL, 0, 1, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_cmpxchg(askew, 0, 1, NULL)), -EINVAL);
	for (int bad = 0; bad < 7; bad++)
		assert_int_equal(QUIETLY(pl_futex_wake_op(bad == 0 ? NULL : words, bad == 1 ? 0 : 1, bad == 2 ? askew : &words[1],
							  bad == 3 ? 0 : 1, PL_FUTEX_ADD, bad == 4 ? 2048 : 1, PL_FUTEX_EQ,
							  bad == 5 ? -2049 : 0, bad == 6 ? 4 : 0)),
				 -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_wake_op(words, 1, &words[1], 1, 9, 1, PL_FUTEX_EQ, 0, 0)), -ENOSYS);
	assert_int_equal(QUIETLY(pl_futex_wake_op(words, 1, &words[1], 1, PL_FUTEX_ADD, 1, 6, 0, 0)), -ENOSYS);
	pl_futex_waiter waiter = {words, 3, 0};
	assert_int_equal(QUIETLY(pl_futex_waitv(NULL, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_waitv(&waiter, 0, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_waitv(&waiter, PL_FUTEX_WAITV_MAX + 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_waitv(&waiter, 1, 0, 1)), -EINVAL);
	waiter.word = askew;
	assert_int_equal(QUIETLY(pl_futex_waitv(&waiter, 1, 0, 0)), -EINVAL);
	assert_int_equal(words[0], 3);
	assert_int_equal(words[1], 4);
}

/* A read-modify-write needs both permissions, whichever one the page lacks. */
static void read_only_write_only_and_absent_memory_give_efault(void **state)
{
	(void)state;
	long page = sysconf(_SC_PAGESIZE);
	uint32_t here = 0;
	static const int protections[] = {PROT_NONE, PROT_READ, PROT_WRITE};
	/* Where reading by system call is forbidden or unknown (emulators), nothing tells that a page is write-only. */
	uint32_t seen;
	struct iovec to = {&seen, sizeof seen}, from = {&here, sizeof here};
	int kinds = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof seen ? 3 : 2;
	for (int p = 0; p < kinds; p++) {
		uint32_t *word = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*word = 5;
		assert_int_equal(mprotect(word, (size_t)page, protections[p]), 0);
		assert_int_equal(QUIETLY(pl_futex_op(word, PL_FUTEX_ADD, 1, PL_FUTEX_EQ, 5, NULL)), -EFAULT);
		assert_int_equal(QUIETLY(pl_futex_cmpxchg(word, 5, 7, NULL)), -EFAULT);
		/* The kernel itself asks the CPU only, and most CPUs cannot write without reading. */
		int wake = QUIETLY(pl_futex_wake_op(&here, 1, word, 1, PL_FUTEX_ADD, 1, PL_FUTEX_EQ, 99, 0));
		assert_true(wake == -EFAULT || (protections[p] == PROT_WRITE && wake == 0));
		assert_int_equal(mprotect(word, (size_t)page, PROT_READ), 0);
		assert_int_equal(*word, wake == -EFAULT ? 5 : 6);
		munmap(word, (size_t)page);
	}
}

typedef struct {
	uint32_t words[2], asleep, woken[2];
} sleepers;

static void sleep_on_a_word(int index, void *shared)
{
	sleepers *s = shared;
	int which = index % 2;
	pl_add_ar(&s->asleep, 1);
	while (!pl_load_acq(&s->words[which]))
		pl_futex_wait(&s->words[which], 0, PL_FOREVER, 0);
	pl_add_ar(&s->woken[which], 1);
}

static void wake_op_wakes_the_second_word_only_if_the_comparison_holds(void **state)
{
	(void)state;
	for (int second = 0; second < 2; second++) {
		sleepers s = {0};
		crew *c = crew_start(2, sleep_on_a_word, &s);
		AWAIT(pl_load_acq(&s.asleep) == 2);
		pl_store_rel(&s.words[0], 1);
		int woken = 0;
		/* The sleepers may not sleep yet. The second word stays 0 at first (+0), so that nobody leaves by himself. */
		while (woken < 1 + second && !(pl_load_acq(&s.woken[0]) && !second)) {
			int n = QUIETLY(pl_futex_wake_op(&s.words[0], 1, &s.words[1], 1, PL_FUTEX_ADD, 0,
							 second ? PL_FUTEX_EQ : PL_FUTEX_NE, 0, 0));
			assert_true(n >= 0);
			woken += n;
		}
		AWAIT(pl_load_acq(&s.woken[0]) == 1);
		assert_int_equal(pl_load_acq(&s.woken[1]), 0);
		assert_true(QUIETLY(pl_futex_wake_op(&s.words[0], 1, &s.words[1], 1, PL_FUTEX_SET | PL_FUTEX_SHIFT, 36, PL_FUTEX_EQ, 0,
						     0)) >= 0);
		crew_join(c);
		assert_int_equal(s.words[1], 1 << 4);
	}
}

typedef struct {
	uint32_t words[3], result_ready;
	int result;
} several;

static void sleep_on_several(int index, void *shared)
{
	(void)index;
	several *s = shared;
	const pl_futex_waiter waiters[] = {{&s->words[0], 0, 0}, {&s->words[1], 0, 0}, {&s->words[2], 0, PL_FUTEX_SHARED}};
	int r;
	while ((r = QUIETLY(pl_futex_waitv(waiters, 3, PL_FOREVER, 0))) == -EINTR)
		;
	s->result = r;
	pl_store_rel(&s->result_ready, 1);
}

static bool waitv_is_there(void)
{
	uint32_t word = 0;
	return pl_futex_waitv(&(pl_futex_waiter){&word, 1, 0}, 1, 0, 0) != -ENOSYS;
}

static void waitv_names_the_word_that_was_woken(void **state)
{
	(void)state;
	uint32_t word = 0;
	const pl_futex_waiter one = {&word, 0, 0}, differs = {&word, 1, 0}, gone = {(uint32_t *)16, 0, 0};
	if (!waitv_is_there()) { /* Linux before 5.16, emulators: every call says so */
		assert_int_equal(QUIETLY(pl_futex_waitv(&one, 1, 0, 0)), -ENOSYS);
		return;
	}
	assert_int_equal(QUIETLY(pl_futex_waitv(&one, 1, 2 * ms, 0)), -ETIMEDOUT);
	assert_int_equal(QUIETLY(pl_futex_waitv(&one, 1, 0, 0)), -ETIMEDOUT);
	assert_int_equal(QUIETLY(pl_futex_waitv(&differs, 1, PL_FOREVER, 0)), -EAGAIN);
	assert_int_equal(QUIETLY(pl_futex_waitv(&gone, 1, PL_FOREVER, 0)), -EFAULT);
	for (int i = 0; i < 3; i++) {
		several s = {0};
		crew *c = crew_start(1, sleep_on_several, &s);
		AWAIT(pl_futex_wake(&s.words[i], 1, i == 2 ? PL_FUTEX_SHARED : 0) == 1);
		AWAIT(pl_load_acq(&s.result_ready));
		assert_int_equal(s.result, i);
		crew_join(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_operation_and_comparison_does_what_it_says),
		TEST(cmpxchg_swaps_only_what_was_expected),
		TEST(bad_arguments_are_refused),
		TEST(read_only_write_only_and_absent_memory_give_efault),
		TEST(wake_op_wakes_the_second_word_only_if_the_comparison_holds),
		TEST(waitv_names_the_word_that_was_woken),
	};
	return cmocka_run_group_tests_name("futex operations", tests, NULL, NULL);
}
