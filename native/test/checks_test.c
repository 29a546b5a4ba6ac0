/* SPDX-License-Identifier: Apache-2.0 */
/* The debug checks of PL_DOMAIN_CHECKS domains. */
#define PL_NO_INLINE
#include "domain.h"
#include "held.h"
#include "support.h"

#include <panalock/bridge.h>
#include <stdlib.h>
#include <unistd.h>

static pl_domain *new_domain(uint32_t flags)
{
	pl_domain_options o = {.slots = 16, .pool_locks = 4, .flags = flags};
	pl_domain *d = NULL;
	REQUIRE_EQUAL(pl_domain_create(&o, &d), 0);
	return d;
}

static pl_thread *new_slot(pl_domain *d)
{
	pl_thread *slot;
	REQUIRE_EQUAL(pl_thread_register(d, 0, &slot), 0);
	return slot;
}

static void recursion_is_refused_by_every_call_that_would_wait_for_ever(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0, 0}};
		for (int way = 0; way < 3; way++) {
			assert_int_equal(way == 0   ? any_lock_it(layout, self, &lock)
					 : way == 1 ? any_trylock(layout, self, &lock)
						    : any_lock_wait(layout, self, &lock, PL_WAIT_SPIN, PL_FOREVER),
					 0);
			assert_int_equal(QUIETLY(any_lock_it(layout, self, &lock)), -EDEADLK);
			assert_int_equal(QUIETLY(any_lock_wait(layout, self, &lock, 0, PL_FOREVER)), -EDEADLK);
			assert_int_equal(QUIETLY(any_lock_wait(layout, self, &lock, PL_WAIT_SPIN, PL_FOREVER)), -EDEADLK);
			assert_int_equal(QUIETLY(any_trylock(layout, self, &lock)), -EBUSY);
			assert_int_equal(any_bits(layout, &lock), PL_Q_LOCKED);
			assert_int_equal(QUIETLY(any_unlock(layout, self, &lock)), 0);
			assert_int_equal(any_bits(layout, &lock), 0);
			assert_false(pl_held_any(self));
		}
	}
	assert_int_equal(pl_domain_close(d), 0);
}

/* Code without PL_NO_INLINE in a program with checks: nothing is recorded, in no call, and nothing is in the way later. */
static void inline_forms_neither_record_nor_check(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d), *other = new_slot(d);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0, 0}};
		for (int way = 0; way < 3; way++) {
			assert_int_equal(way == 0   ? any_lock_inline(layout, self, &lock)
					 : way == 1 ? any_trylock_inline(layout, self, &lock)
						    : any_lock_wait_inline(layout, self, &lock, 0, PL_FOREVER),
					 0);
			assert_false(pl_held_any(self));
			assert_null(pl_domain_holder(d, &lock));
			assert_int_equal(any_trylock_inline(layout, self, &lock), -EBUSY);
			assert_int_equal(any_lock_wait_inline(layout, self, &lock, PL_WAIT_SPIN, us), -ETIMEDOUT);
			assert_int_equal(any_unlock_inline(layout, other, &lock), 0);
			assert_int_equal(any_bits(layout, &lock), 0);
		}
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void record_that_an_inline_unlock_left_behind_is_dropped(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d);
	for (int layout = 0; layout < layouts; layout++)
		for (int way = 0; way < 3; way++) {
			any_lock lock = {.words = {0, 0}};
			assert_int_equal(any_trylock(layout, self, &lock), 0);
			assert_int_equal(any_unlock_inline(layout, self, &lock), 0);
			assert_true(pl_held_any(self));
			assert_int_equal(way == 0   ? any_lock_it(layout, self, &lock)
					 : way == 1 ? any_trylock(layout, self, &lock)
						    : any_lock_wait(layout, self, &lock, 0, PL_FOREVER),
					 0);
			assert_int_equal(any_unlock(layout, self, &lock), 0);
			assert_false(pl_held_any(self));
		}
	assert_int_equal(pl_domain_close(d), 0);
}

static void foreign_unlock_is_refused_and_releases_nothing(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d), *other = new_slot(d);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0, 0}}, another = {.words = {0, 0}};
		assert_int_equal(QUIETLY(any_unlock(layout, self, &lock)), -EPERM); /* nobody's */
		assert_int_equal(any_bits(layout, &lock), 0);
		assert_int_equal(any_lock_it(layout, self, &lock), 0);
		assert_int_equal(any_lock_it(layout, other, &another), 0);
		assert_int_equal(QUIETLY(any_unlock(layout, other, &lock)), -EPERM);
		assert_int_equal(any_is_locked(layout, &lock), 1);
		assert_ptr_equal(pl_domain_holder(d, &lock), self);
		assert_int_equal(any_unlock(layout, self, &lock), 0);
		assert_int_equal(QUIETLY(any_unlock(layout, self, &lock)), -EPERM); /* twice */
		assert_int_equal(any_unlock(layout, other, &another), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void failed_acquisitions_record_nothing(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d), *other = new_slot(d);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0, 0}};
		assert_int_equal(any_lock_it(layout, other, &lock), 0);
		assert_int_equal(any_trylock(layout, self, &lock), -EBUSY);
		assert_int_equal(any_lock_wait(layout, self, &lock, 0, ms), -ETIMEDOUT);
		assert_int_equal(any_lock_wait(layout, self, &lock, PL_WAIT_SPIN, ms), -ETIMEDOUT);
		assert_int_equal(pl_thread_interrupt(self), 0);
		assert_int_equal(any_lock_wait(layout, self, &lock, PL_WAIT_INTERRUPTIBLE, ms), -EINTR);
		assert_false(pl_held_any(self));
		assert_ptr_equal(pl_domain_holder(d, &lock), other);
		assert_int_equal(any_unlock(layout, self, &lock), -EPERM);
		assert_int_equal(any_unlock(layout, other, &lock), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void holder_is_named_and_nobody_else(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d), *other = new_slot(d);
	void *pooled;
	assert_int_equal(pl_domain_pool_take(d, &pooled), 0);
	static any_lock elsewhere;
	any_lock *locks[] = {pooled, &elsewhere};
	for (int l = 0; l < 2; l++)
		for (int layout = 0; layout < layouts; layout++) {
			assert_null(QUIETLY(pl_domain_holder(d, locks[l])));
			assert_int_equal(any_lock_it(layout, self, locks[l]), 0);
			assert_ptr_equal(pl_domain_holder(d, locks[l]), self);
			assert_int_equal(any_unlock(layout, self, locks[l]), 0);
			assert_null(pl_domain_holder(d, locks[l]));
			assert_int_equal(any_trylock(layout, other, locks[l]), 0);
			assert_ptr_equal(pl_domain_holder(d, locks[l]), other);
			assert_int_equal(any_unlock(layout, other, locks[l]), 0);
			assert_null(pl_domain_holder(d, locks[l]));
		}
	assert_null(QUIETLY(pl_domain_holder(NULL, pooled)));
	assert_null(QUIETLY(pl_domain_holder(d, NULL)));
	assert_int_equal(pl_domain_close(d), 0);
	d = new_domain(0);
	self = pl_self_in(d);
	assert_int_equal(any_lock_it(0, self, &elsewhere), 0);
	assert_null(pl_domain_holder(d, &elsewhere)); /* not a checked domain */
	assert_int_equal(any_unlock(0, self, &elsewhere), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

enum { many = PL_HELD + 3 };

static void locks_are_released_in_any_order(void **state)
{
	(void)state;
	enum { five = 5 };
	static const int orders[][five] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}};
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d);
	for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
		any_lock locks[five] = {{.words = {0}}};
		for (int i = 0; i < five; i++)
			assert_int_equal(any_lock_it(0, self, &locks[i]), 0);
		for (int i = 0; i < five; i++) {
			assert_int_equal(any_lock_it(0, self, &locks[orders[o][i]]), -EDEADLK);
			assert_int_equal(any_unlock(0, self, &locks[orders[o][i]]), 0);
			assert_int_equal(any_unlock(0, self, &locks[orders[o][i]]), -EPERM);
			for (int j = i + 1; j < five; j++)
				assert_ptr_equal(pl_domain_holder(d, &locks[orders[o][j]]), self);
		}
		assert_false(pl_held_any(self));
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void more_locks_than_can_be_recorded_are_trusted(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d);
	for (int forwards = 0; forwards < 2; forwards++) {
		any_lock locks[many] = {{.words = {0}}}, never = {.words = {0}};
		for (int i = 0; i < many; i++)
			assert_int_equal(any_lock_it(0, self, &locks[i]), 0);
		assert_int_equal(self->held_unrecorded, many - PL_HELD);
		for (int i = 0; i < PL_HELD; i++) /* these are known */
			assert_int_equal(any_lock_it(0, self, &locks[i]), -EDEADLK);
		for (int i = 0; i < many; i++)
			assert_int_equal(any_unlock(0, self, &locks[forwards ? i : many - 1 - i]), 0);
		assert_false(pl_held_any(self));
		assert_int_equal(any_unlock(0, self, &never), -EPERM); /* and the checks are whole again */
		for (int i = 0; i < PL_HELD_INLINE; i++)
			assert_int_equal(self->held[i], 0);
		assert_int_equal(self->held_table, 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void one_word_with_two_domains_is_refused(void **state)
{
	(void)state;
	pl_domain *a = new_domain(PL_DOMAIN_CHECKS), *b = new_domain(PL_DOMAIN_CHECKS);
	void *pooled;
	assert_int_equal(pl_domain_pool_take(a, &pooled), 0);
	static any_lock elsewhere;
	any_lock *locks[] = {pooled, &elsewhere};
	for (int l = 0; l < 2; l++)
		for (int layout = 0; layout < layouts; layout++) {
			assert_int_equal(any_lock_it(layout, pl_self_in(a), locks[l]), 0);
			assert_int_equal(QUIETLY(any_lock_it(layout, pl_self_in(b), locks[l])), -EXDEV);
			assert_int_equal(QUIETLY(any_lock_wait(layout, pl_self_in(b), locks[l], 0, ms)), -EXDEV);
			assert_int_equal(QUIETLY(any_unlock(layout, pl_self_in(b), locks[l])), -EPERM);
			assert_int_equal(any_unlock(layout, pl_self_in(a), locks[l]), 0);
			assert_int_equal(any_lock_it(layout, pl_self_in(b), locks[l]), 0); /* free: it is b's to have */
			assert_int_equal(any_unlock(layout, pl_self_in(b), locks[l]), 0);
		}
	assert_int_equal(pl_domain_close(a), 0);
	assert_int_equal(pl_domain_close(b), 0);
}

static void domain_without_checks_checks_nothing(void **state)
{
	(void)state;
	pl_domain *checked = new_domain(PL_DOMAIN_CHECKS), *d = new_domain(0);
	pl_thread *self = pl_self_in(d), *other = new_slot(d);
	any_lock lock = {.words = {0}};
	assert_int_equal(any_lock_it(0, self, &lock), 0);
	assert_int_equal(any_lock_wait(0, self, &lock, 0, ms), -ETIMEDOUT);
	assert_false(pl_held_any(self));
	assert_int_equal(any_unlock(0, other, &lock), 0);
	assert_int_equal(pl_domain_close(d), 0);
	assert_int_equal(pl_domain_close(checked), 0);
}

typedef struct {
	pl_domain *domain;
	any_lock locks[3];
	int64_t counters[3];
} checked_hammer;

static void hammer_with_checks(int index, void *shared)
{
	checked_hammer *h = shared;
	pl_thread *self = pl_self_in(h->domain);
	uint32_t random = 5 + (uint32_t)index;
	for (uint64_t i = scaled(3000); i; i--) {
		uint32_t r = random_next(&random);
		int n = (int)(r % 3), layout = n;
		REQUIRE_EQUAL(any_lock_wait(layout, self, &h->locks[n], r & 8 ? PL_WAIT_SPIN : 0, PL_FOREVER), 0);
		h->counters[n]++;
		if (r % 16 == 0) {
			REQUIRE_EQUAL(any_lock_it(layout, self, &h->locks[n]), -EDEADLK);
			REQUIRE(pl_domain_holder(h->domain, &h->locks[n]) == self);
		}
		REQUIRE_EQUAL(any_unlock(layout, self, &h->locks[n]), 0);
	}
	REQUIRE(!pl_held_any(self));
}

static void checks_do_not_accuse_the_innocent(void **state)
{
	(void)state;
	checked_hammer h = {.domain = new_domain(PL_DOMAIN_CHECKS)};
	crew_run(4, hammer_with_checks, &h);
	assert_int_equal(h.counters[0] + h.counters[1] + h.counters[2], 4 * scaled(3000));
	assert_int_equal(pl_domain_close(h.domain), 0);
}

static void notes_for_locks_taken_without_c(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_DOMAIN_CHECKS), *other = new_domain(PL_DOMAIN_CHECKS);
	pl_thread *self = pl_self_in(d);
	any_lock lock = {.words = {PL_Q_LOCKED}};
	assert_int_equal(QUIETLY(pl_note_locking(self, &lock)), 0);
	assert_int_equal(QUIETLY(pl_note_locked(self, &lock)), 0);
	assert_ptr_equal(pl_domain_holder(d, &lock), self);
	assert_int_equal(QUIETLY(pl_note_locking(self, &lock)), -EDEADLK);
	assert_int_equal(QUIETLY(pl_note_locking(pl_self_in(other), &lock)), -EXDEV);
	assert_int_equal(QUIETLY(pl_note_unlocked(pl_self_in(other), &lock)), -EPERM);
	assert_int_equal(QUIETLY(pl_note_unlocked(self, &lock)), 0);
	assert_int_equal(QUIETLY(pl_note_unlocked(self, &lock)), -EPERM);
	assert_null(pl_domain_holder(d, &lock));
	assert_int_equal(pl_domain_close(other), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

/* Whether the default domain of a new process has checks. */
static int child_default_checks(int argc, char **argv)
{
	(void)argc;
	int expected = (int)number_argument(argv, 0), early = (int)number_argument(argv, 1);
	pl_domain_options checks = {.flags = PL_DOMAIN_CHECKS};
	if (early)
		REQUIRE_EQUAL(pl_domain_default_options(&checks), 0);
	REQUIRE_EQUAL((pl_domain_default()->flags & PL_DOMAIN_CHECKS) != 0, expected);
	REQUIRE_EQUAL(pl_domain_default_options(&checks), expected ? 0 : -EBUSY);
	return 0;
}

static void environment_and_call_turn_the_default_domains_checks_on(void **state)
{
	(void)state;
	unsetenv("PANALOCK_CHECKS");
	assert_int_equal(child_wait(CHILD_START("default_checks", 0, 0)), 0);
	assert_int_equal(child_wait(CHILD_START("default_checks", 1, 1)), 0);
	static const char *const values[] = {"1", "yes", "0", ""};
	for (int i = 0; i < 4; i++) {
		setenv("PANALOCK_CHECKS", values[i], 1);
		assert_int_equal(child_wait(CHILD_START("default_checks", i < 2, 0)), 0);
	}
	unsetenv("PANALOCK_CHECKS");
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"default_checks", child_default_checks},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(recursion_is_refused_by_every_call_that_would_wait_for_ever),
		TEST(inline_forms_neither_record_nor_check),
		TEST(record_that_an_inline_unlock_left_behind_is_dropped),
		TEST(foreign_unlock_is_refused_and_releases_nothing),
		TEST(failed_acquisitions_record_nothing),
		TEST(holder_is_named_and_nobody_else),
		TEST(locks_are_released_in_any_order),
		TEST(more_locks_than_can_be_recorded_are_trusted),
		TEST(one_word_with_two_domains_is_refused),
		TEST(domain_without_checks_checks_nothing),
		TEST(checks_do_not_accuse_the_innocent),
		TEST(notes_for_locks_taken_without_c),
		TEST(environment_and_call_turn_the_default_domains_checks_on),
	};
	return cmocka_run_group_tests_name("checks", tests, NULL, NULL);
}
