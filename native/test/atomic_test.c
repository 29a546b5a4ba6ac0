/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static void each_operation_returns_and_leaves_what_its_name_says(void **state)
{
	(void)state;
	uint32_t w = 5;
	assert_int_equal(pl_load_rlx(&w), 5);
	assert_int_equal(pl_load_acq(&w), 5);
	pl_store_rlx(&w, 6);
	assert_int_equal(w, 6);
	pl_store_rel(&w, 7);
	assert_int_equal(w, 7);

	assert_false(pl_cas_acq(&w, 1, 2));
	assert_false(pl_cas_rlx(&w, 1, 2));
	assert_false(pl_cas_ar(&w, 1, 2));
	assert_int_equal(w, 7);
	assert_true(pl_cas_acq(&w, 7, 8));
	assert_true(pl_cas_rlx(&w, 8, 9));
	assert_true(pl_cas_ar(&w, 9, 0xf0));

	assert_int_equal(pl_swap_ar(&w, 0x0c), 0xf0);
	assert_int_equal(pl_or_ar(&w, 0x03), 0x0c);
	assert_int_equal(pl_and_ar(&w, 0x0e), 0x0f);
	assert_int_equal(pl_add_ar(&w, 2), 0x0e);
	assert_int_equal(pl_sub_rel(&w, 0x11), 0x10);
	assert_int_equal(w, UINT32_MAX);
	pl_fence();
	pl_compiler_fence();
}

typedef struct {
	uint32_t added, bits, swapped;
} counters;

enum { crew_size = 4, rounds = 20000 };

static void count(int index, void *shared)
{
	counters *c = shared;
	for (uint32_t i = 0; i < rounds; i++) {
		pl_add_ar(&c->added, 3);
		pl_sub_rel(&c->added, 1);
		pl_or_ar(&c->bits, 1u << index);
		pl_and_ar(&c->bits, ~(1u << index));
		for (uint32_t seen = pl_load_rlx(&c->swapped); !pl_cas_ar(&c->swapped, seen, seen + 1);)
			seen = pl_load_rlx(&c->swapped);
	}
}

static void read_modify_writes_of_four_threads_lose_nothing(void **state)
{
	(void)state;
	counters c = {0};
	crew_run(crew_size, count, &c);
	assert_int_equal(c.added, 2 * crew_size * rounds);
	assert_int_equal(c.bits, 0);
	assert_int_equal(c.swapped, crew_size * rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_operation_returns_and_leaves_what_its_name_says),
		TEST(read_modify_writes_of_four_threads_lose_nothing),
	};
	return cmocka_run_group_tests_name("atomic", tests, NULL, NULL);
}
