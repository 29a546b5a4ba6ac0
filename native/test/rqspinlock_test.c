/* SPDX-License-Identifier: Apache-2.0 */
/* rqspinlock: ownership, deadlocks of every length, limits, reports. The oracle over random programs: rqspinlock_oracle_test.c */
#include "domain.h"
#include "held.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pl_domain *domain;

static int make_domain(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 120};
	return pl_domain_create(&o, &domain);
}

static int close_domain(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < domain->slots; i++) {
		REQUIRE_EQUAL(pl_slot(domain, i)->depth, 0);
		REQUIRE(!pl_held_any(pl_slot(domain, i)));
		for (int level = 0; level < PL_NESTING; level++)
			REQUIRE_EQUAL(pl_slot(domain, i)->nodes[level].wait & 1, 0);
	}
	return pl_domain_close(domain);
}

/* ---- one thread ---- */

static void lock_and_unlock_keep_the_table(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (int way = 0; way < 4; way++) {
			any_lock lock = {.words = {0}};
			uint64_t keys[PL_HELD];
			assert_int_equal(way == 0   ? QUIETLY(any_rq_lock(layout, self, &lock))
					 : way == 1 ? QUIETLY(any_rq_trylock(layout, self, &lock))
					 : way == 2 ? any_rq_lock_wait(layout, self, &lock, 0, PL_LIMITS, NULL)
						    : any_rq_lock_inline(layout, self, &lock),
					 0);
			assert_int_equal(any_bits(layout, &lock), PL_Q_LOCKED);
			assert_int_equal(pl_thread_held(self, keys), 1);
			assert_int_equal(keys[0], pl_lock_key(domain, &lock));
			assert_ptr_equal(pl_domain_holder(domain, &lock), self);
			assert_int_equal(way == 3 ? any_rq_unlock_inline(layout, self, &lock) : QUIETLY(any_rq_unlock(layout, self, &lock)), 0);
			assert_int_equal(any_bits(layout, &lock), 0);
			assert_int_equal(pl_thread_held(self, keys), 0);
			assert_null(pl_domain_holder(domain, &lock));
		}
}

static void qspinlock_and_rqspinlock_exclude_each_other(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0}};
		assert_int_equal(any_lock_it(layout, self, &lock), 0);
		assert_int_equal(any_rq_trylock(layout, self, &lock), -EBUSY);
		assert_int_equal(any_rq_lock_wait(layout, self, &lock, 0, ms, NULL), -ETIMEDOUT);
		assert_int_equal(any_rq_unlock(layout, self, &lock), -EPERM); /* not taken by a rqspinlock call */
		assert_int_equal(any_unlock(layout, self, &lock), 0);
		assert_int_equal(any_rq_lock(layout, self, &lock), 0);
		assert_int_equal(any_trylock(layout, self, &lock), -EBUSY);
		assert_int_equal(any_lock_wait(layout, self, &lock, 0, ms), -ETIMEDOUT);
		assert_int_equal(any_rq_unlock(layout, self, &lock), 0);
	}
}

static void bad_input_is_refused(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *service = pl_domain_service(domain);
	any_lock lock = {.words = {0}};
	char *odd = (char *)&lock + 2;
	for (int layout = 0; layout < layouts; layout++) {
		assert_int_equal(QUIETLY(any_rq_lock(layout, NULL, &lock)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_lock_inline(layout, NULL, &lock)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_trylock(layout, NULL, &lock)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_unlock(layout, NULL, &lock)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_unlock_inline(layout, NULL, &lock)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_lock(layout, self, NULL)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_lock_wait(layout, self, NULL, 0, PL_LIMITS, NULL)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_lock(layout, self, (any_lock *)(void *)odd)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_unlock(layout, self, (any_lock *)(void *)odd)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_lock(layout, service, &lock)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_lock_inline(layout, service, &lock)), -EINVAL);
		assert_int_equal(QUIETLY(any_rq_lock_wait(layout, self, &lock, 1u << 20, PL_LIMITS, NULL)), -EINVAL);
		assert_int_equal(any_bits(layout, &lock), 0);
	}
	assert_int_equal(pl_thread_held(NULL, NULL), -EINVAL);
}

static void poisoned_locks_say_so(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 4, .pool_locks = 1};
	pl_domain *d;
	void *word;
	assert_int_equal(pl_domain_create(&o, &d), 0);
	assert_int_equal(pl_domain_pool_take(d, &word), 0);
	pl_thread *self = pl_self_in(d);
	assert_int_equal(pl_domain_poison(d), 0);
	for (int layout = 0; layout < layouts; layout++) {
		assert_int_equal(any_rq_lock(layout, self, word), -ESHUTDOWN);
		assert_int_equal(any_rq_trylock(layout, self, word), -ESHUTDOWN);
	}
	assert_false(pl_held_any(self));
	assert_int_equal(pl_domain_close(d), 0);
}

/* Overwritten, or unlocked too often by qspinlock calls. */
static void broken_words_say_so(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < PL_LAYOUT_WIDE; layout++) { /* WIDE has no such value */
		const uint32_t words[] = {0u - 1, 0u - 2, PL_Q_PENDING - 1, PL_Q_STANDBY - 2, PL_Q_POISON - 1};
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			any_lock lock = {.words = {words[i], 0}};
			assert_int_equal(QUIETLY(any_rq_trylock(layout, self, &lock)), -EBADFD);
			assert_int_equal(any_rq_lock_inline(layout, self, &lock), -EBADFD);
			assert_int_equal(QUIETLY(any_rq_lock_wait(layout, self, &lock, 0, PL_FOREVER, NULL)), -EBADFD);
			assert_int_equal(QUIETLY(any_rq_lock_wait(layout, self, &lock, PL_WAIT_SPIN, PL_FOREVER, NULL)), -EBADFD);
			assert_int_equal(QUIETLY(any_rq_unlock(layout, self, &lock)), -EPERM);
			assert_true(lock.words[0] & PL_Q_BROKEN); /* it stays so */
			assert_false(pl_held_any(self));
		}
	}
}

/* A queue behind a node that does not exist: rqspinlock's waiters never stand in it. */
static void a_broken_queue_is_nobodys_business(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *other;
	assert_int_equal(pl_thread_register(domain, 0, &other), 0);
	for (int layout = 0; layout < layouts; layout++) {
		uint32_t tail = layout == PL_LAYOUT_BYTE ? PL_Q_BYTE_TAIL_MASK : PL_Q_TAIL_MASK;
		any_lock lock = {.words = {layout == PL_LAYOUT_WIDE ? 0 : tail, layout == PL_LAYOUT_WIDE ? tail : 0}};
		assert_int_equal(any_rq_lock_wait(layout, self, &lock, PL_WAIT_SPIN, PL_FOREVER, NULL), 0);
		assert_int_equal(QUIETLY(any_rq_trylock(layout, other, &lock)), -EBUSY);
		assert_int_equal(any_rq_lock_wait(layout, other, &lock, PL_WAIT_SPIN, ms, NULL), -ETIMEDOUT);
		assert_int_equal(any_rq_unlock(layout, self, &lock), 0);
		assert_int_equal(any_rq_lock_wait(layout, self, &lock, 0, PL_FOREVER, NULL), 0);
		assert_int_equal(any_rq_unlock(layout, self, &lock), 0);
		assert_int_equal(lock.words[layout == PL_LAYOUT_WIDE] & tail, tail);
	}
	assert_int_equal(pl_thread_release(other), 0);
}

/* Its owner is gone: tries void it, as waiters do. */
static void a_reservation_that_nobody_uses_does_not_refuse_tries_for_ever(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++) {
		bool wide = layout == PL_LAYOUT_WIDE;
		any_lock lock = {.words = {wide ? 0 : PL_Q_PENDING, wide ? PL_Q_PENDING : 0}};
		int64_t start = now_ns();
		assert_int_equal(any_rq_trylock(layout, self, &lock), -EBUSY);
		AWAIT(any_rq_trylock(layout, self, &lock) == 0);
		assert_true(now_ns() - start >= PL_RESERVATION_NS);
		assert_int_equal(any_rq_unlock(layout, self, &lock), 0);
		assert_int_equal(any_bits(layout, &lock), 0);
		assert_false(pl_held_any(self));
	}
}

static void unlock_by_a_stranger_is_refused_and_releases_nothing(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *other;
	assert_int_equal(pl_thread_register(domain, 0, &other), 0);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0}}, another = {.words = {0}};
		assert_int_equal(any_rq_unlock(layout, self, &lock), -EPERM);
		assert_int_equal(any_rq_lock(layout, self, &lock), 0);
		assert_int_equal(any_rq_lock(layout, other, &another), 0);
		assert_int_equal(any_rq_unlock(layout, other, &lock), -EPERM);
		assert_int_equal(any_rq_unlock_inline(layout, other, &lock), -EPERM);
		assert_int_equal(any_bits(layout, &lock), PL_Q_LOCKED);
		assert_int_equal(any_rq_unlock(layout, self, &lock), 0);
		assert_int_equal(any_rq_unlock(layout, other, &another), 0);
	}
	assert_int_equal(pl_thread_release(other), 0);
}

/* Row 22: at once, not after a millisecond; row 26: nothing is left in the table. */
static void own_lock_is_refused_at_once(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock locks[3] = {{.words = {0}}};
		for (int i = 0; i < 3; i++)
			assert_int_equal(any_rq_lock(layout, self, &locks[i]), 0);
		for (int i = 0; i < 3; i++) {
			pl_deadlock report;
			assert_int_equal(QUIETLY(any_rq_lock(layout, self, &locks[i])), -EDEADLK);
			assert_int_equal(any_rq_lock_inline(layout, self, &locks[i]), -EDEADLK);
			assert_int_equal(any_rq_trylock(layout, self, &locks[i]), -EDEADLK);
			assert_int_equal(any_rq_lock_wait(layout, self, &locks[i], 0, PL_FOREVER, &report), -EDEADLK);
			assert_int_equal(report.length, 1);
			assert_int_equal(report.waits[0].slot, self->index);
			assert_int_equal(report.waits[0].key, pl_lock_key(domain, &locks[i]));
			assert_int_equal(any_rq_lock_wait(layout, self, &locks[i], PL_WAIT_SPIN, PL_FOREVER, NULL), -EDEADLK);
			uint64_t keys[PL_HELD];
			assert_int_equal(pl_thread_held(self, keys), 3);
		}
		static const int order[] = {1, 0, 2};
		for (int i = 0; i < 3; i++) {
			assert_int_equal(any_rq_unlock(layout, self, &locks[order[i]]), 0);
			assert_int_equal(any_rq_trylock(layout, self, &locks[order[i]]), 0); /* no false alarm */
			assert_int_equal(any_rq_unlock(layout, self, &locks[order[i]]), 0);
		}
		assert_false(pl_held_any(self));
	}
}

enum { many = PL_HELD + 6 };

static void more_locks_than_entries_are_held_all_the_same(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	any_lock locks[many] = {{.words = {0}}};
	for (int forwards = 0; forwards < 2; forwards++) {
		for (int i = 0; i < many; i++)
			assert_int_equal(any_rq_lock(0, self, &locks[i]), 0);
		for (int i = 0; i < PL_HELD; i++)
			assert_int_equal(any_rq_lock(0, self, &locks[i]), -EDEADLK);
		for (int i = PL_HELD; i < many; i++) /* only time watches over these */
			assert_int_equal(any_rq_lock_wait(0, self, &locks[i], 0, ms, NULL), -ETIMEDOUT);
		for (int i = 0; i < many; i++)
			assert_int_equal(any_rq_unlock(0, self, &locks[forwards ? i : many - 1 - i]), 0);
		for (int i = 0; i < many; i++)
			assert_int_equal(any_bits(0, &locks[i]), 0);
		assert_false(pl_held_any(self));
	}
}

/* ---- limits ---- */

/* Row 29: with nobody who ever writes to the word. */
static void limits_hold_without_any_store(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *other;
	assert_int_equal(pl_thread_register(domain, 0, &other), 0);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++) {
			any_lock lock = {.words = {0}};
			assert_int_equal(any_rq_lock(layout, other, &lock), 0);
			uint64_t start = now_ns();
			assert_int_equal(any_rq_lock_wait(layout, self, &lock, flags, 20 * ms, NULL), -ETIMEDOUT);
			assert_true(now_ns() - start >= 20 * ms);
			assert_int_equal(any_rq_lock_wait(layout, self, &lock, flags, 0, NULL), -ETIMEDOUT);
			assert_int_equal(any_bits(layout, &lock), PL_Q_LOCKED); /* nothing of the waiter is left */
			start = now_ns();
			assert_int_equal(any_rq_lock_wait(layout, self, &lock, flags, PL_LIMITS, NULL), -ETIMEDOUT);
			assert_true(now_ns() - start >= PL_LIMIT_FIRST_NS);
			assert_int_equal(any_rq_unlock(layout, other, &lock), 0);
		}
	assert_int_equal(pl_thread_release(other), 0);
}

typedef struct {
	int layout;
	any_lock lock;
	uint32_t limits_passed;
} queue_of_two;

static void wait_to_the_limit(int index, void *shared)
{
	queue_of_two *q = shared;
	pl_thread *self = pl_self_in(domain);
	if (index == 1) {
		AWAIT(any_bits(q->layout, &q->lock) != PL_Q_LOCKED); /* the other is first */
		sleep_us(20000);
	}
	uint64_t start = now_ns();
	REQUIRE_EQUAL(any_rq_lock(q->layout, self, &q->lock), -ETIMEDOUT);
	uint64_t took = now_ns() - start;
	REQUIRE(took >= (index ? PL_LIMIT_BEHIND_NS : PL_LIMIT_FIRST_NS)); /* each from its own call, not from the first's */
	pl_add_ar(&q->limits_passed, 1);
}

static void each_waiter_has_its_own_limit(void **state)
{
	(void)state;
	pl_thread *other;
	assert_int_equal(pl_thread_register(domain, 0, &other), 0);
	queue_of_two q = {.layout = PL_LAYOUT_WORD};
	assert_int_equal(any_rq_lock(q.layout, other, &q.lock), 0);
	crew_run(2, wait_to_the_limit, &q);
	assert_int_equal(q.limits_passed, 2);
	assert_int_equal(any_bits(q.layout, &q.lock), PL_Q_LOCKED);
	assert_int_equal(any_rq_unlock(q.layout, other, &q.lock), 0);
	assert_int_equal(pl_thread_release(other), 0);
}

static void interruption_ends_an_interruptible_wait(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *other;
	assert_int_equal(pl_thread_register(domain, 0, &other), 0);
	any_lock lock = {.words = {0}};
	assert_int_equal(any_rq_lock(0, other, &lock), 0);
	assert_int_equal(pl_thread_interrupt(self), 0);
	assert_int_equal(any_rq_lock_wait(0, self, &lock, PL_WAIT_INTERRUPTIBLE, PL_FOREVER, NULL), -EINTR);
	assert_false(pl_held_any(self));
	assert_int_equal(any_rq_unlock(0, other, &lock), 0);
	assert_int_equal(pl_thread_release(other), 0);
}

/* ---- circles ---- */

enum { longest = 16 };

typedef struct {
	int layout, length;
	uint32_t flags, ready, victims, winners, timeouts;
	any_lock *locks[longest];
	any_lock store[longest];
	pl_thread *slots[longest];
	pl_deadlock report;
} circle;

static void close_the_circle(int index, void *shared)
{
	circle *c = shared;
	pl_thread *self = pl_self_in(domain);
	any_lock *mine = c->locks[index], *next = c->locks[(index + 1) % c->length];
	pl_deadlock report;
	__atomic_store_n(&c->slots[index], self, __ATOMIC_RELEASE);
	REQUIRE_EQUAL(any_rq_lock(c->layout, self, mine), 0);
	pl_add_ar(&c->ready, 1);
	AWAIT(pl_load_acq(&c->ready) == (uint32_t)c->length);
	int err = any_rq_lock_wait(c->layout, self, next, c->flags, 20000ll * ms, &report);
	if (err == 0) {
		pl_add_ar(&c->winners, 1);
		REQUIRE_EQUAL(any_rq_unlock(c->layout, self, next), 0);
	} else if (err == -EDEADLK) {
		if (pl_add_ar(&c->victims, 1) == 0)
			c->report = report;
	} else {
		REQUIRE_EQUAL(err, -ETIMEDOUT);
		pl_add_ar(&c->timeouts, 1);
	}
	REQUIRE_EQUAL(any_rq_unlock(c->layout, self, mine), 0);
}

/* Rows 28 and 30: one waiter on each lock; one fails, all others get through, none times out, nothing stays behind. */
static void circles_of_any_length_lose_one_thread(void **state)
{
	(void)state;
	static const int lengths[] = {2, 3, 4, 5, 8, longest};
	for (int layout = 0; layout < layouts; layout++)
		for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
			for (uint64_t round = scaled(9); round; round--) {
				circle c = {.layout = layout, .length = lengths[l], .flags = round % 3 ? 0 : PL_WAIT_SPIN};
				void *pooled[longest];
				for (int i = 0; i < c.length; i++) {
					REQUIRE_EQUAL(pl_domain_pool_take(domain, &pooled[i]), 0);
					c.locks[i] = i % 2 ? pooled[i] : &c.store[i];
				}
				crew_run(c.length, close_the_circle, &c);
				assert_int_equal(c.timeouts, 0);
				assert_int_equal(c.victims, 1);
				assert_int_equal(c.winners, c.length - 1);
				assert_int_equal(c.report.length, c.length);
				int first = 0;
				while (c.slots[first]->index != c.report.waits[0].slot)
					first++;
				for (int i = 0; i < c.length; i++) {
					int at = (first + i) % c.length;
					assert_int_equal(c.report.waits[i].slot, c.slots[at]->index);
					assert_int_equal(c.report.waits[i].level, 0);
					assert_int_equal(c.report.waits[i].key, pl_lock_key(domain, c.locks[(at + 1) % c.length]));
				}
				for (int i = 0; i < c.length; i++) {
					assert_int_equal(any_bits(layout, c.locks[i]), 0);
					assert_int_equal(pl_domain_pool_give(domain, pooled[i]), 0);
				}
			}
}

/* Row 27: those who wait for a lock of the circle without being in it are innocent. */
typedef struct {
	circle c;
	uint32_t innocents, through;
} crowd;

static void innocents_and_a_circle(int index, void *shared)
{
	crowd *w = shared;
	if (index < w->c.length) {
		close_the_circle(index, &w->c);
		return;
	}
	pl_thread *self = pl_self_in(domain);
	AWAIT(pl_load_acq(&w->c.ready) == (uint32_t)w->c.length);
	any_lock own = {.words = {0}};
	REQUIRE_EQUAL(any_rq_lock(0, self, &own), 0); /* holding something: they search as well */
	pl_add_ar(&w->innocents, 1);
	REQUIRE_EQUAL(any_rq_lock_wait(w->c.layout, self, w->c.locks[index % w->c.length], 0, 20000ll * ms, NULL), 0);
	pl_add_ar(&w->through, 1);
	REQUIRE_EQUAL(any_rq_unlock(w->c.layout, self, w->c.locks[index % w->c.length]), 0);
	REQUIRE_EQUAL(any_rq_unlock(0, self, &own), 0);
}

static void who_only_waits_for_a_circle_gets_its_turn(void **state)
{
	(void)state;
	for (uint64_t round = scaled(15); round; round--) {
		crowd w = {.c = {.layout = (int)(round % layouts), .length = 2 + (int)(round % 3)}};
		for (int i = 0; i < w.c.length; i++)
			w.c.locks[i] = &w.c.store[i];
		crew_run(w.c.length + 4, innocents_and_a_circle, &w);
		assert_int_equal(w.c.victims, 1);
		assert_int_equal(w.c.timeouts, 0);
		assert_int_equal(w.through, 4);
	}
}

/* A chain that ends at a thread that runs is none; long holders are waited for. */
typedef struct {
	any_lock a, b;
	uint32_t step;
} chain_game;

static void chain_without_end(int index, void *shared)
{
	chain_game *g = shared;
	pl_thread *self = pl_self_in(domain);
	if (index == 0) { /* holds a for 40 ms */
		REQUIRE_EQUAL(any_rq_lock(2, self, &g->a), 0);
		pl_store_rel(&g->step, 1);
		sleep_us(40000);
		REQUIRE_EQUAL(any_rq_unlock(2, self, &g->a), 0);
	} else if (index == 1) { /* holds b, waits for a */
		AWAIT(pl_load_acq(&g->step) == 1);
		REQUIRE_EQUAL(any_rq_lock(2, self, &g->b), 0);
		pl_store_rel(&g->step, 2);
		REQUIRE_EQUAL(any_rq_lock(2, self, &g->a), 0);
		REQUIRE_EQUAL(any_rq_unlock(2, self, &g->b), 0); /* in the order of the acquisitions */
		REQUIRE_EQUAL(any_rq_unlock(2, self, &g->a), 0);
	} else { /* holds a lock of its own, waits for b */
		any_lock own = {.words = {0}};
		AWAIT(pl_load_acq(&g->step) == 2);
		REQUIRE_EQUAL(any_rq_lock(2, self, &own), 0);
		REQUIRE_EQUAL(any_rq_lock(2, self, &g->b), 0);
		REQUIRE_EQUAL(any_rq_unlock(2, self, &own), 0);
		REQUIRE_EQUAL(any_rq_unlock(2, self, &g->b), 0);
	}
}

static void chains_that_end_are_no_deadlock(void **state)
{
	(void)state;
	for (uint64_t round = scaled(10); round; round--) {
		chain_game g = {.step = 0};
		crew_run(5, chain_without_end, &g);
	}
}

/* ---- throughput of truth: exclusion, with locks in any order and failures that are retried ---- */

typedef struct {
	int layout;
	any_lock locks[4];
	int64_t counters[4];
	uint32_t deadlocks;
} hammer;

static void hammer_two_locks(int index, void *shared)
{
	hammer *h = shared;
	pl_thread *self = pl_self_in(domain);
	uint32_t random = 9 + (uint32_t)index;
	for (uint64_t i = scaled(1500); i; i--) {
		uint32_t r = random_next(&random), a = r % 4, b = (r >> 4) % 4;
		int err = any_rq_lock_wait(h->layout, self, &h->locks[a], r & 256 ? PL_WAIT_SPIN : 0, PL_FOREVER, NULL);
		REQUIRE_EQUAL(err, 0); /* holding nothing, it cannot be in a circle */
		err = any_rq_lock_wait(h->layout, self, &h->locks[b], r & 512 ? PL_WAIT_SPIN : 0, PL_FOREVER, NULL);
		REQUIRE(err == 0 || err == -EDEADLK);
		REQUIRE(a != b || err);
		h->counters[a]++;
		if (!err) {
			h->counters[b]++;
			REQUIRE_EQUAL(any_rq_unlock(h->layout, self, &h->locks[r & 1024 ? a : b]), 0);
			REQUIRE_EQUAL(any_rq_unlock(h->layout, self, &h->locks[r & 1024 ? b : a]), 0);
		} else {
			pl_add_ar(&h->deadlocks, 1);
			REQUIRE_EQUAL(any_rq_unlock(h->layout, self, &h->locks[a]), 0);
		}
	}
}

static void two_locks_in_any_order_by_eight_threads(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		hammer h = {.layout = layout};
		crew_run(8, hammer_two_locks, &h);
		for (int i = 0; i < 4; i++)
			assert_int_equal(any_bits(layout, &h.locks[i]), 0);
		assert_true(h.deadlocks > 0);
	}
}

/* ---- the dump ---- */

static void dump_says_who_holds_and_who_waits(void **state)
{
	(void)state;
	pl_thread *self, *other;
	char text[4096] = {0};
	int pipe_ends[2];
	void *pooled;
	any_lock lock = {.words = {0}};
	pl_domain_options o = {.slots = 8, .pool_locks = 4};
	pl_domain *d;
	assert_int_equal(pl_domain_create(&o, &d), 0);
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(pl_dump(pipe_ends[1], d), 0);
	assert_true(read(pipe_ends[0], text, sizeof text - 1) > 0);
	assert_string_equal(text, "panalock: domain of 8 slots, 0 in use\nnobody holds a recorded lock or waits for one\n");
	assert_int_equal(pl_thread_register(d, 0, &self), 0);
	assert_int_equal(pl_thread_register(d, 0, &other), 0);
	assert_int_equal(pl_thread_set_name(self, "a \"name\""), 0);
	assert_int_equal(pl_domain_pool_take(d, &pooled), 0);
	assert_int_equal(any_rq_lock(0, self, pooled), 0);
	assert_int_equal(any_rq_lock(0, self, &lock), 0);
	other->nodes[0].key = pl_lock_key(d, pooled) | PL_LAYOUT_WORD;
	memset(text, 0, sizeof text);
	assert_int_equal(QUIETLY(pl_dump(pipe_ends[1], d)), 0);
	assert_true(read(pipe_ends[0], text, sizeof text - 1) > 0);
	assert_non_null(strstr(text, " \"a  name \" process "));
	assert_non_null(strstr(text, ": holds pool lock 0, lock 0x"));
	assert_non_null(strstr(text, " \"\" process "));
	assert_non_null(strstr(text, ": waits for pool lock 0\n"));
	other->nodes[0].key = 0;
	assert_int_equal(QUIETLY(pl_dump(-1, d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_dump(1, NULL)), -EINVAL);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	assert_int_equal(QUIETLY(pl_dump(pipe_ends[1], d)), -EBADF);
	assert_int_equal(pl_domain_close(d), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lock_and_unlock_keep_the_table),
		TEST(qspinlock_and_rqspinlock_exclude_each_other),
		TEST(bad_input_is_refused),
		TEST(poisoned_locks_say_so),
		TEST(broken_words_say_so),
		TEST(a_broken_queue_is_nobodys_business),
		TEST(a_reservation_that_nobody_uses_does_not_refuse_tries_for_ever),
		TEST(unlock_by_a_stranger_is_refused_and_releases_nothing),
		TEST(own_lock_is_refused_at_once),
		TEST(more_locks_than_entries_are_held_all_the_same),
		TEST(limits_hold_without_any_store),
		TEST(each_waiter_has_its_own_limit),
		TEST(interruption_ends_an_interruptible_wait),
		TEST(circles_of_any_length_lose_one_thread),
		TEST(who_only_waits_for_a_circle_gets_its_turn),
		TEST(chains_that_end_are_no_deadlock),
		TEST(two_locks_in_any_order_by_eight_threads),
		TEST(dump_says_who_holds_and_who_waits),
	};
	return cmocka_run_group_tests_name("rqspinlock", tests, make_domain, close_domain);
}
