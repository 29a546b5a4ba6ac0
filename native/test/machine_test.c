/* SPDX-License-Identifier: Apache-2.0 */
/* How a thread waits for a word: that it ends when the word changes, and on time when it never does. */
#define PL_NO_INLINE
#include "support.h"

#include "os/os.h"

#include <stdlib.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* What a wait may be late by. Scheduling adds more, so the best of several tries counts. */
enum { late_ns = 150 * us, tries = 200 };

static bool known(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void methods_of_waiting_have_names_and_can_be_forced(void **state)
{
	(void)state;
#if defined(__aarch64__)
	static const char *const waits[] = {"wfet", "wfe", "sb", "isb", "yield"};
	const char *forced = getenv("PANALOCK_ARM64_WAIT");
	if (forced && known(forced, waits, 5))
		assert_string_equal(pl_wait_method(), forced);
	assert_true(known(pl_wait_method(), waits, 5));
	assert_true(known(pl_relax_method(), waits + 2, 3));
	if (!known(pl_wait_method(), waits, 2))
		assert_string_equal(pl_wait_method(), pl_relax_method());
#elif defined(__x86_64__)
	static const char *const waits[] = {"pause"};
	assert_true(known(pl_wait_method(), waits, 1));
	assert_true(known(pl_relax_method(), waits, 1));
#endif
	print_message("waits by %s, relaxes by %s\n", pl_wait_method(), pl_relax_method());
#if defined(__aarch64__)
	print_message("LSE atomics: %s\n", getauxval(AT_HWCAP) & HWCAP_ATOMICS ? "yes" : "no");
#endif
}

static void a_watch_that_nobody_ends_ends_on_time(void **state)
{
	(void)state;
	static const uint32_t lengths[] = {0, 1, 100, 5 * us, 16 * us, 100 * us, ms, 20 * ms};
	uint32_t word = 7;
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		uint64_t best = UINT64_MAX;
		for (int n = 0; n < tries; n++) {
			uint64_t start = now_ns();
			assert_int_equal(pl_os_watch(&word, 7, lengths[i]), 7);
			uint64_t took = now_ns() - start;
			if (took < best)
				best = took;
			if (best <= lengths[i] + lengths[i] / 4 + late_ns)
				break;
		}
		if (best > lengths[i] + lengths[i] / 4 + late_ns)
			fail_msg("a watch of %u ns took at least %llu", lengths[i], (unsigned long long)best);
	}
}

static void a_watch_lasts_about_as_long_as_asked(void **state)
{
	(void)state;
	static const uint32_t lengths[] = {16 * us, 100 * us, ms, 20 * ms};
	uint32_t word = 7;
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		uint64_t longest = 0;
		for (int n = 0; n < tries && longest < lengths[i] / 2; n++) {
			uint64_t start = now_ns();
			pl_os_watch(&word, 7, lengths[i]);
			uint64_t took = now_ns() - start;
			longest = took > longest ? took : longest;
		}
		if (longest < lengths[i] / 2)
			fail_msg("a watch of %u ns took at most %llu", lengths[i], (unsigned long long)longest);
	}
}

static void a_watch_ends_at_once_if_the_word_differs_already(void **state)
{
	(void)state;
	uint32_t word = 8;
	uint64_t start = now_ns();
	assert_int_equal(pl_os_watch(&word, 7, UINT32_MAX), 8);
	assert_true(now_ns() - start < 1000 * (uint64_t)ms);
}

typedef struct {
	uint32_t word;
	uint32_t watching;
	uint64_t took;
} meeting;

static void watch_or_write(int index, void *shared)
{
	meeting *m = shared;
	if (index == 0) {
		AWAIT(pl_load_acq(&m->watching));
		sleep_us(2000);
		pl_store_rel(&m->word, 9);
		return;
	}
	uint64_t start = now_ns();
	pl_store_rel(&m->watching, 1);
	REQUIRE_EQUAL(pl_os_watch(&m->word, 0, UINT32_MAX), 9);
	m->took = now_ns() - start;
}

static void a_watch_ends_when_the_word_changes(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		meeting m = {0};
		crew_run(2, watch_or_write, &m);
		assert_true(m.took < 2000 * (uint64_t)ms); /* asked for 4.3 s */
	}
}

/* Nobody ever unlocks, so nobody ever writes to the word: every policy and layout must give up by itself. */
static void a_timed_wait_that_nobody_signals_returns_on_time(void **state)
{
	(void)state;
	static const uint32_t policies[] = {0, PL_WAIT_SPIN, PL_WAIT_INTERRUPTIBLE, PL_WAIT_SPIN | PL_WAIT_INTERRUPTIBLE};
	static const int64_t timeouts[] = {0, 50 * us, 3 * ms, 30 * ms};
	pl_thread *self = pl_self();
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock;
		any_init(layout, &lock);
		assert_int_equal(any_lock_it(layout, self, &lock), 0);
		for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
			for (size_t t = 0; t < sizeof timeouts / sizeof *timeouts; t++) {
				uint64_t limit = (uint64_t)timeouts[t] + 4 * ms, best = UINT64_MAX;
				for (int n = 0; n < tries && best > limit; n++) {
					uint64_t start = now_ns();
					assert_int_equal(any_lock_wait(layout, self, &lock, policies[p], timeouts[t]), -ETIMEDOUT);
					uint64_t took = now_ns() - start;
					assert_true(took >= (uint64_t)timeouts[t]);
					best = took < best ? took : best;
				}
				if (best > limit)
					fail_msg("%s, flags %u: a timeout of %lld ns took at least %llu", layout_names[layout],
						 policies[p], (long long)timeouts[t], (unsigned long long)best);
			}
		assert_int_equal(any_unlock(layout, self, &lock), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(methods_of_waiting_have_names_and_can_be_forced),
		TEST(a_watch_that_nobody_ends_ends_on_time),
		TEST(a_watch_lasts_about_as_long_as_asked),
		TEST(a_watch_ends_at_once_if_the_word_differs_already),
		TEST(a_watch_ends_when_the_word_changes),
		TEST(a_timed_wait_that_nobody_signals_returns_on_time),
	};
	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
