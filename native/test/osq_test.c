/* SPDX-License-Identifier: Apache-2.0 */
/* OSQ: order, leaving, and the bugs that optimistic spin queues have had elsewhere (rows 15 to 18). */
#define _GNU_SOURCE
#include "domain.h"
#include "spinners.h"
#include "support.h"

#include <sched.h>
#include <string.h>

static pl_domain *domain;
static pl_osq queue;

static int make_domain(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 200};
	return pl_domain_create(&o, &domain);
}

static int close_domain(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < domain->slots; i++)
		REQUIRE_EQUAL(pl_slot(domain, i)->depth, 0);
	return pl_domain_close(domain);
}

static pl_thread *new_slot(void)
{
	pl_thread *t = NULL;
	REQUIRE_EQUAL(pl_thread_register(domain, 0, &t), 0);
	return t;
}

static void bad_input_is_refused(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *service = pl_domain_service(domain);
	_Alignas(8) char bytes[8] = {0};
	pl_osq *crooked = (pl_osq *)(void *)(bytes + 1);
	assert_int_equal(QUIETLY(pl_osq_init(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_init(crooked)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_lock(NULL, &queue)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_lock(service, &queue)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_lock(self, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_lock(self, crooked)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_trylock(NULL, &queue)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_unlock(NULL, &queue)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_unlock(self, &queue)), -EPERM);
	assert_int_equal(QUIETLY(pl_osq_is_locked(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_osq_lock_wait(self, &queue, PL_WAIT_SPIN, 0)), -EINVAL);
	pl_osq garbage = {0xfffffff0};
	assert_int_equal(QUIETLY(pl_osq_lock(self, &garbage)), -EINVAL);
	assert_int_equal(self->depth, 0);
}

static void head_has_a_level_until_it_unlocks(void **state)
{
	(void)state;
	pl_thread *self = new_slot(), *other = new_slot();
	pl_osq queues[PL_NESTING] = {{0}}, one_more = PL_OSQ_INIT;
	assert_int_equal(pl_osq_is_locked(&queues[0]), 0);
	for (int i = 0; i < PL_NESTING; i++)
		assert_int_equal(QUIETLY(i % 2 ? pl_osq_lock(self, &queues[i]) : pl_osq_trylock(self, &queues[i])), 0);
	assert_int_equal(pl_osq_is_locked(&queues[0]), 1);
	assert_int_equal(QUIETLY(pl_osq_lock(self, &one_more)), -ENOSPC);
	assert_int_equal(QUIETLY(pl_osq_trylock(self, &one_more)), -ENOSPC);
	assert_int_equal(QUIETLY(pl_osq_trylock(other, &queues[0])), -EBUSY);
	assert_int_equal(QUIETLY(pl_osq_lock_wait(other, &queues[0], 0, 0)), -ETIMEDOUT);
	assert_int_equal(QUIETLY(pl_osq_unlock(other, &queues[0])), -EPERM);
	assert_int_equal(QUIETLY(pl_osq_unlock(self, &queues[0])), -EPERM); /* got before the others */
	assert_int_equal(QUIETLY(pl_thread_release(self)), -EBUSY);
	for (int i = PL_NESTING - 1; i >= 0; i--)
		assert_int_equal(QUIETLY(pl_osq_unlock(self, &queues[i])), 0);
	for (int i = 0; i < PL_NESTING; i++)
		assert_int_equal(queues[i].tail, 0);
	assert_int_equal(pl_thread_release(self), 0);
	assert_int_equal(pl_thread_release(other), 0);
}

/* ---- a queue of waiters that are made to stand in it one after the other ---- */

typedef struct {
	uint32_t flags, turns, stop;
	int order[8], results[8];
	int64_t timeouts[8];
	pl_thread *slots[8];
	uint32_t flag; /* for the predicate */
} row;

static int flag_is_set(void *of) { return pl_load_rlx(&((row *)of)->flag) != 0; }

static void stand(int index, void *shared)
{
	row *r = shared;
	pl_thread *self = r->slots[index];
	AWAIT(pl_load_acq(&r->turns) == (uint32_t)index);
	/* The next one is let in by whoever sees us in the queue; see stand_all(). */
	int result = pl_osq_lock_unless(self, &queue, r->flags, r->timeouts[index], index == 2 ? flag_is_set : NULL, r);
	pl_store_rel((uint32_t *)(void *)&r->results[index], (uint32_t)result); /* row 18 looks while others wait */
	if (result == 0) {
		r->order[pl_add_ar(&r->stop, 1)] = index;
		REQUIRE_EQUAL(pl_osq_unlock(self, &queue), 0);
	}
}

static void waiters_come_first_come_first_served_in_both_variants(void **state)
{
	(void)state;
	static const uint32_t variants[] = {0, PL_WAIT_POLL, PL_OSQ_RUNNING};
	for (int v = 0; v < 2; v++) {
		row r = {.flags = variants[v]};
		pl_thread *self = pl_self_in(domain);
		assert_int_equal(pl_osq_lock(self, &queue), 0);
		for (int i = 0; i < 4; i++) {
			r.slots[i] = new_slot();
			r.timeouts[i] = PL_FOREVER;
		}
		crew *c = crew_start(4, stand, &r);
		for (uint32_t i = 0; i < 4; i++) {
			AWAIT(pl_load_rlx(&queue.tail) == pl_node_number(r.slots[i], 0));
			pl_store_rel(&r.turns, i + 1);
		}
		assert_int_equal(pl_osq_unlock(self, &queue), 0);
		crew_join(c);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(r.results[i], 0);
			assert_int_equal(r.order[i], i);
			assert_int_equal(pl_thread_release(r.slots[i]), 0);
		}
		assert_int_equal(queue.tail, 0);
	}
}

/* Row 18: nobody writes to the word that the waiter watches; interruption, time and predicate end the wait all the same. */
static void row_18_reasons_are_noticed_without_a_store_to_the_watched_word(void **state)
{
	(void)state;
	static const uint32_t variants[] = {0, PL_WAIT_POLL};
	for (int v = 0; v < 2; v++) {
		row r = {.flags = variants[v] | PL_WAIT_INTERRUPTIBLE};
		pl_thread *self = pl_self_in(domain);
		assert_int_equal(pl_osq_lock(self, &queue), 0);
		for (int i = 0; i < 4; i++) {
			r.slots[i] = new_slot();
			r.timeouts[i] = i == 3 ? 2 * ms : PL_FOREVER;
		}
		crew *c = crew_start(4, stand, &r);
		for (uint32_t i = 0; i < 4; i++) {
			AWAIT(pl_load_acq(&r.slots[i]->nodes[0].kind) & 1 || pl_load_acq((uint32_t *)(void *)&r.results[i]));
			pl_store_rel(&r.turns, i + 1);
		}
		pl_store_rlx(&r.flag, 1);              /* the third */
		pl_thread_interrupt(r.slots[1]);       /* the second; the fourth runs out of time */
		AWAIT(pl_load_acq(&r.slots[1]->depth) == 0 && pl_load_acq(&r.slots[2]->depth) == 0 && pl_load_acq(&r.slots[3]->depth) == 0);
		assert_int_equal(pl_load_acq(&queue.tail), pl_node_number(r.slots[0], 0)); /* the first is the only one left, in front of nobody */
		assert_int_equal(pl_load_acq(&r.slots[0]->nodes[0].next), 0);
		assert_int_equal(pl_osq_unlock(self, &queue), 0);
		crew_join(c);
		assert_int_equal(r.results[0], 0);
		assert_int_equal(r.results[1], -EINTR);
		assert_int_equal(r.results[2], -ECANCELED);
		assert_int_equal(r.results[3], -ETIMEDOUT);
		assert_int_equal(queue.tail, 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pl_thread_release(r.slots[i]), 0);
	}
}

/* A waiter that has lost its CPU: it stands in the queue and does not look around. */
static void waiter_leaves_when_the_one_before_does_not_run(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *stopped = new_slot(), *behind = new_slot();
	assert_int_equal(pl_osq_lock(self, &queue), 0);
	pl_spinner s = {domain, &queue.tail, UINT32_MAX, 0, &stopped->nodes[0], pl_node_number(stopped, 0)};
	uint32_t before = (uint32_t)pl_spinners_join(&s);
	pl_store_rlx(&s.node->kind, 7);
	pl_store_rlx(&s.node->prev, before);
	pl_store_rel(&pl_node_at(domain, before)->next, s.number);
	assert_int_equal(QUIETLY(pl_osq_lock_wait(behind, &queue, PL_OSQ_RUNNING, PL_FOREVER)), -EAGAIN);
	assert_int_equal(queue.tail, s.number);
	assert_true(pl_spinners_leave(&s));
	/* Behind the head itself it waits on: the head need not look around. */
	assert_int_equal(QUIETLY(pl_osq_lock_wait(behind, &queue, PL_OSQ_RUNNING, 3 * PL_OSQ_IDLE_NS)), -ETIMEDOUT);
	assert_int_equal(pl_osq_unlock(self, &queue), 0);
	assert_int_equal(queue.tail, 0);
	assert_int_equal(pl_thread_release(stopped), 0);
	assert_int_equal(pl_thread_release(behind), 0);
}

/* ---- rows 15, 16, 17: many leave at once ---- */

typedef struct {
	uint32_t stop, inside;
	uint64_t got[64], left[64];
	int64_t counter;
} crowd;

static int moody(void *of) { return random_next(of) % 8 == 0; }

static void come_and_go(int index, void *shared)
{
	crowd *c = shared;
	pl_thread *self = pl_self_in(domain);
	uint32_t random = 77 + (uint32_t)index, mood = 99 + (uint32_t)index;
	REQUIRE(self);
	while (!pl_load_acq(&c->stop)) {
		uint32_t r = random_next(&random);
		bool leaver = index % 2;
		uint32_t flags = (r & 1 ? PL_WAIT_POLL : 0) | (leaver && r & 2 ? PL_OSQ_RUNNING : 0);
		int64_t timeout = leaver && r & 4 ? (int64_t)(r >> 12) % (50 * us) : PL_FOREVER;
		int err = pl_osq_lock_unless(self, &queue, flags, timeout, leaver && r & 8 ? moody : NULL, &mood);
		if (err) {
			REQUIRE(leaver && (err == -ETIMEDOUT || err == -ECANCELED || err == -EAGAIN));
			__atomic_fetch_add(&c->left[index], 1, __ATOMIC_RELAXED);
			continue;
		}
		REQUIRE_EQUAL(pl_add_ar(&c->inside, 1), 0);
		c->counter++;
		if (r % 16 == 0)
			sched_yield(); /* so that others queue up behind us */
		REQUIRE_EQUAL(pl_sub_rel(&c->inside, 1), 1);
		REQUIRE_EQUAL(pl_osq_unlock(self, &queue), 0);
		c->got[index]++;
	}
}

static void leavers(int threads, unsigned milliseconds)
{
	crowd c = {0};
	crew *all = crew_start(threads, come_and_go, &c);
	uint64_t got = 0, left = 0;
	do { /* a busy machine may need longer until anybody leaves */
		sleep_us(milliseconds * 1000);
		for (int i = 0; i < threads; i++)
			left += __atomic_load_n(&c.left[i], __ATOMIC_RELAXED);
	} while (!left);
	pl_store_rel(&c.stop, 1);
	crew_join(all);
	for (int i = 0; i < threads; i++)
		got += c.got[i];
	assert_int_equal(c.counter, (int64_t)got);
	assert_int_equal(queue.tail, 0);
}

static void row_15_queue_stays_whole_when_two_neighbours_leave(void **state)
{
	(void)state;
	leavers(4, (unsigned)scaled(300));
}

static void row_16_queue_stays_whole_when_many_leave(void **state)
{
	(void)state;
	leavers(64, (unsigned)scaled(1500));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bad_input_is_refused),
		TEST(head_has_a_level_until_it_unlocks),
		TEST(waiters_come_first_come_first_served_in_both_variants),
		TEST(row_18_reasons_are_noticed_without_a_store_to_the_watched_word),
		TEST(waiter_leaves_when_the_one_before_does_not_run),
		TEST(row_15_queue_stays_whole_when_two_neighbours_leave),
		TEST(row_16_queue_stays_whole_when_many_leave),
	};
	return cmocka_run_group_tests(tests, make_domain, close_domain);
}
