/* SPDX-License-Identifier: Apache-2.0 */
/* The search for deadlocks where it is in doubt who holds a lock, on waits and entries written by hand. */
#include "domain.h"
#include "held.h"
#include "search.h"
#include "support.h"

enum { holder, me, doubtful, bystander, slots };

typedef struct {
	pl_domain *domain;
	pl_thread *slot[slots];
	any_lock a, b, c;
} scene;

static const int64_t short_wait = 10 * ms; /* in which a circle that we are certainly in is found */

static void fake_wait(scene *s, int who, uint32_t level, const any_lock *lock)
{
	pl_node *node = &s->slot[who]->nodes[level];
	node->key = lock ? pl_lock_key(s->domain, lock) : 0;
	node->wait++;
}

static void fake_end(scene *s, int who, uint32_t level) { fake_wait(s, who, level, NULL); }

static void lock(int layout, scene *s, int who, any_lock *which)
{
	assert_int_equal(any_rq_lock(layout, s->slot[who], which), 0);
}

static void unlock(int layout, scene *s, int who, any_lock *which)
{
	assert_int_equal(any_rq_unlock(layout, s->slot[who], which), 0);
}

static int wait_for(int layout, scene *s, int who, any_lock *which, int64_t timeout, pl_deadlock *report)
{
	return any_rq_lock_wait(layout, s->slot[who], which, 0, timeout, report);
}

static void each_layout(void (*play)(int layout, scene *s))
{
	for (int layout = 0; layout < layouts; layout++) {
		scene s = {0};
		pl_domain_options o = {.slots = 8};
		assert_int_equal(pl_domain_create(&o, &s.domain), 0);
		for (int i = 0; i < slots; i++)
			assert_int_equal(pl_thread_register(s.domain, 0, &s.slot[i]), 0);
		play(layout, &s);
		for (int i = 0; i < slots; i++) {
			assert_false(pl_held_any(s.slot[i]));
			assert_int_equal(pl_thread_release(s.slot[i]), 0);
		}
		assert_int_equal(pl_domain_close(s.domain), 0);
	}
}

/* We hold A and want B; its holder wants A, and so does a handler on top of code that is about to take B. */
static void play_certain(int layout, scene *s)
{
	pl_deadlock report;
	lock(layout, s, me, &s->a);
	lock(layout, s, holder, &s->b);
	int entry = pl_held_push(s->slot[doubtful], pl_lock_key(s->domain, &s->b));
	fake_wait(s, holder, 0, &s->a);
	fake_wait(s, doubtful, 1, &s->a);
	assert_int_equal(wait_for(layout, s, me, &s->b, PL_FOREVER, &report), -EDEADLK);
	assert_int_equal(report.length, 2);
	assert_int_equal(report.waits[0].slot, s->slot[me]->index);
	assert_true(report.waits[0].key == pl_lock_key(s->domain, &s->b));
	assert_true(report.waits[1].key == pl_lock_key(s->domain, &s->a));
	fake_end(s, holder, 0);
	fake_end(s, doubtful, 1);
	pl_held_pop(s->slot[doubtful], entry);
	unlock(layout, s, holder, &s->b);
	unlock(layout, s, me, &s->a);
}

static void who_is_in_the_circle_whoever_holds_the_lock_is_told(void **state)
{
	(void)state;
	each_layout(play_certain);
}

/* The same circle, and we are the handler on top of code that is about to take B: one in the circle should be told. */
static void play_mixed(int layout, scene *s)
{
	lock(layout, s, bystander, &s->a);
	lock(layout, s, holder, &s->b);
	lock(layout, s, me, &s->c);
	int entry = pl_held_push(s->slot[me], pl_lock_key(s->domain, &s->b));
	fake_wait(s, holder, 0, &s->a);
	fake_wait(s, bystander, 0, &s->b);
	assert_int_equal(wait_for(layout, s, me, &s->a, ms / 2, NULL), -ETIMEDOUT);
	assert_int_equal(wait_for(layout, s, me, &s->a, PL_FOREVER, NULL), -EDEADLK); /* nobody was */
	fake_end(s, holder, 0);
	fake_end(s, bystander, 0);
	pl_held_pop(s->slot[me], entry);
	unlock(layout, s, me, &s->c);
	unlock(layout, s, holder, &s->b);
	unlock(layout, s, bystander, &s->a);
}

static void who_may_be_in_the_circle_is_told_if_nobody_else_is(void **state)
{
	(void)state;
	each_layout(play_mixed);
}

/* The handler on top of code that is about to take B waits for one that runs: B may come free. */
static void play_moving(int layout, scene *s)
{
	lock(layout, s, me, &s->a);
	lock(layout, s, holder, &s->b);
	lock(layout, s, bystander, &s->c);
	int entry = pl_held_push(s->slot[doubtful], pl_lock_key(s->domain, &s->b));
	fake_wait(s, holder, 0, &s->a);
	fake_wait(s, doubtful, 1, &s->c);
	assert_int_equal(wait_for(layout, s, me, &s->b, 5 * short_wait, NULL), -ETIMEDOUT);
	fake_end(s, holder, 0);
	fake_end(s, doubtful, 1);
	pl_held_pop(s->slot[doubtful], entry);
	unlock(layout, s, bystander, &s->c);
	unlock(layout, s, holder, &s->b);
	unlock(layout, s, me, &s->a);
}

static void no_report_while_one_that_may_hold_the_lock_can_go_on(void **state)
{
	(void)state;
	each_layout(play_moving);
}

/* We wait for a circle that we are not in. */
static void play_elsewhere(int layout, scene *s)
{
	lock(layout, s, me, &s->c);
	lock(layout, s, holder, &s->a);
	lock(layout, s, bystander, &s->b);
	fake_wait(s, holder, 0, &s->b);
	fake_wait(s, bystander, 0, &s->a);
	assert_int_equal(wait_for(layout, s, me, &s->a, 5 * short_wait, NULL), -ETIMEDOUT);
	fake_end(s, holder, 0);
	fake_end(s, bystander, 0);
	unlock(layout, s, bystander, &s->b);
	unlock(layout, s, holder, &s->a);
	unlock(layout, s, me, &s->c);
}

static void who_waits_for_a_circle_of_others_is_not_told(void **state)
{
	(void)state;
	each_layout(play_elsewhere);
}

/* The other one of a circle of two has claimed it; a handler that waits on top of it keeps it from leaving. */
static void play_claim(int layout, scene *s)
{
	lock(layout, s, me, &s->a);
	lock(layout, s, holder, &s->b);
	lock(layout, s, bystander, &s->c);
	fake_wait(s, holder, 0, &s->a);
	assert_true(s->slot[holder]->index < s->slot[me]->index); /* so its node bears the claim */
	pl_node *registrar = &s->slot[holder]->nodes[0];
	uint32_t claim = pl_node_number(s->slot[holder], 0) << 16 | registrar->wait;
	registrar->locked = claim;
	assert_int_equal(wait_for(layout, s, me, &s->b, short_wait, NULL), -ETIMEDOUT);
	fake_wait(s, holder, 1, &s->c);
	assert_int_equal(wait_for(layout, s, me, &s->b, PL_FOREVER, NULL), -EDEADLK);
	fake_end(s, holder, 1);
	fake_end(s, holder, 0);
	unlock(layout, s, bystander, &s->c);
	unlock(layout, s, holder, &s->b);
	unlock(layout, s, me, &s->a);
}

static void a_claim_below_a_handler_that_waits_is_void(void **state)
{
	(void)state;
	each_layout(play_claim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_in_the_circle_whoever_holds_the_lock_is_told),
		TEST(who_may_be_in_the_circle_is_told_if_nobody_else_is),
		TEST(no_report_while_one_that_may_hold_the_lock_can_go_on),
		TEST(who_waits_for_a_circle_of_others_is_not_told),
		TEST(a_claim_below_a_handler_that_waits_is_void),
	};
	return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
