/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "support.h"

#include <panalock/locktable.h>
#include <stdlib.h>
#include <string.h>

static pl_lock_table *new_table(uint32_t cpus)
{
	uint64_t bytes = pl_table_size(cpus);
	void *memory = aligned_alloc(PL_CACHE_LINE, bytes);
	memset(memory, 0xff, bytes);
	pl_lock_table *table = NULL;
	REQUIRE_EQUAL(QUIETLY(pl_table_init(memory, bytes, cpus, &table)), 0);
	return table;
}

static void there_are_two_stripes_or_the_next_power_of_two(void **state)
{
	(void)state;
	static const uint32_t expected[][2] = {{1, 2}, {2, 2}, {3, 4}, {56, 64}, {96, 128}, {224, 256}, {65536, 65536},
					       {65537, 65536}, {UINT32_MAX, 65536}};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		assert_int_equal(QUIETLY(pl_table_stripes(expected[i][0])), expected[i][1]);
	assert_true(pl_table_stripes(0) >= 2);
	assert_int_equal(pl_table_size(3), 64 + 4 * 64);
}

/* A table for one CPU: with one stripe the hash would have no bits, and shift by 64. */
static void every_key_has_a_stripe_of_its_own_line(void **state)
{
	(void)state;
	for (uint32_t cpus = 1; cpus <= 256; cpus *= 4) {
		pl_lock_table *t = new_table(cpus);
		uint32_t stripes = pl_table_stripes(cpus), *hits = calloc(stripes, sizeof *hits);
		uint64_t keys = 1024ull * stripes;
		for (uint64_t key = 0; key < keys; key++) {
			uint32_t index = pl_table_index(t, key * 64); /* addresses of cache lines */
			assert_true(index < stripes);
			assert_int_equal((uintptr_t)pl_table_of(t, key * 64) % PL_CACHE_LINE, 0);
			assert_ptr_equal(pl_table_of(t, key * 64), (char *)(t + 1) + index * 64);
			hits[index]++;
		}
		for (uint32_t i = 0; i < stripes; i++)
			assert_in_range(hits[i], 512, 2048); /* all are used, about equally */
		assert_true(pl_table_index(t, 0) < stripes && pl_table_index(t, UINT64_MAX) < stripes);
		free(hits);
		free(t);
	}
}

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	_Alignas(PL_CACHE_LINE) char memory[512] = {0};
	pl_lock_table *t;
	assert_int_equal(QUIETLY(pl_table_wide_lock(pl_self(), NULL, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_wide_unlock(pl_self(), NULL, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_wide_lock2(pl_self(), NULL, 1, 2)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_wide_unlock2(pl_self(), NULL, 1, 2)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_init(NULL, 512, 2, &t)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_init(memory + 8, 504, 2, &t)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_init(memory, 191, 2, &t)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_init(memory, 512, 2, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_table_at(memory, 512, &t)), -EBADMSG);
	assert_int_equal(QUIETLY(pl_table_init(memory, 192, 1, &t)), 0);
	assert_int_equal(QUIETLY(pl_table_at(memory, 192, &t)), 0);
	assert_int_equal(QUIETLY(pl_table_at(memory, 191, &t)), -EBADMSG);
	assert_int_equal(QUIETLY(pl_table_at(NULL, 191, &t)), -EINVAL);
	t->log = 0;
	assert_int_equal(QUIETLY(pl_table_at(memory, 512, &t)), -EBADMSG);
	t = (pl_lock_table *)(void *)memory;
	t->log = 40;
	assert_int_equal(QUIETLY(pl_table_at(memory, 512, &t)), -EBADMSG);
}

enum { accounts = 64, crew_size = 6, start = 1000 };

typedef struct {
	pl_lock_table *table;
	int kind;
	int64_t balance[accounts];
	uint64_t transfers;
} bank;

#define BOTH(what)                                                                                                        \
	(b->kind == 0	? pl_table_word_##what(self, b->table, from, to)                                                  \
	 : b->kind == 1 ? pl_table_byte_##what(self, b->table, from, to)                                                  \
	 : b->kind == 2 ? pl_table_wide_##what(self, b->table, from, to)                                                  \
			: pl_table_mutex_##what(self, b->table, from, to))

static void transfer(int index, void *shared)
{
	bank *b = shared;
	pl_thread *self = pl_self();
	uint32_t random = (uint32_t)index + 1;
	for (uint64_t i = 0; i < b->transfers; i++) {
		uint64_t from = random_next(&random) % accounts, to = random_next(&random) % accounts; /* may be the same */
		REQUIRE_EQUAL(BOTH(lock2), 0);
		b->balance[from]--;
		b->balance[to]++;
		REQUIRE_EQUAL(BOTH(unlock2), 0);
	}
}

static void two_keys_are_locked_in_order_and_never_deadlock(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++)
		for (uint32_t cpus = 1; cpus <= 16; cpus *= 16) {
			bank b = {.table = new_table(cpus), .kind = kind, .transfers = scaled(5000)};
			for (int i = 0; i < accounts; i++)
				b.balance[i] = start;
			crew_run(crew_size, transfer, &b);
			int64_t sum = 0;
			for (int i = 0; i < accounts; i++)
				sum += b.balance[i];
			assert_int_equal(sum, accounts * start);
			free(b.table);
		}
}

static void one_key_excludes_those_of_its_stripe_only(void **state)
{
	(void)state;
	pl_lock_table *t = new_table(4);
	pl_thread *self = pl_self();
	assert_int_equal(pl_table_wide_lock(self, t, 1), 0);
	for (uint64_t key = 0; key < 100; key++) {
		bool same = pl_table_index(t, key) == pl_table_index(t, 1);
		assert_int_equal(pl_qspin_wide_is_locked(pl_table_of(t, key)), same);
	}
	assert_int_equal(pl_table_wide_unlock(self, t, 1), 0);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(there_are_two_stripes_or_the_next_power_of_two),
		TEST(every_key_has_a_stripe_of_its_own_line),
		TEST(bad_arguments_are_refused),
		TEST(two_keys_are_locked_in_order_and_never_deadlock),
		TEST(one_key_excludes_those_of_its_stripe_only),
	};
	return cmocka_run_group_tests_name("lock table", tests, NULL, NULL);
}
