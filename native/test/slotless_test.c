/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More threads than slots: those without one get the lock all the same, with the same exclusion. And how many slots the
 * default domain has.
 */
#define _GNU_SOURCE
#include "domain.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pl_domain *new_domain(uint32_t slots)
{
	pl_domain_options o = {.slots = slots};
	pl_domain *d = NULL;
	REQUIRE_EQUAL(pl_domain_create(&o, &d), 0);
	return d;
}

/* The calling thread's slot, or what stands for a thread without one. */
static pl_thread *slot_or_service(pl_domain *d)
{
	pl_thread *self = pl_self_in(d);
	return self ? self : pl_domain_service(d);
}

typedef struct {
	pl_domain *domain; /* null: the default one, and pl_self() says null */
	int layout;
	uint32_t flags;
	any_lock lock;
	uint64_t rounds;
	uint64_t counter;
	uint32_t inside, without;
} game;

static pl_thread *self_in(const game *g) { return g->domain ? slot_or_service(g->domain) : pl_self(); }

static void play(int index, void *shared)
{
	game *g = shared;
	pl_thread *self = self_in(g);
	if (!self || !self->index)
		pl_add_ar(&g->without, 1);
	for (uint64_t i = 0; i < g->rounds; i++) {
		if (g->flags)
			REQUIRE_EQUAL(any_lock_wait(g->layout, self, &g->lock, g->flags, PL_FOREVER), 0);
		else
			REQUIRE_EQUAL(index % 2 ? any_lock_it(g->layout, self, &g->lock)
						: any_lock_inline(g->layout, self, &g->lock),
				      0);
		REQUIRE_EQUAL(pl_swap_ar(&g->inside, 1), 0);
		g->counter++;
		if (i % 16 == 0)
			sleep_us(20); /* so that others come to wait */
		REQUIRE_EQUAL(pl_swap_ar(&g->inside, 0), 1);
		REQUIRE_EQUAL(index % 2 ? any_unlock(g->layout, self, &g->lock) : any_unlock_inline(g->layout, self, &g->lock), 0);
	}
}

static void check_played(game *g, int threads)
{
	crew_run(threads, play, g);
	assert_int_equal(g->counter, (uint64_t)threads * g->rounds);
	assert_int_equal(any_bits(g->layout, &g->lock), 0);
}

static void sixty_four_threads_exclude_each_other_with_three_slots(void **state)
{
	(void)state;
	enum { threads = 64 };
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++) {
			game g = {.domain = new_domain(4), .layout = layout, .flags = flags, .rounds = scaled(30)};
			check_played(&g, threads);
			assert_int_equal(pl_domain_close(g.domain), 0);
		}
}

static void thousands_of_threads_exclude_each_other_with_few_slots(void **state)
{
	(void)state;
	int threads = (int)scaled(2000);
	for (int layout = 0; layout < layouts; layout++) {
		game g = {.domain = new_domain((uint32_t)threads / 8 + 2), .layout = layout, .rounds = 2};
		check_played(&g, threads);
		print_message("             %d threads, %u without a slot\n", threads, g.without);
		assert_int_equal(pl_domain_close(g.domain), 0);
	}
}

/* ---- the default domain ---- */

static int child_plays_in_default_domain(int argc, char **argv)
{
	(void)argc;
	enum { threads = 40 };
	uint32_t slots = (uint32_t)number_argument(argv, 0);
	REQUIRE_EQUAL(pl_domain_default()->slots, slots);
	for (int layout = 0; layout < layouts; layout++) {
		game g = {.layout = layout, .rounds = scaled(50)};
		crew_run(threads, play, &g);
		REQUIRE_EQUAL(g.counter, threads * g.rounds);
		REQUIRE_EQUAL(any_bits(layout, &g.lock), 0);
	}
	return 0;
}

static void null_from_pl_self_is_good_enough_for_the_default_domain(void **state)
{
	(void)state;
	setenv("PANALOCK_SLOTS", "5", 1);
	assert_int_equal(child_wait(CHILD_START("plays", 5)), 0);
	unsetenv("PANALOCK_SLOTS");
}

/* number of slots that the default domain has in the end, number to ask for by call (0: none), result of that call */
static int child_sizes_default_domain(int argc, char **argv)
{
	(void)argc;
	pl_domain_options o = {.slots = (uint32_t)number_argument(argv, 1)};
	if (o.slots)
		REQUIRE_EQUAL(QUIETLY(pl_domain_default_options(&o)), number_argument(argv, 2));
	REQUIRE(freopen("/dev/null", "w", stderr)); /* what is said about a bad variable */
	REQUIRE_EQUAL(QUIETLY(pl_domain_default())->slots, number_argument(argv, 0));
	if (o.slots) {
		REQUIRE_EQUAL(QUIETLY(pl_domain_default_options(&o)), number_argument(argv, 2));
		o.slots = 77;
		REQUIRE_EQUAL(QUIETLY(pl_domain_default_options(&o)), -EBUSY);
	}
	REQUIRE_EQUAL(QUIETLY(pl_domain_default_options(NULL)), -EINVAL);
	pl_domain_options nothing = {0};
	REQUIRE_EQUAL(QUIETLY(pl_domain_default_options(&nothing)), 0);
	return 0;
}

static void environment_and_call_size_the_default_domain(void **state)
{
	(void)state;
	static const struct {
		const char *variable;
		int64_t slots, asked, result;
	} cases[] = {
		{NULL, PL_DEFAULT_SLOTS, 0, 0},       {"", PL_DEFAULT_SLOTS, 0, 0},
		{"2", 2, 0, 0},                       {"16384", PL_MAX_SLOTS, 0, 0},
		{"1", PL_DEFAULT_SLOTS, 0, 0},        {"16385", PL_DEFAULT_SLOTS, 0, 0},
		{"many", PL_DEFAULT_SLOTS, 0, 0},     {"12x", PL_DEFAULT_SLOTS, 0, 0},
		{"-5", PL_DEFAULT_SLOTS, 0, 0},       {"99999999999999999999999", PL_DEFAULT_SLOTS, 0, 0},
		{NULL, 9, 9, 0},                      {"12", 9, 9, 0}, /* the call goes first */
		{"12", 12, 1, -EINVAL},               {NULL, PL_DEFAULT_SLOTS, PL_MAX_SLOTS + 1, -EINVAL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (cases[i].variable)
			setenv("PANALOCK_SLOTS", cases[i].variable, 1);
		else
			unsetenv("PANALOCK_SLOTS");
		assert_int_equal(child_wait(CHILD_START("sizes", cases[i].slots, cases[i].asked, cases[i].result)), 0);
	}
	unsetenv("PANALOCK_SLOTS");
}

/* ---- one waiter without a slot ---- */

static void waiter_without_a_slot_keeps_its_limit(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4);
	pl_thread *self = pl_self_in(d), *service = pl_domain_service(d);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags < 8; flags++) {
			any_lock lock = {.words = {0, 0}};
			assert_int_equal(any_lock_it(layout, self, &lock), 0);
			assert_int_equal(QUIETLY(any_lock_wait(layout, service, &lock, flags, 0)), -ETIMEDOUT);
			assert_int_equal(QUIETLY(any_lock_wait(layout, service, &lock, flags, 3 * ms)), -ETIMEDOUT);
			assert_int_equal(QUIETLY(any_lock_wait(layout, NULL, &lock, flags, 3 * ms)), -ETIMEDOUT);
			assert_int_equal(any_bits(layout, &lock), PL_Q_LOCKED); /* no reservation is left */
			assert_int_equal(any_unlock(layout, self, &lock), 0);
			assert_int_equal(QUIETLY(any_lock_wait(layout, NULL, &lock, flags, 0)), 0);
			assert_int_equal(QUIETLY(any_unlock(layout, NULL, &lock)), 0);
			assert_int_equal(lock.words[0] | lock.words[1], 0);
		}
	assert_int_equal(service->depth, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

typedef struct {
	pl_domain *domain;
	int layout;
	any_lock lock;
	uint32_t stop, taken;
} hog;

static void take_back_to_back(int index, void *shared)
{
	(void)index;
	hog *h = shared;
	pl_thread *self = pl_self_in(h->domain);
	while (!pl_load_acq(&h->stop)) {
		REQUIRE_EQUAL(any_lock_it(h->layout, self, &h->lock), 0);
		pl_store_rel(&h->taken, 1);
		for (volatile int spin = 3000; spin;)
			spin--; /* mostly held: looking now and then would hardly find it free */
		REQUIRE_EQUAL(any_unlock(h->layout, self, &h->lock), 0);
	}
}

static void owners_that_take_it_back_to_back_do_not_starve_a_waiter_without_a_slot(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		hog h = {.domain = new_domain(4), .layout = layout};
		crew *c = crew_start(2, take_back_to_back, &h);
		AWAIT(pl_load_acq(&h.taken));
		uint64_t longest = 0;
		for (uint64_t i = scaled(50); i; i--) {
			uint64_t start = now_ns();
			REQUIRE_EQUAL(any_lock_it(layout, pl_domain_service(h.domain), &h.lock), 0); /* the watchdog limits it */
			uint64_t took = now_ns() - start;
			longest = took > longest ? took : longest;
			REQUIRE_EQUAL(any_unlock(layout, pl_domain_service(h.domain), &h.lock), 0);
		}
		pl_store_rel(&h.stop, 1);
		crew_join(c);
		print_message("             longest wait %.1f ms\n", (double)longest / ms);
		assert_int_equal(pl_domain_close(h.domain), 0);
	}
}

static void poisoned_lock_ends_a_wait_without_a_slot(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		pl_domain *d = new_domain(4);
		void *word;
		assert_int_equal(pl_domain_pool_take(d, &word), 0);
		assert_int_equal(any_lock_it(layout, pl_self_in(d), word), 0);
		assert_int_equal(pl_domain_poison(d), 0);
		assert_int_equal(any_lock_it(layout, pl_domain_service(d), word), -ESHUTDOWN);
		assert_int_equal(pl_domain_close(d), 0);
	}
}

/* ---- who has no slot wakes as others do ---- */

typedef struct {
	int layout;
	any_lock lock;
	pl_thread *slot;
} sleeper;

static void sleep_for_it(int index, void *shared)
{
	(void)index;
	sleeper *s = shared;
	pl_thread *self = pl_self();
	__atomic_store_n(&s->slot, self, __ATOMIC_RELEASE);
	REQUIRE_EQUAL(any_lock_it(s->layout, self, &s->lock), 0);
	REQUIRE_EQUAL(any_unlock(s->layout, self, &s->lock), 0);
}

static void unlock_with_null_wakes_a_sleeper(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++)
		for (int form = 0; form < 2; form++) {
			sleeper s = {.layout = layout};
			assert_int_equal(any_lock_it(layout, NULL, &s.lock), 0);
			crew *c = crew_start(1, sleep_for_it, &s);
			AWAIT(__atomic_load_n(&s.slot, __ATOMIC_ACQUIRE) && is_asleep_at(layout, &s.lock, s.slot));
			assert_int_equal(form ? any_unlock(layout, NULL, &s.lock) : any_unlock_inline(layout, NULL, &s.lock), 0);
			uint32_t state_now = pl_load_acq(&s.slot->nodes[0].state);
			assert_true(state_now == PL_NODE_CHOSEN || state_now == PL_NODE_IDLE); /* it was the unlock, no timer */
			crew_join(c);
		}
}

/* ---- what it costs ---- */

static void wait_without_a_slot(int index, void *shared)
{
	(void)index;
	game *g = shared;
	pl_thread *service = pl_domain_service(g->domain);
	REQUIRE_EQUAL(any_lock_it(g->layout, service, &g->lock), 0);
	REQUIRE_EQUAL(any_unlock(g->layout, service, &g->lock), 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void hundred_waiters_without_a_slot_do_not_burn_the_cpu(void **state)
{
	(void)state;
	enum { threads = 100 };
	game g = {.domain = new_domain(4), .layout = PL_LAYOUT_WIDE};
	assert_int_equal(any_lock_it(g.layout, pl_self_in(g.domain), &g.lock), 0);
	crew *c = crew_start(threads, wait_without_a_slot, &g);
	sleep_us(100000);
	uint64_t start = now_ns(), cpu = cpu_ns();
	sleep_us(500000);
	double part = (double)(cpu_ns() - cpu) / (double)(now_ns() - start);
	assert_int_equal(any_unlock(g.layout, pl_self_in(g.domain), &g.lock), 0);
	crew_join(c);
	print_message("             %d waiters use %.0f %% of a CPU\n", threads, part * 100);
	assert_true(UNDER_TSAN || UNDER_ASAN || part < 0.9); /* spinners would use all CPUs */
	assert_int_equal(pl_domain_close(g.domain), 0);
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"plays", child_plays_in_default_domain},
		{"sizes", child_sizes_default_domain},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		/* These first: forked children must find no default domain. */
		TEST(environment_and_call_size_the_default_domain),
		TEST(null_from_pl_self_is_good_enough_for_the_default_domain),
		TEST(waiter_without_a_slot_keeps_its_limit),
		TEST(sixty_four_threads_exclude_each_other_with_three_slots),
		TEST(thousands_of_threads_exclude_each_other_with_few_slots),
		TEST(owners_that_take_it_back_to_back_do_not_starve_a_waiter_without_a_slot),
		TEST(poisoned_lock_ends_a_wait_without_a_slot),
		TEST(unlock_with_null_wakes_a_sleeper),
		TEST(hundred_waiters_without_a_slot_do_not_burn_the_cpu),
	};
	return cmocka_run_group_tests_name("waiting without a slot", tests, NULL, NULL);
}
