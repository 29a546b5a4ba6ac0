/* SPDX-License-Identifier: Apache-2.0 */
/* The table of locks that a thread holds: against a list, in any order of release, to its limits. */
#include "domain.h"
#include "held.h"
#include "support.h"

#include <pthread.h>
#include <signal.h>

static pl_domain *new_domain(uint32_t slots)
{
	pl_domain_options o = {.slots = slots, .pool_locks = 1};
	pl_domain *d;
	REQUIRE_EQUAL(pl_domain_create(&o, &d), 0);
	return d;
}

static pl_thread *new_slot(pl_domain *d)
{
	pl_thread *slot;
	REQUIRE_EQUAL(pl_thread_register(d, 0, &slot), 0);
	return slot;
}

static bool recorded(pl_domain *d, const pl_thread *slot, uint64_t key)
{
	uint64_t entries[PL_HELD];
	for (uint32_t n = pl_held_read(d, slot, entries); n;)
		if (pl_held_key(entries[--n]) == key)
			return true;
	return false;
}

/* The last entry goes first; the list says what must be there. */
static void entries_are_popped_in_any_order(void **state)
{
	(void)state;
	pl_domain *d = new_domain(16);
	pl_thread *self = new_slot(d);
	enum { most = PL_HELD + 4 };
	uint64_t held[most];
	uint32_t count = 0, random = 77;
	for (uint64_t step = scaled(20000); step; step--) {
		uint32_t r = random_next(&random);
		if (count < most && r % 2) {
			held[count] = 8 + 4 * (uint64_t)step;
			pl_held_push(self, held[count++]);
		} else if (count) {
			uint32_t i = r / 2 % count;
			int found = pl_held_find(self, held[i]);
			REQUIRE(found != PL_HELD_NONE);
			pl_held_pop(self, found);
			held[i] = held[--count];
		}
		REQUIRE(pl_held_any(self) == (count != 0));
		if (self->held_unrecorded)
			continue;
		uint64_t entries[PL_HELD];
		REQUIRE_EQUAL(pl_held_read(d, self, entries), count);
		for (uint32_t i = 0; i < count; i++)
			REQUIRE(recorded(d, self, held[i]));
	}
	while (count)
		pl_held_pop(self, pl_held_find(self, held[--count]));
	assert_false(pl_held_any(self));
	assert_int_equal(pl_held_find(self, 4), PL_HELD_NONE);
	assert_int_equal(self->held_table, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void lock_coupling_needs_two_entries(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2);
	pl_thread *self = new_slot(d);
	pl_held_push(self, 4);
	for (uint64_t key = 8; key < 4000; key += 4) {
		pl_held_push(self, key);
		pl_held_pop(self, pl_held_find(self, key - 4));
		assert_in_range(self->held_top, 0, 2);
		assert_true(recorded(d, self, key));
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void tables_are_lent_and_come_back(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8); /* one table */
	pl_thread *first = new_slot(d), *second = new_slot(d);
	assert_int_equal(d->tables, 1);
	for (uint64_t key = 4; key <= 4 * PL_HELD; key += 4) {
		pl_held_push(first, key);
		pl_held_push(second, key);
	}
	assert_int_equal(first->held_unrecorded, 0);
	assert_int_equal(second->held_unrecorded, PL_HELD_MORE); /* no table was left */
	assert_true(recorded(d, first, 4 * PL_HELD));
	assert_false(recorded(d, second, 4 * PL_HELD));
	for (uint64_t key = 4; key <= 4 * PL_HELD_MORE; key += 4)
		pl_held_pop(first, pl_held_find(first, key));
	assert_int_equal(first->held_table, 0);
	pl_held_push(second, 4000); /* a table again; what was missed stays missed */
	assert_true(recorded(d, second, 4000));
	pl_held_reset(second);
	assert_false(pl_held_any(second));
	for (uint64_t key = 4; key <= 4 * PL_HELD; key += 4)
		pl_held_push(first, 4000 + key);
	assert_int_equal(first->held_unrecorded, PL_HELD_INLINE); /* 8 were held still */
	assert_int_equal(pl_domain_close(d), 0);
}

static void slot_of_a_dead_thread_gives_its_table_back(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2);
	pl_thread *dead;
	assert_int_equal(pl_thread_register(d, INT32_MAX, &dead), 0);
	for (uint64_t key = 4; key <= 4 * PL_HELD; key += 4)
		pl_held_push(dead, key);
	assert_int_equal(pl_thread_release(dead), -EBUSY);
	pl_thread *self = new_slot(d);
	assert_ptr_equal(self, dead);
	assert_false(pl_held_any(self));
	for (uint64_t key = 4; key <= 4 * PL_HELD; key += 4)
		pl_held_push(self, key);
	assert_int_equal(self->held_unrecorded, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void entries_know_their_nesting_level(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2);
	pl_thread *self = new_slot(d);
	uint64_t entries[PL_HELD];
	for (uint32_t level = 0; level < PL_NESTING; level++) {
		self->depth = level;
		pl_held_push(self, 4 + 4 * level);
	}
	self->depth = PL_NESTING;
	pl_held_push(self, 400); /* above every level: held, not recorded */
	assert_int_equal(self->held_unrecorded, 1);
	assert_int_equal(pl_held_read(d, self, entries), PL_NESTING);
	for (uint32_t level = 0; level < PL_NESTING; level++)
		assert_int_equal(pl_held_level(entries[level]), level);
	self->depth = 0;
	assert_int_equal(pl_domain_close(d), 0);
}

/* A handler that comes at any moment pushes and pops; what it interrupts must not notice. */
static pl_thread *handled;
static volatile sig_atomic_t handled_times;

static void handler(int signal)
{
	(void)signal;
	pl_held_push(handled, 6000);
	pl_held_push(handled, 4000);
	pl_held_pop(handled, pl_held_find(handled, 6000));
	pl_held_pop(handled, pl_held_find(handled, 4000));
	handled_times++;
}

static uint32_t storm_over;

static void *blow(void *thread)
{
	while (!pl_load_acq(&storm_over)) {
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		sleep_us(20);
	}
	return NULL;
}

static void handlers_leave_the_table_as_they_found_it(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	handled = new_slot(d);
	struct sigaction action = {.sa_handler = handler};
	REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
	pthread_t self = pthread_self(), blower;
	REQUIRE_EQUAL(pthread_create(&blower, NULL, blow, &self), 0);
	sig_atomic_t enough = (sig_atomic_t)scaled(3000);
	for (uint64_t n = 0; handled_times < enough; n++) {
		uint64_t locks = n % 12, entries[PL_HELD];
		for (uint64_t i = 0; i < locks; i++)
			pl_held_push(handled, 4 + 4 * i); 
		REQUIRE_EQUAL(pl_held_read(d, handled, entries), locks);
		for (uint64_t i = 0; i < locks; i++) {
			REQUIRE(recorded(d, handled, 4 + 4 * i));
			pl_held_pop(handled, pl_held_find(handled, 4 + 4 * (n & 1 ? i : locks - 1 - i)));
			if (!(n & 1))
				i = locks; /* from the top: one is enough, the rest goes below */
		}
		while (pl_held_any(handled))
			pl_held_pop(handled, pl_held_find(handled, pl_held_key(handled->held[0])));
	}
	pl_store_rel(&storm_over, 1);
	REQUIRE_EQUAL(pthread_join(blower, NULL), 0);
	assert_int_equal(handled->held_top, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entries_are_popped_in_any_order),
		TEST(lock_coupling_needs_two_entries),
		TEST(tables_are_lent_and_come_back),
		TEST(slot_of_a_dead_thread_gives_its_table_back),
		TEST(entries_know_their_nesting_level),
		TEST(handlers_leave_the_table_as_they_found_it),
	};
	return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
