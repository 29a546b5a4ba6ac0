/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "support.h"

#include <limits.h>
#include <panalock/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint32_t kinds[] = {0, PL_FUTEX_SHARED};

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	uint32_t words[2] = {0, 0};
	uint32_t *askew = (uint32_t *)(void *)((char *)words + 1);
	assert_int_equal(QUIETLY(pl_futex_wait(NULL, 0, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_wait(askew, 0, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_wait(words, 0, 0, 2)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_wake(NULL, 1, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_wake(askew, 1, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_wake(words, 1, 4)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_requeue(NULL, 0, 1, 1, words, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_requeue(words, 0, 1, 1, NULL, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_requeue(words, 0, 1, 1, askew, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_requeue(words, 0, 1, 1, &words[1], 8)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_requeue(words, 0, (uint32_t)INT_MAX + 1, 1, &words[1], 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_futex_requeue(words, 0, 1, (uint32_t)INT_MAX + 1, &words[1], 0)), -EINVAL);
}

static void memory_that_is_not_there_gives_efault(void **state)
{
	(void)state;
	uint32_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), here = 0;
	for (int k = 0; k < 2; k++) {
		assert_int_equal(QUIETLY(pl_futex_wait(gone, 0, ms, kinds[k])), -EFAULT);
		assert_int_equal(QUIETLY(pl_futex_requeue(gone, 0, 1, 1, &here, kinds[k])), -EFAULT);
	}
	munmap(gone, 4096);
}

static void different_value_does_not_sleep(void **state)
{
	(void)state;
	uint32_t word = 7, other = 0;
	for (int k = 0; k < 2; k++) {
		assert_int_equal(QUIETLY(pl_futex_wait(&word, 8, PL_FOREVER, kinds[k])), -EAGAIN);
		assert_int_equal(QUIETLY(pl_futex_requeue(&word, 8, 1, 1, &other, kinds[k])), -EAGAIN);
	}
}

static void wait_ends_after_its_timeout(void **state)
{
	(void)state;
	uint32_t word = 7;
	const int64_t timeouts[] = {0, 1, 200 * us, 5 * ms, 1100ll * ms};
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < 5 - k; i++) {
			uint64_t start = now_ns();
			assert_int_equal(QUIETLY(pl_futex_wait(&word, 7, timeouts[i], kinds[k])), -ETIMEDOUT);
			int64_t took = (int64_t)(now_ns() - start);
			assert_true(took >= timeouts[i]);
			assert_true(took < timeouts[i] + 1000ll * ms);
		}
}

static void waking_nobody_returns_0(void **state)
{
	(void)state;
	uint32_t word = 0, other = 0;
	for (int k = 0; k < 2; k++) {
		assert_int_equal(QUIETLY(pl_futex_wake(&word, 1, kinds[k])), 0);
		assert_int_equal(QUIETLY(pl_futex_wake(&word, 0, kinds[k])), 0);
		assert_int_equal(QUIETLY(pl_futex_wake(&word, UINT32_MAX, kinds[k])), 0);
		assert_int_equal(QUIETLY(pl_futex_requeue(&word, 0, 1, 1, &other, kinds[k])), 0);
	}
}

typedef struct {
	uint32_t *word, *other;
	uint32_t flags, asleep, woken;
} sleepers;

static void sleep_on_the_word(int index, void *shared)
{
	(void)index;
	sleepers *s = shared;
	pl_add_ar(&s->asleep, 1);
	for (;;) {
		int err = QUIETLY(pl_futex_wait(s->word, 0, PL_FOREVER, s->flags));
		if (err == -EINTR)
			continue;
		REQUIRE_EQUAL(err, 0);
		pl_add_ar(&s->woken, 1);
		return;
	}
}

/* How many sleep there: all are moved to another word and back, which wakes nobody. */
static int sleeping_on(uint32_t *word, uint32_t flags)
{
	static uint32_t *spare;
	if (!spare)
		spare = map_file(shared_file(4096), 4096);
	int moved = pl_futex_requeue(word, *word, 0, INT_MAX, spare, flags);
	REQUIRE_EQUAL(pl_futex_requeue(spare, 0, 0, INT_MAX, word, flags), moved);
	return moved;
}

static void wake_and_requeue_touch_as_many_as_they_say(void **state)
{
	(void)state;
	enum { crew_size = 6 };
	uint32_t *words = map_file(shared_file(4096), 4096);
	for (int k = 0; k < 2; k++) {
		memset(words, 0, 4096);
		sleepers s = {.word = &words[0], .other = &words[16], .flags = kinds[k]};
		crew *c = crew_start(crew_size, sleep_on_the_word, &s);
		AWAIT(sleeping_on(s.word, s.flags) == crew_size);
		assert_int_equal(pl_futex_wake(s.word, 0, s.flags), 0); /* the system call would wake one */
		sleep_us(2000);
		assert_int_equal(sleeping_on(s.word, s.flags), crew_size);
		assert_int_equal(pl_futex_wake(s.word, 2, s.flags), 2);
		AWAIT(pl_load_acq(&s.woken) == 2);
		/* One woken, two moved, one stays. */
		assert_int_equal(QUIETLY(pl_futex_requeue(s.word, 1, 1, 2, s.other, s.flags)), -EAGAIN);
		assert_int_equal(QUIETLY(pl_futex_requeue(s.word, 0, 1, 2, s.other, s.flags)), 3);
		AWAIT(pl_load_acq(&s.woken) == 3);
		assert_int_equal(sleeping_on(s.word, s.flags), 1);
		assert_int_equal(sleeping_on(s.other, s.flags), 2);
		assert_int_equal(pl_futex_wake(s.other, UINT32_MAX, s.flags), 2);
		AWAIT(pl_load_acq(&s.woken) == 5);
		assert_int_equal(pl_futex_wake(s.word, UINT32_MAX, s.flags), 1);
		crew_join(c);
		assert_int_equal(s.woken, crew_size);
	}
	munmap(words, 4096);
}

/* fd of a page: word 0 is slept on, word 1 says "about to sleep" */
static int child_sleeps(int argc, char **argv)
{
	(void)argc;
	uint32_t *words = map_file((int)number_argument(argv, 0), 4096);
	pl_store_rel(&words[1], 1);
	int err;
	while ((err = pl_futex_wait(&words[0], 0, PL_FOREVER, PL_FUTEX_SHARED)) == -EINTR)
		;
	return -err;
}

static void shared_words_wake_another_process_and_private_ones_do_not(void **state)
{
	(void)state;
	int fd = shared_file(4096);
	uint32_t *words = map_file(fd, 4096);
	int pid = CHILD_START("sleeps", fd);
	AWAIT(pl_load_acq(&words[1]));
	sleep_us(20000);
	assert_int_equal(pl_futex_wake(&words[0], 1, 0), 0);
	AWAIT(pl_futex_wake(&words[0], 1, PL_FUTEX_SHARED) == 1);
	assert_int_equal(child_wait(pid), 0);
	munmap(words, 4096);
	close(fd);
}

static void handled(int signal) { (void)signal; }

typedef struct {
	uint32_t word, interrupted;
	pthread_t thread;
	uint32_t started;
} interrupted_sleeper;

static void be_interrupted(int index, void *shared)
{
	(void)index;
	interrupted_sleeper *s = shared;
	s->thread = pthread_self();
	pl_store_rel(&s->started, 1);
	REQUIRE_EQUAL(QUIETLY(pl_futex_wait(&s->word, 0, PL_FOREVER, 0)), -EINTR);
	pl_store_rel(&s->interrupted, 1);
}

static void signal_handler_ends_the_sleep_with_eintr(void **state)
{
	(void)state;
	struct sigaction action = {.sa_handler = handled}, before;
	sigaction(SIGUSR1, &action, &before);
	interrupted_sleeper s = {0};
	crew *c = crew_start(1, be_interrupted, &s);
	AWAIT(pl_load_acq(&s.started));
	while (!pl_load_acq(&s.interrupted)) { /* the first may come before it sleeps */
		sleep_us(1000);
		if (!pl_load_acq(&s.interrupted))
			pthread_kill(s.thread, SIGUSR1);
	}
	crew_join(c);
	sigaction(SIGUSR1, &before, NULL);
}

typedef struct {
	uint32_t word, rounds;
} ping;

static void ping_pong(int index, void *shared)
{
	ping *p = shared;
	for (uint32_t i = 0; i < p->rounds; i++) {
		for (uint32_t seen; (seen = pl_load_acq(&p->word)) % 2 != (uint32_t)index;)
			pl_futex_wait(&p->word, seen, PL_FOREVER, 0);
		pl_add_ar(&p->word, 1);
		pl_futex_wake(&p->word, 1, 0);
	}
}

static void two_threads_pass_a_word_to_and_fro(void **state)
{
	(void)state;
	ping p = {0, (uint32_t)scaled(10000)};
	crew_run(2, ping_pong, &p);
	assert_int_equal(p.word, 2 * p.rounds);
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"sleeps", child_sleeps},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(bad_arguments_are_refused),
		TEST(memory_that_is_not_there_gives_efault),
		TEST(different_value_does_not_sleep),
		TEST(wait_ends_after_its_timeout),
		TEST(waking_nobody_returns_0),
		TEST(wake_and_requeue_touch_as_many_as_they_say),
		TEST(shared_words_wake_another_process_and_private_ones_do_not),
		TEST(signal_handler_ends_the_sleep_with_eintr),
		TEST(two_threads_pass_a_word_to_and_fro),
	};
	return cmocka_run_group_tests_name("futex", tests, NULL, NULL);
}
