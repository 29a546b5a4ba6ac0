/* SPDX-License-Identifier: Apache-2.0 */
/* What other language run-times use: release without waking, doorbell, keys. */
#define PL_NO_INLINE
#include "domain.h"
#include "support.h"

#include <panalock/bridge.h>
#include <string.h>
#include <unistd.h>

static pl_domain *domain;

static int make_domain(void **state)
{
	(void)state;
	return pl_domain_create(NULL, &domain);
}

static int close_domain(void **state)
{
	(void)state;
	return pl_domain_close(domain);
}

static int any_release(int layout, any_lock *lock)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_release(WORD(lock));
	case PL_LAYOUT_BYTE: return pl_qspin_byte_release(BYTE(lock));
	default: return pl_qspin_wide_release(WIDE(lock));
	}
}

static uint32_t *queue_word(int layout, any_lock *lock) { return &lock->words[layout == PL_LAYOUT_WIDE]; }

static void release_says_whether_a_kick_is_due(void **state)
{
	(void)state;
	/* Every state that a held lock can be in, poisoned ones too: their waiters must still be woken. */
	static const uint32_t tails[] = {0, 1, 4, 5, 0x7fff, 0x8000, PL_MAX_SLOTS * PL_NESTING - 1};
	enum { parked = 1, standby = 2, pending = 4, poison = 8, combinations = 16 };
	for (int layout = 0; layout < layouts; layout++)
		for (int set = 0; set < combinations; set++)
			for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
				any_lock lock = {.words = {PL_Q_LOCKED, 0}};
				uint32_t left = (set & parked ? parked_bit(layout) : 0) | (set & standby ? PL_Q_STANDBY : 0) |
						(set & pending ? PL_Q_PENDING : 0) | (set & poison ? PL_Q_POISON : 0) |
						tails[t] << (layout == PL_LAYOUT_BYTE ? PL_Q_BYTE_TAIL_SHIFT : PL_Q_TAIL_SHIFT);
				*queue_word(layout, &lock) |= left;
				any_lock inlined = lock;
				assert_int_equal(any_tail(layout, &lock), tails[t]);
				int expected = (set & (parked | standby)) == parked;
				assert_int_equal(QUIETLY(any_release(layout, &lock)), expected);
				assert_int_equal(any_release_inline(layout, &inlined), expected);
				assert_int_equal(any_bits(layout, &lock), left);
				assert_int_equal(any_bits(layout, &inlined), left);
			}
	for (int layout = 0; layout < layouts; layout++) {
		char bytes[16] = {0};
		assert_int_equal(QUIETLY(any_release(layout, NULL)), -EINVAL);
		assert_int_equal(QUIETLY(any_release(layout, (any_lock *)(void *)&bytes[layout == PL_LAYOUT_WIDE ? 4 : 2])), -EINVAL);
	}
}

typedef struct {
	int layout;
	any_lock lock;
	pl_thread *slot;
} waiter;

static void wait_for_it(int index, void *shared)
{
	(void)index;
	waiter *w = shared;
	__atomic_store_n(&w->slot, pl_self_in(domain), __ATOMIC_RELEASE);
	REQUIRE_EQUAL(any_lock_wait(w->layout, w->slot, &w->lock, 0, PL_FOREVER), 0);
	REQUIRE_EQUAL(any_unlock(w->layout, w->slot, &w->lock), 0);
}

static void release_and_kick_are_together_an_unlock(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (int round = 0; round < 20; round++) {
			waiter w = {.layout = layout};
			assert_int_equal(any_lock_it(layout, self, &w.lock), 0);
			crew *c = crew_start(1, wait_for_it, &w);
			AWAIT(__atomic_load_n(&w.slot, __ATOMIC_ACQUIRE) && is_asleep_at(layout, &w.lock, w.slot));
			assert_int_equal(any_release(layout, &w.lock), 1);
			assert_int_equal(QUIETLY(pl_qspin_kick(self, &w.lock, (uint32_t)layout, round % 2)), 0);
			crew_join(c);
			assert_int_equal(any_bits(layout, &w.lock), 0);
		}
}

/*
 * A waiter that sleeps in its run-time: we let one sleep natively and then say that it is parked, so that the waker does
 * not touch its futex; "unparking" it is then the test's own affair.
 */
static void parked_waiter_is_named_or_its_doorbell_rung(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	uint32_t *bell = QUIETLY(pl_domain_doorbell(domain));
	assert_non_null(bell);
	for (int layout = 0; layout < layouts; layout++)
		for (int way = 0; way < 3; way++) {
			waiter w = {.layout = layout};
			assert_int_equal(any_lock_it(layout, self, &w.lock), 0);
			crew *c = crew_start(1, wait_for_it, &w);
			AWAIT(__atomic_load_n(&w.slot, __ATOMIC_ACQUIRE) && is_asleep_at(layout, &w.lock, w.slot));
			uint32_t *node_state = &w.slot->nodes[0].state;
			bool parked = false;
			while (!parked) /* it may just look around */
				parked = pl_cas_ar(node_state, PL_NODE_SLEEPING, PL_NODE_PARKED);
			uint32_t rung = pl_load_acq(bell);
			int number = 0;
			if (way == 0) {
				assert_int_equal(any_unlock(layout, self, &w.lock), 0);
			} else {
				assert_int_equal(any_release(layout, &w.lock), 1);
				number = pl_qspin_kick(self, &w.lock, (uint32_t)layout, way == 1);
			}
			/* Its watch timer may have woken it in between, natively; then it is no parked waiter any more. */
			if (pl_load_acq(bell) == rung && number == 0)
				print_message("             it looked around\n");
			else if (way == 2)
				assert_int_equal(number, pl_node_number(w.slot, 0));
			else
				assert_int_equal(pl_load_acq(bell), rung + 1);
			pl_futex_wake(node_state, 1, 0);
			crew_join(c);
		}
}

static void listen_to_the_bell(int index, void *shared)
{
	(void)index;
	uint32_t *bell = pl_domain_doorbell(domain), *heard = shared, seen = pl_load_acq(bell);
	pl_store_rel(heard, 1);
	while (pl_load_acq(bell) == seen)
		pl_futex_wait(bell, seen, PL_FOREVER, 0);
	pl_store_rel(heard, 2);
}

static void doorbell_wakes_its_listener(void **state)
{
	(void)state;
	uint32_t heard = 0;
	crew *c = crew_start(1, listen_to_the_bell, &heard);
	AWAIT(pl_load_acq(&heard) == 1);
	sleep_us(500);
	pl_thread *slot;
	assert_int_equal(pl_thread_register(domain, 0, &slot), 0);
	slot->nodes[0].state = PL_NODE_PARKED; /* as if a waiter slept in its run-time */
	assert_int_equal(pl_thread_interrupt(slot), 0);
	assert_int_equal(slot->nodes[0].state, PL_NODE_INTERRUPTED);
	crew_join(c);
	assert_int_equal(heard, 2);
	slot->nodes[0].state = PL_NODE_IDLE;
	assert_int_equal(pl_thread_release(slot), 0);
	static uint64_t no_domain[64];
	assert_null(QUIETLY(pl_domain_doorbell(NULL)));
	assert_null(QUIETLY(pl_domain_doorbell((pl_domain *)(void *)no_domain)));
}

static void keys_are_the_ones_that_the_core_uses(void **state)
{
	(void)state;
	static uint32_t word;
	void *pooled;
	assert_int_equal(pl_domain_pool_take(domain, &pooled), 0);
	assert_int_equal(QUIETLY(pl_lock_key(domain, pooled)), pl_key(domain, pooled));
	assert_int_equal(QUIETLY(pl_lock_key(domain, &word)), pl_key(domain, &word));
	assert_int_equal(QUIETLY(pl_lock_key(domain, NULL)), 0);
	assert_int_equal(QUIETLY(pl_lock_key(NULL, &word)), 0);
	assert_int_equal(pl_domain_pool_give(domain, pooled), 0);
}

static int64_t sum;
static int add_up(int64_t a, int64_t b, int64_t c, int64_t d)
{
	sum = a + 10 * b + 100 * c + 1000 * d;
	return 42;
}

static void call_with_passes_everything_on(void **state)
{
	(void)state;
	assert_int_equal(pl_call_with(&sum, add_up, 1, 2, 3, 4), 42);
	assert_int_equal(sum, 4321);
	QUIETLY((pl_heavy_fence(0), 0));
	QUIETLY((pl_heavy_fence(1), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(release_says_whether_a_kick_is_due),
		TEST(release_and_kick_are_together_an_unlock),
		TEST(parked_waiter_is_named_or_its_doorbell_rung),
		TEST(doorbell_wakes_its_listener),
		TEST(keys_are_the_ones_that_the_core_uses),
		TEST(call_with_passes_everything_on),
	};
	return cmocka_run_group_tests_name("bridge", tests, make_domain, close_domain);
}
