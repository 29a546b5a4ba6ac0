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

/* Every lowest byte that the precondition allows, under every kind of upper bytes: the flags of one instruction must say
 * what a look at the result says. */
static void decrement_says_what_a_look_at_the_result_would(void **state)
{
	(void)state;
	static const uint32_t uppers[] = {0, 0x100, 0x200, 0x300, 0x400, 0x7ffffc00, 0x7fffff00, 0x55555500, 0x2aaaaa00};
	for (uint32_t bit = 1; bit < 8; bit++)
		for (uint32_t muted = 0; muted < 2; muted++)
			for (uint32_t top = 0; top < 2; top++)
				for (size_t u = 0; u < sizeof uppers / sizeof *uppers; u++) {
					uint32_t mute = 1u << bit, left = top << 31 | uppers[u] | (muted ? mute : 0);
					uint32_t word = left + 1, same = word;
					int expected = top && !(left & mute);
					assert_int_equal(pl_dec_rel(&word, mute), expected);
					assert_int_equal(portable_dec_rel(&same, mute), expected);
					assert_int_equal(word, left);
					assert_int_equal(same, left);
					if (bit == 7)
						continue;
					uint8_t byte_left = (uint8_t)(top << 7 | (left & mute)), bytes[4] = {0x5a, (uint8_t)(byte_left + 1), 0xff, 0};
					assert_int_equal(pl_dec8_rel(&bytes[1], (uint8_t)mute), expected);
					assert_int_equal(bytes[1], byte_left);
					bytes[1]++;
					assert_int_equal(portable_dec8_rel(&bytes[1], (uint8_t)mute), expected);
					assert_memory_equal(bytes, ((uint8_t[]){0x5a, byte_left, 0xff, 0}), 4);
				}
	uint32_t word = 0, same = 0;
	assert_int_equal(pl_dec_rel(&word, 4), -1);
	assert_int_equal(portable_dec_rel(&same, 4), -1);
	assert_int_equal(word, UINT32_MAX);
	assert_int_equal(same, UINT32_MAX);
	uint8_t byte = 0, twin = 0;
	assert_int_equal(pl_dec8_rel(&byte, 4), -1);
	assert_int_equal(portable_dec8_rel(&twin, 4), -1);
	assert_int_equal(byte, UINT8_MAX);
	assert_int_equal(twin, UINT8_MAX);
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
		TEST(decrement_says_what_a_look_at_the_result_would),
		TEST(read_modify_writes_of_four_threads_lose_nothing),
	};
	return cmocka_run_group_tests_name("atomic", tests, NULL, NULL);
}
