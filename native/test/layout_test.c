/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a domain: a change here is a change of PL_LAYOUT_VERSION, and other languages rely on it. */
#include "domain.h"
#include "park.h"
#include "support.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define OFFSET(type, field, bytes) assert_int_equal(offsetof(type, field), bytes)

static void lock_words_have_their_documented_sizes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(pl_qspinlock), 4);
	assert_int_equal(sizeof(pl_qspinlock_byte), 4);
	assert_int_equal(sizeof(pl_qspinlock_wide), 8);
	assert_int_equal(_Alignof(pl_qspinlock_wide), 8);
	OFFSET(pl_qspinlock_wide, owner, 0);
	OFFSET(pl_qspinlock_wide, queue, 4);
	assert_int_equal(sizeof(pl_waitq), 16);
}

static void structures_have_their_documented_offsets(void **state)
{
	(void)state;
	assert_int_equal(PL_LAYOUT_VERSION, 2);
	OFFSET(pl_domain, magic_lo, 0);
	OFFSET(pl_domain, layout_version, 8);
	OFFSET(pl_domain, flags, 12);
	OFFSET(pl_domain, size, 16);
	OFFSET(pl_domain, slots, 24);
	OFFSET(pl_domain, slot_size, 28);
	OFFSET(pl_domain, slots_offset, 32);
	OFFSET(pl_domain, buckets_offset, 40);
	OFFSET(pl_domain, bitmap_offset, 48);
	OFFSET(pl_domain, pool_offset, 56);
	OFFSET(pl_domain, pool_locks, 64);
	OFFSET(pl_domain, closed, 68);
	OFFSET(pl_domain, tables_offset, 80);
	OFFSET(pl_domain, tables, 88);
	OFFSET(pl_domain, slots_used, 92);
	OFFSET(pl_domain, processes, 128);
	assert_int_equal(sizeof(pl_process), 16);
	OFFSET(pl_process, doorbell, 4);
	OFFSET(pl_process, incarnation, 8);

	assert_int_equal(sizeof(pl_node), 40);
	OFFSET(pl_node, prev, 4);
	OFFSET(pl_node, state, 8);
	OFFSET(pl_node, locked, 12);
	OFFSET(pl_node, kind, 16);
	OFFSET(pl_node, wait, 20);
	OFFSET(pl_node, key, 24);
	OFFSET(pl_node, arrival, 32);

	assert_int_equal(sizeof(pl_thread), 384);
	OFFSET(pl_thread, index, 4);
	OFFSET(pl_thread, offset, 8);
	OFFSET(pl_thread, process, 16);
	OFFSET(pl_thread, tid, 20);
	OFFSET(pl_thread, incarnation, 24);
	OFFSET(pl_thread, depth, 32);
	OFFSET(pl_thread, held_top, 36);
	OFFSET(pl_thread, interrupted, 40);
	OFFSET(pl_thread, hazard, 56);
	OFFSET(pl_thread, held, 64);
	OFFSET(pl_thread, nodes, 128);
	OFFSET(pl_thread, name, 288);
	OFFSET(pl_thread, held_table, 320);
	assert_int_equal(sizeof(pl_overflow), 192);
	OFFSET(pl_overflow, held, 8);
	assert_int_equal(PL_HELD, PL_HELD_INLINE + PL_HELD_MORE);
}

static void domain_of_1024_slots_fits_into_512_kib(void **state)
{
	(void)state;
	assert_in_range(pl_domain_size(NULL), 1, 512 * 1024);
	pl_domain_options o = {.slots = 1024, .pool_locks = 1024};
	assert_int_equal(pl_domain_size(&o), pl_domain_size(NULL));
}

static void bits_of_the_word_do_not_overlap(void **state)
{
	(void)state;
	const uint32_t bits[] = {PL_Q_LOCKED, PL_Q_BYTE_PARKED, PL_Q_STANDBY, PL_Q_POISON, PL_Q_PENDING, PL_Q_TAIL_MASK, PL_Q_PARKED};
	uint32_t all = 0;
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
		assert_int_equal(all & bits[i], 0);
		all |= bits[i];
	}
	assert_int_equal(PL_Q_BYTE_TAIL_MASK & (PL_Q_LOCKED | PL_Q_BYTE_PARKED | PL_Q_STANDBY | PL_Q_POISON | PL_Q_PENDING), 0);
	/* What pl_dec_rel() and pl_dec8_rel() tell from the flags: a sign bit each, and STANDBY alone in the byte whose parity counts. */
	assert_int_equal(PL_Q_PARKED, 1u << 31);
	assert_int_equal(PL_Q_BYTE_PARKED, 1u << 7);
	assert_int_equal(all & 0xff, PL_Q_LOCKED | PL_Q_STANDBY | PL_Q_BYTE_PARKED);
	assert_int_equal(PL_Q_LOCKED, 1);
	assert_int_equal(PL_Q_BROKEN, 2); /* what a subtraction from a free lock borrows in any case */
	assert_int_equal(PL_Q_DEAD, PL_Q_POISON | PL_Q_BROKEN);
	uint32_t highest_node = PL_MAX_SLOTS * PL_NESTING - 1;
	assert_int_equal((highest_node << PL_Q_TAIL_SHIFT & PL_Q_TAIL_MASK) >> PL_Q_TAIL_SHIFT, highest_node);
	assert_int_equal((highest_node << PL_Q_BYTE_TAIL_SHIFT & PL_Q_BYTE_TAIL_MASK) >> PL_Q_BYTE_TAIL_SHIFT, highest_node);
}

static void parts_of_a_domain_follow_each_other(void **state)
{
	(void)state;
	const uint32_t sizes[] = {PL_MIN_SLOTS, 3, 1024, PL_MAX_SLOTS};
	const uint32_t pools[] = {1, 31, 32, 33, 1024};
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 5; j++) {
			pl_domain_options o = {.slots = sizes[i], .pool_locks = pools[j]};
			pl_domain *d;
			assert_int_equal(pl_domain_create(&o, &d), 0);
			assert_int_equal(d->size, pl_domain_size(&o));
			assert_int_equal(d->slots_offset, sizeof(pl_domain));
			assert_true(d->buckets_offset >= d->slots_offset + (uint64_t)d->slots * d->slot_size);
			assert_true(d->tables_offset >= d->buckets_offset + PL_BUCKETS * sizeof(pl_bucket));
			assert_true(d->bitmap_offset >= d->tables_offset + d->tables * sizeof(pl_overflow));
			assert_true(d->tables >= 1);
			assert_true(d->pool_offset >= d->bitmap_offset + (d->pool_locks + 7) / 8);
			assert_true(d->size >= d->pool_offset + (uint64_t)d->pool_locks * PL_CACHE_LINE);
			assert_int_equal(d->slots_offset % PL_CACHE_LINE, 0);
			assert_int_equal(d->buckets_offset % PL_CACHE_LINE, 0);
			assert_int_equal(d->tables_offset % PL_CACHE_LINE, 0);
			assert_int_equal(d->pool_offset % PL_CACHE_LINE, 0);
			for (uint32_t s = 0; s < d->slots; s++) {
				assert_int_equal(pl_slot(d, s)->index, s);
				assert_ptr_equal(pl_thread_domain(pl_slot(d, s)), d);
			}
			assert_int_equal(pl_domain_close(d), 0);
		}
}

static void node_numbers_and_nodes_map_to_each_other(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 7};
	pl_domain *d;
	assert_int_equal(pl_domain_create(&o, &d), 0);
	for (uint32_t s = 1; s < 7; s++)
		for (uint32_t level = 0; level < PL_NESTING; level++) {
			uint32_t number = pl_node_number(pl_slot(d, s), level);
			assert_int_equal(number, s << 2 | level);
			assert_ptr_equal(pl_node_at(d, number), &pl_slot(d, s)->nodes[level]);
			assert_ptr_equal(pl_node_slot(d, number), pl_slot(d, s));
		}
	assert_null(pl_node_at(d, 0));
	assert_null(pl_node_at(d, PL_NESTING - 1));
	assert_null(pl_node_at(d, 7 * PL_NESTING));
	assert_null(pl_node_at(d, UINT32_MAX));
	assert_int_equal(pl_domain_close(d), 0);
}

static void keys_name_a_word_by_where_it_lies(void **state)
{
	(void)state;
	enum { bytes = 8192 };
	pl_domain *d, *shared;
	void *word;
	static uint32_t elsewhere;
	assert_int_equal(pl_domain_create(NULL, &d), 0);
	assert_int_equal(pl_domain_pool_take(d, &word), 0);
	assert_int_equal(pl_key(d, word), (char *)word - (char *)d);
	assert_int_equal(pl_key(d, &elsewhere), PL_KEY_LOCAL | (uintptr_t)&elsewhere);

	int fd = shared_file(bytes), domain_fd = shared_file(0);
	char *first = map_file(fd, bytes), *second = map_file(fd, bytes);
	assert_int_equal(pl_domain_create_fd(domain_fd, NULL, &shared), 0);
	uint64_t local = pl_key(shared, first);
	assert_true(local & PL_KEY_LOCAL);
	assert_true(local != pl_key(shared, second));
	assert_int_equal(pl_domain_attach(shared, first, bytes, 7), 0);
	assert_int_equal(pl_key(shared, first + 8), 7ull << PL_KEY_REGION_SHIFT | 8);
	assert_int_equal(pl_key(shared, first + bytes - 4), 7ull << PL_KEY_REGION_SHIFT | (bytes - 4));
	assert_int_equal(pl_domain_detach(shared, first), 0);
	assert_int_equal(pl_domain_attach(shared, second, bytes, 7), 0);
	assert_int_equal(pl_key(shared, second + 8), 7ull << PL_KEY_REGION_SHIFT | 8);
	assert_int_equal(pl_key(shared, first), local);

	assert_int_equal(pl_domain_close(shared), 0);
	assert_int_equal(pl_domain_close(d), 0);
	munmap(first, bytes);
	munmap(second, bytes);
	close(fd);
	close(domain_fd);
}

static void keys_spread_over_the_buckets(void **state)
{
	(void)state;
	uint32_t used[PL_BUCKETS] = {0};
	for (uint64_t i = 0; i < 4 * PL_BUCKETS; i++)
		used[pl_bucket_of(PL_KEY_LOCAL | (0x7f0000000000 + i * PL_CACHE_LINE))]++;
	uint32_t most = 0, empty = 0;
	for (int i = 0; i < PL_BUCKETS; i++) {
		most = used[i] > most ? used[i] : most;
		empty += !used[i];
	}
	assert_in_range(most, 4, 16);
	assert_in_range(empty, 0, PL_BUCKETS / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lock_words_have_their_documented_sizes),
		TEST(structures_have_their_documented_offsets),
		TEST(domain_of_1024_slots_fits_into_512_kib),
		TEST(bits_of_the_word_do_not_overlap),
		TEST(parts_of_a_domain_follow_each_other),
		TEST(node_numbers_and_nodes_map_to_each_other),
		TEST(keys_name_a_word_by_where_it_lies),
		TEST(keys_spread_over_the_buckets),
	};
	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
