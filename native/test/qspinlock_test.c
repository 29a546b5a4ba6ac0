/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "domain.h"
#include "park.h"
#include "support.h"

#include <string.h>

static pl_domain *domain;

static int make_domain(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 200};
	return pl_domain_create(&o, &domain);
}

static int close_domain(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < domain->slots; i++) { /* nobody waits any more, anywhere */
		REQUIRE_EQUAL(pl_slot(domain, i)->depth, 0);
		for (int level = 0; level < PL_NESTING; level++)
			REQUIRE_EQUAL(pl_slot(domain, i)->nodes[level].state, PL_NODE_IDLE);
	}
	return pl_domain_close(domain);
}

static pl_thread *new_slot(void)
{
	pl_thread *slot;
	REQUIRE_EQUAL(pl_thread_register(domain, 0, &slot), 0);
	return slot;
}

/* ---- one thread ---- */

static void lock_is_free_after_init_and_after_zeroing(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock;
		memset(&lock, 0xff, sizeof lock);
		assert_int_equal(QUIETLY(any_init(layout, &lock)), 0);
		assert_int_equal(any_bits(layout, &lock), 0);
		assert_int_equal(any_is_locked(layout, &lock), 0);
		memset(&lock, 0, sizeof lock);
		assert_int_equal(any_trylock(layout, self, &lock), 0);
		assert_int_equal(any_unlock(layout, self, &lock), 0);
	}
	pl_qspinlock word = PL_QSPINLOCK_INIT;
	pl_qspinlock_byte byte = PL_QSPINLOCK_BYTE_INIT;
	pl_qspinlock_wide wide = PL_QSPINLOCK_WIDE_INIT;
	assert_int_equal(word.word | byte.word | wide.owner | wide.queue, 0);
}

static void inline_and_exported_calls_do_the_same_to_the_word(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0, 0}};
		for (int way = 0; way < 8; way++) {
			assert_int_equal(any_is_locked(layout, &lock), 0);
			assert_int_equal(way & 1 ? any_lock_inline(layout, self, &lock) : any_lock_it(layout, self, &lock), 0);
			assert_int_equal(lock.words[0], PL_Q_LOCKED);
			assert_int_equal(lock.words[1], 0);
			assert_int_equal(QUIETLY(any_is_locked(layout, &lock)), 1);
			assert_int_equal(QUIETLY(any_is_contended(layout, &lock)), 0);
			assert_int_equal(way & 4 ? any_trylock_inline(layout, self, &lock) : any_trylock(layout, self, &lock), -EBUSY);
			assert_int_equal(way & 2 ? any_unlock_inline(layout, self, &lock) : any_unlock(layout, self, &lock), 0);
			assert_int_equal(any_bits(layout, &lock), 0);
			assert_int_equal(way & 4 ? any_trylock_inline(layout, self, &lock) : any_trylock(layout, self, &lock), 0);
			assert_int_equal(any_unlock(layout, self, &lock), 0);
			assert_int_equal(any_lock_wait(layout, self, &lock, way & 1 ? PL_WAIT_SPIN : 0, way & 2 ? 0 : PL_FOREVER), 0);
			assert_int_equal(any_unlock(layout, self, &lock), 0);
		}
		assert_int_equal(self->depth, 0);
	}
}

static void byte_unlock_leaves_the_upper_bytes_alone(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	any_lock lock = {.words = {PL_Q_LOCKED | PL_Q_PENDING | 5u << PL_Q_BYTE_TAIL_SHIFT, 0}};
	assert_int_equal(any_unlock(PL_LAYOUT_BYTE, self, &lock), 0);
	assert_int_equal(lock.words[0], PL_Q_PENDING | 5u << PL_Q_BYTE_TAIL_SHIFT);
}

static void unlock_of_a_free_lock_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (int inlined = 0; inlined < 2; inlined++) {
			any_lock lock = {.words = {0, 0}};
			int expected = layout == PL_LAYOUT_WIDE ? 0 : -EPERM;
			assert_int_equal(inlined ? any_unlock_inline(layout, self, &lock) : any_unlock(layout, self, &lock), expected);
			assert_int_equal(any_bits(layout, &lock), 0);
			assert_int_equal(any_lock_it(layout, self, &lock), 0);
			assert_int_equal(any_unlock(layout, self, &lock), 0);
		}
	any_lock reserved = {.words = {PL_Q_PENDING | 5u << PL_Q_BYTE_TAIL_SHIFT, 0}};
	assert_int_equal(any_unlock(PL_LAYOUT_BYTE, self, &reserved), -EPERM);
	assert_int_equal(reserved.words[0], PL_Q_PENDING | 5u << PL_Q_BYTE_TAIL_SHIFT);
}

/* What unlocks too many leave behind where they are not noticed at once: beside waiters' bits. */
static void broken_word_is_not_taken_for_a_closed_domain(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < PL_LAYOUT_WIDE; layout++) {
		const uint32_t words[] = {0u - 1,
					  0u - 2,
					  parked_bit(layout) - 1,
					  PL_Q_STANDBY - 1,
					  PL_Q_STANDBY - 2,
					  PL_Q_PENDING - 1,
					  (parked_bit(layout) | PL_Q_STANDBY) - 1,
					  PL_Q_POISON - 1};
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++) {
				any_lock lock = {.words = {words[i], 0}};
				assert_int_equal(QUIETLY(any_trylock(layout, self, &lock)), -EBADFD);
				assert_int_equal(any_trylock_inline(layout, self, &lock), -EBADFD);
				assert_int_equal(any_lock_inline(layout, self, &lock), -EBADFD);
				assert_int_equal(QUIETLY(any_lock_wait(layout, self, &lock, flags, PL_FOREVER)), -EBADFD);
				assert_int_equal(QUIETLY(any_lock_wait(layout, self, &lock, flags, ms)), -EBADFD);
				assert_int_equal(self->depth, 0);
			}
	}
}

static void wait_gives_up_after_its_timeout_and_leaves_no_trace(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *holder = new_slot();
	static const int64_t timeouts[] = {0, 1, 20 * us, 300 * us, 3 * ms, 40 * ms};
	static const uint32_t flags[] = {0, PL_WAIT_SPIN, PL_WAIT_INTERRUPTIBLE, PL_WAIT_SPIN | PL_WAIT_INTERRUPTIBLE};
	for (int layout = 0; layout < layouts; layout++)
		for (int f = 0; f < 4; f++)
			for (int t = 0; t < 6; t++) {
				any_lock lock = {.words = {0, 0}};
				assert_int_equal(any_lock_it(layout, holder, &lock), 0);
				uint64_t start = now_ns();
				assert_int_equal(QUIETLY(any_lock_wait(layout, self, &lock, flags[f], timeouts[t])), -ETIMEDOUT);
				int64_t took = (int64_t)(now_ns() - start);
				assert_true(took >= timeouts[t] && took < timeouts[t] + 1000ll * ms);
				assert_int_equal(any_bits(layout, &lock), PL_Q_LOCKED);
				assert_int_equal(self->depth, 0);
				assert_int_equal(any_unlock(layout, holder, &lock), 0);
				assert_int_equal(any_bits(layout, &lock), 0);
			}
	assert_int_equal(pl_thread_release(holder), 0);
}

/* ---- waiters at a lock that is held ---- */

typedef struct {
	int layout;
	any_lock lock;
	uint32_t flags;
	int64_t timeout;
	uint32_t order; /* how many have acquired */
	struct {
		pl_thread *slot;
		uint32_t place; /* 1: first */
		int result;
	} waiter[16];
	uint32_t started;
} held_lock;

static void wait_and_note_the_order(int index, void *shared)
{
	(void)index;
	held_lock *h = shared;
	uint32_t me = pl_add_ar(&h->started, 1);
	pl_thread *self = pl_self_in(domain);
	__atomic_store_n(&h->waiter[me].slot, self, __ATOMIC_RELEASE);
	h->waiter[me].result = any_lock_wait(h->layout, self, &h->lock, h->flags, h->timeout);
	if (h->waiter[me].result)
		return;
	h->waiter[me].place = ++h->order; /* the lock protects it */
	REQUIRE_EQUAL(any_unlock(h->layout, self, &h->lock), 0);
}

static bool waits(held_lock *h, int i)
{
	pl_thread *slot = __atomic_load_n(&h->waiter[i].slot, __ATOMIC_ACQUIRE);
	if (!slot)
		return false;
	if (!(h->flags & PL_WAIT_SPIN))
		return is_asleep_at(h->layout, &h->lock, slot);
	return any_tail(h->layout, &h->lock) == pl_node_number(slot, 0) ||
	       (i == 0 && any_bits(h->layout, &h->lock) & PL_Q_PENDING);
}

/*
 * A waiter that is due and does not run for some milliseconds is overtaken, on purpose, so a busy machine may spoil a
 * round or two. By chance eight waiters keep their order once in 40,320 rounds.
 */
enum { attempts = 40 };

static bool waiters_acquire_in_order(int layout, uint32_t flags, int waiters)
{
	pl_thread *self = pl_self_in(domain);
	held_lock h = {.layout = layout, .flags = flags, .timeout = PL_FOREVER};
	crew *crews[8];
	assert_int_equal(any_lock_it(layout, self, &h.lock), 0);
	for (int i = 0; i < waiters; i++) {
		crews[i] = crew_start(1, wait_and_note_the_order, &h);
		AWAIT(waits(&h, i));
		assert_int_equal(any_is_contended(layout, &h.lock), 1);
		if (flags & PL_WAIT_SPIN && i == 0) /* alone it stands at the pending bit, without a queue */
			assert_int_equal(any_tail(layout, &h.lock), 0);
	}
	assert_int_equal(any_unlock(layout, self, &h.lock), 0);
	bool in_order = true;
	for (int i = 0; i < waiters; i++)
		crew_join(crews[i]);
	for (int i = 0; i < waiters; i++)
		in_order = in_order && h.waiter[i].place == (uint32_t)i + 1;
	assert_int_equal(h.order, waiters);
	assert_int_equal(any_bits(layout, &h.lock), 0);
	return in_order;
}

static void waiters_acquire_in_the_order_of_their_arrival(uint32_t flags)
{
	for (int layout = 0; layout < layouts; layout++)
		for (int waiters = 1; waiters <= 8; waiters *= 2) {
			bool in_order = false;
			for (int round = 0; round < attempts && !in_order; round++)
				in_order = waiters_acquire_in_order(layout, flags, waiters);
			assert_true(in_order);
		}
}

static void spinners_acquire_in_the_order_of_their_arrival(void **state)
{
	(void)state;
	waiters_acquire_in_the_order_of_their_arrival(PL_WAIT_SPIN);
}

static void sleepers_are_woken_in_the_order_of_their_arrival(void **state)
{
	(void)state;
	waiters_acquire_in_the_order_of_their_arrival(0);
}

static void long_timed_wait_gets_the_lock_when_it_is_released(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags < 4; flags++) {
			held_lock h = {.layout = layout, .flags = flags, .timeout = 50000ll * ms};
			assert_int_equal(any_lock_it(layout, self, &h.lock), 0);
			crew *c = crew_start(3, wait_and_note_the_order, &h);
			AWAIT(pl_load_acq(&h.started) == 3);
			sleep_us(1000);
			assert_int_equal(any_unlock(layout, self, &h.lock), 0);
			crew_join(c);
			assert_int_equal(h.order, 3);
			assert_int_equal(any_bits(layout, &h.lock), 0);
		}
}

static void interruption_ends_waits_of_both_policies(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t policy = 0; policy <= PL_WAIT_SPIN; policy++)
			for (int timed = 0; timed < 2; timed++) {
				held_lock h = {.layout = layout,
					       .flags = policy | PL_WAIT_INTERRUPTIBLE,
					       .timeout = timed ? 50000ll * ms : PL_FOREVER};
				assert_int_equal(any_lock_it(layout, self, &h.lock), 0);
				crew *c = crew_start(3, wait_and_note_the_order, &h);
				for (int i = 0; i < 3; i++) {
					AWAIT(__atomic_load_n(&h.waiter[i].slot, __ATOMIC_ACQUIRE));
					if (i == 1)
						sleep_us(700); /* while some sleep and some do not yet */
					assert_int_equal(pl_thread_interrupt(h.waiter[i].slot), 0);
				}
				crew_join(c);
				for (int i = 0; i < 3; i++)
					assert_int_equal(h.waiter[i].result, -EINTR);
				assert_int_equal(any_bits(layout, &h.lock), PL_Q_LOCKED);
				assert_int_equal(any_unlock(layout, self, &h.lock), 0);
			}
}

static void unlock_chooses_the_first_sleeper_before_it_returns(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (int round = 0; round < 10; round++) {
			held_lock h = {.layout = layout, .timeout = PL_FOREVER};
			assert_int_equal(any_lock_it(layout, self, &h.lock), 0);
			crew *first = crew_start(1, wait_and_note_the_order, &h);
			AWAIT(waits(&h, 0));
			crew *second = crew_start(1, wait_and_note_the_order, &h);
			AWAIT(waits(&h, 1));
			assert_int_equal(round % 2 ? any_unlock_inline(layout, self, &h.lock) : any_unlock(layout, self, &h.lock), 0);
			/* By its watch timer it would look only later. */
			uint32_t node_state = pl_load_acq(&h.waiter[0].slot->nodes[0].state);
			assert_true(node_state == PL_NODE_CHOSEN || node_state == PL_NODE_IDLE);
			crew_join(first);
			crew_join(second);
		}
}

typedef struct {
	held_lock h;
	uint32_t timed_out, go_on, resume, place;
	pl_thread *slot;
} resumed_wait;

static void time_out_and_wait_again(int index, void *shared)
{
	(void)index;
	resumed_wait *r = shared;
	pl_thread *self = r->slot = pl_self_in(domain);
	REQUIRE_EQUAL(any_lock_wait(r->h.layout, self, &r->h.lock, 0, ms), -ETIMEDOUT);
	pl_store_rel(&r->timed_out, 1);
	AWAIT(pl_load_acq(&r->go_on));
	uint32_t flags = r->resume ? PL_WAIT_RESUME : 0;
	REQUIRE_EQUAL(any_lock_wait(r->h.layout, self, &r->h.lock, flags, PL_FOREVER), 0);
	r->place = ++r->h.order;
	REQUIRE_EQUAL(any_unlock(r->h.layout, self, &r->h.lock), 0);
}

enum { others = 5 };

static uint32_t place_after_waiting_again(int layout, bool resume)
{
	pl_thread *self = pl_self_in(domain);
	resumed_wait r = {.h = {.layout = layout, .timeout = PL_FOREVER}, .resume = resume};
	crew *crews[others];
	assert_int_equal(any_lock_it(layout, self, &r.h.lock), 0);
	crew *first = crew_start(1, time_out_and_wait_again, &r);
	AWAIT(pl_load_acq(&r.timed_out));
	for (int i = 0; i < others; i++) {
		crews[i] = crew_start(1, wait_and_note_the_order, &r.h);
		AWAIT(waits(&r.h, i));
	}
	pl_store_rel(&r.go_on, 1);
	AWAIT(is_parked(r.slot));
	assert_int_equal(any_unlock(layout, self, &r.h.lock), 0);
	crew_join(first);
	for (int i = 0; i < others; i++)
		crew_join(crews[i]);
	return r.place;
}

static void resumed_wait_keeps_its_place_in_the_line(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		bool kept = false, lost = false;
		for (int round = 0; round < attempts && !(kept && lost); round++) {
			kept = kept || place_after_waiting_again(layout, true) == 1;
			lost = lost || place_after_waiting_again(layout, false) == others + 1;
		}
		assert_true(kept && lost);
	}
}

typedef struct {
	int layout;
	any_lock *lock;
	pl_thread *slot;
} placed_waiter;

static void wait_at(int index, void *shared)
{
	(void)index;
	placed_waiter *w = shared;
	REQUIRE_EQUAL(any_lock_wait(w->layout, w->slot, w->lock, 0, PL_FOREVER), 0);
	REQUIRE_EQUAL(any_unlock(w->layout, w->slot, w->lock), 0);
}

static void sleepers_of_two_locks_in_one_bucket_are_kept_apart(void **state)
{
	(void)state;
	static any_lock words[8 * PL_BUCKETS];
	pl_thread *self = pl_self_in(domain);
	any_lock *a = &words[0], *b = &words[1];
	while (pl_line_of(domain, pl_key(domain, b)) != pl_line_of(domain, pl_key(domain, a)))
		b++;
	for (int layout = 0; layout < layouts; layout++) {
		placed_waiter at_a = {layout, a, new_slot()}, at_b = {layout, b, new_slot()};
		assert_int_equal(any_lock_it(layout, self, a), 0);
		assert_int_equal(any_lock_it(layout, self, b), 0);
		crew *first = crew_start(1, wait_at, &at_a);
		AWAIT(is_asleep_at(layout, a, at_a.slot));
		crew *second = crew_start(1, wait_at, &at_b);
		AWAIT(is_asleep_at(layout, b, at_b.slot));
		assert_true(any_bits(layout, a) & any_bits(layout, b) & parked_bit(layout));
		assert_int_equal(any_unlock(layout, self, b), 0);
		crew_join(second);
		assert_true(is_parked(at_a.slot));
		assert_int_equal(any_bits(layout, b), 0);
		/* On a slow machine its slice was over before it went to sleep: reserved. */
		assert_int_equal(any_bits(layout, a) & ~PL_Q_PENDING, PL_Q_LOCKED | parked_bit(layout));
		assert_int_equal(any_unlock(layout, self, a), 0);
		crew_join(first);
		assert_int_equal(any_bits(layout, a), 0);
		assert_int_equal(pl_thread_release(at_a.slot), 0);
		assert_int_equal(pl_thread_release(at_b.slot), 0);
	}
}

/* ---- bits that somebody who is gone left behind ---- */

typedef struct {
	int layout;
	any_lock lock;
	uint32_t flags, got;
	pl_thread *slot;
	uint64_t when;
} lone_waiter;

static void acquire_alone(int index, void *shared)
{
	(void)index;
	lone_waiter *w = shared;
	pl_thread *self = pl_self_in(domain);
	__atomic_store_n(&w->slot, self, __ATOMIC_RELEASE);
	REQUIRE_EQUAL(any_lock_wait(w->layout, self, &w->lock, w->flags, PL_FOREVER), 0);
	w->when = now_ns();
	REQUIRE_EQUAL(any_unlock(w->layout, self, &w->lock), 0);
	pl_store_rel(&w->got, 1);
}

static uint32_t *queue_word(int layout, any_lock *lock) { return &lock->words[layout == PL_LAYOUT_WIDE]; }

static void meet_a_broken_word(int index, void *shared)
{
	(void)index;
	lone_waiter *w = shared;
	pl_thread *self = pl_self_in(domain);
	__atomic_store_n(&w->slot, self, __ATOMIC_RELEASE);
	REQUIRE_EQUAL(any_lock_wait(w->layout, self, &w->lock, w->flags, PL_FOREVER), -EBADFD);
}

static void try_repeated_takes_a_lock_whose_reservation_nobody_uses(void **state)
{
	(void)state;
	static any_lock locks[layouts][2];
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (int inlined = 0; inlined < 2; inlined++) {
			any_lock *lock = &locks[layout][inlined];
			*queue_word(layout, lock) = PL_Q_PENDING;
			uint64_t start = now_ns();
			int err;
			while ((err = inlined ? any_trylock_inline(layout, self, lock) : any_trylock(layout, self, lock)) == -EBUSY)
				;
			assert_int_equal(err, 0);
			assert_true(now_ns() - start >= PL_RESERVATION_NS);
			assert_int_equal(any_bits(layout, lock), PL_Q_LOCKED);
			/* Not by a look back: found held between, the time begins anew. */
			*queue_word(layout, lock) |= PL_Q_PENDING;
			assert_int_equal(any_trylock(layout, self, lock), -EBUSY);
			assert_int_equal(any_unlock(layout, self, lock), 0);
			assert_int_equal(any_trylock(layout, self, lock), -EBUSY);
		}
}

/* A sleeper that has reserved the lock, of whom a releaser saw that somebody stood by; and who stood by gives up. */
typedef struct {
	int layout;
	any_lock lock;
	pl_thread *sleeper, *leaver;
	uint32_t last, left;
} reserved_game;

static void sleep_reserved(int index, void *shared)
{
	(void)index;
	reserved_game *g = shared;
	pl_thread *self = pl_self_in(domain);
	__atomic_store_n(&g->sleeper, self, __ATOMIC_RELEASE);
	for (;;) {
		REQUIRE_EQUAL(any_lock_wait(g->layout, self, &g->lock, 0, PL_FOREVER), 0);
		REQUIRE_EQUAL(any_unlock(g->layout, self, &g->lock), 0);
		if (pl_load_acq(&g->last))
			return;
	}
}

/* What give_up() is to find: the lock held by @self, one asleep in the line with PENDING set. False if it did not come to it. */
static bool someone_sleeps_reserved(reserved_game *g, pl_thread *self)
{
	for (int round = 0; round < 1000; round++) {
		AWAIT(is_asleep_at(g->layout, &g->lock, g->sleeper));
		if (any_bits(g->layout, &g->lock) & PL_Q_PENDING)
			return true;
		REQUIRE_EQUAL(any_unlock(g->layout, self, &g->lock), 0);
		if (any_trylock(g->layout, self, &g->lock))
			REQUIRE_EQUAL(any_lock_it(g->layout, self, &g->lock), 0);
	}
	return false;
}

static void give_up_beside_it(int index, void *shared)
{
	(void)index;
	reserved_game *g = shared;
	int err = any_lock_wait(g->layout, g->leaver, &g->lock, 0, 3 * ms);
	REQUIRE(err == 0 || err == -ETIMEDOUT); /* 0: somebody was so slow that the reservation was void */
	if (!err)
		REQUIRE_EQUAL(any_unlock(g->layout, g->leaver, &g->lock), 0);
	pl_store_rel(&g->left, 1);
}

static void leaver_wakes_a_sleeper_that_has_reserved_the_lock(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *other = new_slot();
	for (int layout = 0; layout < layouts; layout++)
		for (int round = 0; round < 5; round++) {
			reserved_game g = {.layout = layout, .leaver = other};
			assert_int_equal(any_lock_it(layout, self, &g.lock), 0);
			crew *sleeper = crew_start(1, sleep_reserved, &g);
			AWAIT(__atomic_load_n(&g.sleeper, __ATOMIC_ACQUIRE));
			assert_true(someone_sleeps_reserved(&g, self));
			pl_store_rel(&g.last, 1);
			/* Hidden for a moment, so that the leaver stands by instead of sleeping. */
			pl_and_ar(queue_word(layout, &g.lock), ~parked_bit(layout));
			crew *leaver = crew_start(1, give_up_beside_it, &g);
			AWAIT(any_bits(layout, &g.lock) & PL_Q_STANDBY || is_parked(other) || pl_load_acq(&g.left));
			pl_or_ar(queue_word(layout, &g.lock), parked_bit(layout));
			assert_int_equal(any_unlock(layout, self, &g.lock), 0);
			crew_join(leaver);
			AWAIT(!is_parked(g.sleeper));
			crew_join(sleeper);
			assert_int_equal(any_bits(layout, &g.lock) & ~parked_bit(layout), 0);
		}
	assert_int_equal(pl_thread_release(other), 0);
}

static void waiters_leave_when_the_word_breaks(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < PL_LAYOUT_WIDE; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++) {
			lone_waiter w = {.layout = layout, .flags = flags};
			assert_int_equal(any_lock_it(layout, self, &w.lock), 0);
			crew *waiters = crew_start(3, meet_a_broken_word, &w);
			if (flags)
				AWAIT(any_is_contended(layout, &w.lock));
			else
				AWAIT(any_bits(layout, &w.lock) & parked_bit(layout));
			pl_store_rlx(&w.lock.words[0], UINT32_MAX);
			crew_join(waiters);
			assert_int_equal(w.slot->depth, 0);
		}
}

static void reservation_that_nobody_uses_is_void_after_a_while(void **state)
{
	(void)state;
	static any_lock locks[layouts][4]; /* each a lock of its own: tries are remembered by address */
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags < 4; flags++) {
			any_lock *lock = &locks[layout][flags];
			*queue_word(layout, lock) = PL_Q_PENDING; /* as if its owner were stopped */
			assert_int_equal(any_trylock(layout, self, lock), -EBUSY);
			assert_int_equal(any_trylock_inline(layout, self, lock), -EBUSY);
			assert_int_equal(any_lock_wait(layout, self, lock, flags, 0), -ETIMEDOUT);
			uint64_t start = now_ns();
			assert_int_equal(any_lock_wait(layout, self, lock, flags, PL_FOREVER), 0);
			int64_t took = (int64_t)(now_ns() - start);
			assert_true(took >= PL_RESERVATION_NS);
			assert_true(took < PL_RESERVATION_NS + 1000ll * ms);
			assert_int_equal(any_unlock(layout, self, lock), 0);
			assert_int_equal(any_bits(layout, lock), 0);
		}
}

static void standby_that_does_nothing_silences_wake_ups_for_a_while_only(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	uint64_t longest = 0;
	for (int layout = 0; layout < layouts; layout++)
		for (int round = 0; round < 5; round++) {
			lone_waiter w = {.layout = layout};
			assert_int_equal(any_lock_it(layout, self, &w.lock), 0);
			crew *c = crew_start(1, acquire_alone, &w);
			AWAIT(__atomic_load_n(&w.slot, __ATOMIC_ACQUIRE) && is_asleep_at(layout, &w.lock, w.slot));
			pl_or_ar(queue_word(layout, &w.lock), PL_Q_STANDBY); /* as if a woken waiter had been killed */
			uint64_t start = now_ns();
			assert_int_equal(any_unlock(layout, self, &w.lock), 0);
			crew_join(c);
			assert_true(w.when - start < 2000ull * ms);
			longest = w.when - start > longest ? w.when - start : longest;
			assert_int_equal(any_bits(layout, &w.lock), 0);
		}
	print_message("             longest silence %.1f ms\n", (double)longest / ms);
}

static void waker_that_finds_nobody_leaves_no_standby_behind(void **state)
{
	(void)state;
	/* The wake-up that was lost once: a wake found nobody and marked the lock as taken care of nevertheless. */
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++) {
			lone_waiter w = {.layout = layout, .flags = flags};
			assert_int_equal(any_lock_it(layout, self, &w.lock), 0);
			pl_or_ar(queue_word(layout, &w.lock), parked_bit(layout));
			assert_int_equal(any_unlock(layout, self, &w.lock), 0);
			assert_false(any_bits(layout, &w.lock) & PL_Q_STANDBY);
			assert_int_equal(any_lock_it(layout, self, &w.lock), 0);
			crew *c = crew_start(1, acquire_alone, &w);
			AWAIT(__atomic_load_n(&w.slot, __ATOMIC_ACQUIRE));
			sleep_us(500);
			assert_int_equal(any_unlock(layout, self, &w.lock), 0);
			crew_join(c);
		}
}

/* ---- hammers ---- */

enum { hammer_threads = 6, kinds = 8 };

typedef struct {
	int layout;
	any_lock *lock;
	uint32_t kinds; /* which ways to lock are in use: bits */
	uint64_t rounds;
	int64_t counter;        /* not atomic: the lock protects it */
	uint32_t inside, stop;
	uint32_t failures[kinds];
	pl_thread *slots[hammer_threads];
} hammer;

static int acquire(hammer *h, int kind, pl_thread *self, uint32_t random)
{
	switch (kind) {
	case 0: return any_lock_inline(h->layout, self, h->lock);
	case 1: return any_lock_it(h->layout, self, h->lock);
	case 2: return any_lock_wait(h->layout, self, h->lock, PL_WAIT_SPIN, PL_FOREVER);
	case 3: return any_lock_wait(h->layout, self, h->lock, 0, random % 1024 * us);
	case 4: return any_lock_wait(h->layout, self, h->lock, PL_WAIT_SPIN, random % 64 * us);
	case 5: return any_lock_wait(h->layout, self, h->lock, PL_WAIT_INTERRUPTIBLE, PL_FOREVER);
	case 6: return any_trylock(h->layout, self, h->lock);
	default: return any_lock_wait(h->layout, self, h->lock, PL_WAIT_SPIN | PL_WAIT_INTERRUPTIBLE, PL_FOREVER);
	}
}

static void hammer_away(int index, void *shared)
{
	hammer *h = shared;
	pl_thread *self = pl_self_in(domain);
	__atomic_store_n(&h->slots[index], self, __ATOMIC_RELEASE);
	uint32_t random = 77 + (uint32_t)index, next = (uint32_t)index;
	for (uint64_t i = 0; i < h->rounds;) {
		while (!(h->kinds >> next % kinds & 1))
			next++;
		uint32_t r = random_next(&random);
		int kind = (int)(next++ % kinds), err = acquire(h, kind, self, r >> 8);
		if (err) {
			bool fits = (kind == 3 || kind == 4) ? err == -ETIMEDOUT : kind == 6 ? err == -EBUSY : err == -EINTR;
			if (!fits || kind < 3)
				REQUIRE_EQUAL(err, 0);
			pl_add_ar(&h->failures[kind], 1);
			continue;
		}
		REQUIRE_EQUAL(h->inside++, 0);
		int64_t seen = h->counter;
		if (r % 128 == 0)
			sleep_us(r % 1024 == 0 ? 150 : 1); /* asleep, or preempted, inside */
		else
			for (volatile uint32_t spin = r % 64; spin;)
				spin--;
		h->counter = seen + 1;
		h->inside--;
		REQUIRE_EQUAL(kind == 0 ? any_unlock_inline(h->layout, self, h->lock) : any_unlock(h->layout, self, h->lock), 0);
		i++;
	}
}

static void interrupt_all_the_time(int index, void *shared)
{
	(void)index;
	hammer *h = shared;
	for (uint32_t i = 0; !pl_load_acq(&h->stop); i++) {
		pl_thread *slot = __atomic_load_n(&h->slots[i % hammer_threads], __ATOMIC_ACQUIRE);
		if (slot)
			pl_thread_interrupt(slot);
		sleep_us(100);
	}
}

static void run_hammer(uint32_t ways, uint64_t rounds)
{
	for (int layout = 0; layout < layouts; layout++) {
		void *word;
		assert_int_equal(pl_domain_pool_take(domain, &word), 0);
		hammer h = {.layout = layout, .lock = word, .kinds = ways, .rounds = scaled(rounds)};
		watch_lock(layout, word, domain);
		crew *interrupter = ways & (1 << 5 | 1 << 7) ? crew_start(1, interrupt_all_the_time, &h) : NULL;
		crew_run(hammer_threads, hammer_away, &h);
		pl_store_rel(&h.stop, 1);
		if (interrupter)
			crew_join(interrupter);
		assert_int_equal(h.counter, hammer_threads * h.rounds);
		assert_int_equal(any_bits(layout, word), 0); /* nobody waits, so nothing is left */
		assert_int_equal(pl_domain_pool_give(domain, word), 0);
	}
}

static void each_way_to_lock_excludes_its_own_kind(void **state)
{
	(void)state;
	for (int kind = 0; kind < kinds; kind++)
		run_hammer(1u << kind, kind == 2 || kind == 7 ? 500 : 1500);
}

static void each_pair_of_ways_to_lock_excludes_the_other(void **state)
{
	(void)state;
	for (int a = 0; a < kinds; a++)
		for (int b = a + 1; b < kinds; b++)
			run_hammer(1u << a | 1u << b, 150);
}

static void all_ways_to_lock_exclude_each_other(void **state)
{
	(void)state;
	run_hammer((1u << kinds) - 1, 3000);
}

static void wide_unlocks_that_fence_for_themselves_exclude_too(void **state)
{
	(void)state;
	/* As where membarrier is refused. */
	uint32_t before = pl_release_needs_fence;
	pl_store_rlx(&pl_release_needs_fence, 1);
	run_hammer(1 << 1 | 1 << 2 | 1 << 3, 2000);
	pl_store_rlx(&pl_release_needs_fence, before);
}

/* ---- bad input ---- */

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *service = pl_domain_service(domain);
	union {
		any_lock locks[2];
		char bytes[16];
	} memory = {.bytes = {0}};
	for (int layout = 0; layout < layouts; layout++) {
		any_lock *askew[] = {NULL, (any_lock *)(void *)&memory.bytes[2],
				     (any_lock *)(void *)&memory.bytes[layout == PL_LAYOUT_WIDE ? 4 : 1]};
		for (int i = 0; i < 3; i++) {
			assert_int_equal(QUIETLY(any_init(layout, askew[i])), -EINVAL);
			assert_int_equal(QUIETLY(any_lock_it(layout, self, askew[i])), -EINVAL);
			assert_int_equal(QUIETLY(any_lock_wait(layout, self, askew[i], 0, 0)), -EINVAL);
			assert_int_equal(QUIETLY(any_trylock(layout, self, askew[i])), -EINVAL);
			assert_int_equal(QUIETLY(any_unlock(layout, self, askew[i])), -EINVAL);
			assert_int_equal(QUIETLY(any_is_locked(layout, askew[i])), -EINVAL);
			assert_int_equal(QUIETLY(any_is_contended(layout, askew[i])), -EINVAL);
		}
		any_lock *lock = &memory.locks[0];
		assert_int_equal(any_lock_it(layout, self, lock), 0);
		for (uint32_t bit = 3; bit < 32; bit++)
			assert_int_equal(QUIETLY(any_lock_wait(layout, self, lock, 1u << bit, ms)), -EINVAL);
		assert_int_equal(any_is_locked(layout, lock), 1);
		assert_int_equal(QUIETLY(pl_qspin_kick(self, NULL, (uint32_t)layout, 1)), -EINVAL);
		assert_int_equal(QUIETLY(pl_qspin_kick(self, lock, 3, 1)), -EINVAL);
		assert_int_equal(QUIETLY(pl_qspin_kick(self, lock, (uint32_t)layout, 1)), 0);
		/* Any slot of the domain may release, the service slot too. */
		assert_int_equal(QUIETLY(any_unlock(layout, service, lock)), 0);
		assert_int_equal(any_bits(layout, lock), 0);
		assert_int_equal(self->depth, 0);
	}
}

static void longest_timeout_is_no_timeout(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++) {
			held_lock h = {.layout = layout, .flags = flags, .timeout = INT64_MAX};
			assert_int_equal(any_lock_it(layout, self, &h.lock), 0);
			crew *c = crew_start(1, wait_and_note_the_order, &h);
			AWAIT(pl_load_acq(&h.started));
			sleep_us(500);
			assert_int_equal(any_unlock(layout, self, &h.lock), 0);
			crew_join(c);
			assert_int_equal(h.waiter[0].result, 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lock_is_free_after_init_and_after_zeroing),
		TEST(inline_and_exported_calls_do_the_same_to_the_word),
		TEST(byte_unlock_leaves_the_upper_bytes_alone),
		TEST(unlock_of_a_free_lock_is_refused_and_changes_nothing),
		TEST(broken_word_is_not_taken_for_a_closed_domain),
		TEST(wait_gives_up_after_its_timeout_and_leaves_no_trace),
		TEST(spinners_acquire_in_the_order_of_their_arrival),
		TEST(sleepers_are_woken_in_the_order_of_their_arrival),
		TEST(unlock_chooses_the_first_sleeper_before_it_returns),
		TEST(long_timed_wait_gets_the_lock_when_it_is_released),
		TEST(interruption_ends_waits_of_both_policies),
		TEST(resumed_wait_keeps_its_place_in_the_line),
		TEST(sleepers_of_two_locks_in_one_bucket_are_kept_apart),
		TEST(try_repeated_takes_a_lock_whose_reservation_nobody_uses),
		TEST(leaver_wakes_a_sleeper_that_has_reserved_the_lock),
		TEST(waiters_leave_when_the_word_breaks),
		TEST(reservation_that_nobody_uses_is_void_after_a_while),
		TEST(standby_that_does_nothing_silences_wake_ups_for_a_while_only),
		TEST(waker_that_finds_nobody_leaves_no_standby_behind),
		TEST(each_way_to_lock_excludes_its_own_kind),
		TEST(each_pair_of_ways_to_lock_excludes_the_other),
		TEST(all_ways_to_lock_exclude_each_other),
		TEST(wide_unlocks_that_fence_for_themselves_exclude_too),
		TEST(bad_arguments_are_refused),
		TEST(longest_timeout_is_no_timeout),
	};
	return cmocka_run_group_tests_name("qspinlock", tests, make_domain, close_domain);
}
