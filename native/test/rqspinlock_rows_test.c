/* SPDX-License-Identifier: Apache-2.0 */
/* rqspinlock under signal handlers: bug rows 21, 23 to 26, 28, 30, the kernel's stress modes; and a process that dies as owner. */
#define _GNU_SOURCE
#include "domain.h"
#include "held.h"
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static pl_domain *domain;

static int make_domain(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 64};
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

/* ---- locks, and threads whose handlers want them too ---- */

enum { most_workers = 8 };

typedef struct {
	int layout, locks;
	any_lock lock[3];
	int64_t visits[3]; /* written by whoever holds that lock */
	uint32_t ready, over;
	pthread_t threads[most_workers];
	uint32_t handled, handler_refused, acquired, refused;
} arena;

static arena *current;
static __thread pl_thread *worker; /* null: its handler does nothing */
static __thread uint32_t handler_random;

/* An acquisition, without a limit: what the search does not find, hangs. 0 or -EDEADLK. */
static int enter(arena *a, int which, uint32_t flags)
{
	int err = any_rq_lock_wait(a->layout, worker, &a->lock[which], flags, PL_FOREVER, NULL);
	if (err)
		REQUIRE_EQUAL(err, -EDEADLK);
	else
		a->visits[which]++;
	return err;
}

static void leave(arena *a, int which) { REQUIRE_EQUAL(any_rq_unlock(a->layout, worker, &a->lock[which]), 0); }

static void handle(int signal)
{
	(void)signal;
	int before = errno;
	arena *a = current;
	if (worker && !pl_load_acq(&a->over)) {
		uint32_t r = random_next(&handler_random);
		int which = (int)(r % (uint32_t)a->locks), err = enter(a, which, r & 64 ? PL_WAIT_SPIN : 0);
		if (!err)
			leave(a, which);
		pl_add_ar(err ? &a->handler_refused : &a->handled, 1);
	}
	errno = before;
}

static void install_handler(arena *a)
{
	current = a;
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
}

static void become_worker(arena *a, int index)
{
	handler_random = 7 + (uint32_t)index;
	worker = pl_self_in(domain);
	REQUIRE(worker);
	a->threads[index] = pthread_self();
	pl_add_ar(&a->ready, 1);
}

static void assert_free(const arena *a)
{
	for (int i = 0; i < a->locks; i++)
		assert_int_equal(any_bits(a->layout, &a->lock[i]), 0);
}

/* ---- the kernel's stress modes ---- */

typedef struct {
	arena a;
	int workers;
	uint32_t finished;
} stress;

/* Lock i of a ring of locks, then the next one: AA, ABBA, ABBCCA. */
static void take_two(arena *a, int index)
{
	int first = index % a->locks, second = (index + 1) % a->locks;
	for (uint64_t i = scaled(400); i; i--) {
		if (enter(a, first, 0)) {
			pl_add_ar(&a->refused, 1);
			continue;
		}
		if (i % 8 == 0)
			sleep_us(20);
		int err = enter(a, second, i & 1 ? PL_WAIT_SPIN : 0);
		REQUIRE(err || a->locks > 1);
		pl_add_ar(err ? &a->refused : &a->acquired, 1);
		bool in_order = i & 2;
		if (!err)
			leave(a, in_order ? first : second);
		leave(a, !err && in_order ? second : first);
	}
}

static void stress_with_handlers(int index, void *shared)
{
	stress *s = shared;
	arena *a = &s->a;
	uint32_t workers = (uint32_t)s->workers;
	if (index < s->workers) {
		become_worker(a, index);
		AWAIT(pl_load_acq(&a->ready) == workers);
		take_two(a, index);
		pl_add_ar(&s->finished, 1);
		AWAIT(pl_load_acq(&a->over)); /* it stays, to be signalled */
		return;
	}
	AWAIT(pl_load_acq(&a->ready) == workers);
	for (uint32_t n = 0; pl_load_acq(&s->finished) < workers || n < 4 * workers; n++) {
		REQUIRE_EQUAL(pthread_kill(a->threads[n % workers], SIGUSR1), 0);
		sleep_us(100);
	}
	pl_store_rel(&a->over, 1);
}

static void stress_mode(int locks, int workers)
{
	for (int layout = 0; layout < layouts; layout++) {
		stress s = {.a = {.layout = layout, .locks = locks}, .workers = workers};
		install_handler(&s.a);
		crew_run(workers + 1, stress_with_handlers, &s);
		assert_free(&s.a);
		assert_true(locks > 1 ? s.a.acquired > 0 : s.a.refused > 0);
		assert_true(s.a.handled > 0);
	}
}

static void stress_aa_with_handlers(void **state)
{
	(void)state;
	stress_mode(1, 3);
}

static void stress_abba_with_handlers(void **state)
{
	(void)state;
	stress_mode(2, 4);
}

static void stress_abbcca_with_handlers(void **state)
{
	(void)state;
	stress_mode(3, 5);
}

/* Handlers get a contended lock by waiting for it, as anybody does; the table is empty at the end (close_domain). */
static void row_24_a_flood_of_handlers_on_a_contended_lock_gets_through(void **state)
{
	(void)state;
	stress_mode(2, most_workers);
}

/* ---- one situation each ---- */

/* The windows: the entry is there, and the lock not taken yet or released already. A handler there never waits for it. */
static void row_21_a_handler_in_the_windows_of_an_entry_does_not_wait(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *other;
	assert_int_equal(pl_thread_register(domain, 0, &other), 0);
	for (int layout = 0; layout < layouts; layout++) {
		any_lock lock = {.words = {0}};
		uint64_t key = pl_lock_key(domain, &lock);
		int entry = pl_held_push(self, key);
		assert_int_equal(any_rq_lock_wait(layout, self, &lock, 0, PL_FOREVER, NULL), 0); /* free: it may have it */
		assert_int_equal(any_rq_unlock(layout, self, &lock), 0);
		assert_true(pl_held_other(self, key, PL_HELD_NONE)); /* the interrupted code's entry stays */
		assert_int_equal(any_rq_lock(layout, other, &lock), 0);
		assert_int_equal(any_rq_lock_wait(layout, self, &lock, 0, PL_FOREVER, NULL), -EDEADLK);
		assert_int_equal(any_rq_unlock(layout, other, &lock), 0);
		pl_held_pop(self, entry);
		assert_false(pl_held_any(self));
	}
	assert_int_equal(pl_thread_release(other), 0);
}

typedef struct {
	arena a;
	uint32_t step;
} scene;

static void wait_below_a_handler(int index, void *shared)
{
	scene *s = shared;
	become_worker(&s->a, index);
	REQUIRE_EQUAL(enter(&s->a, 0, 0), 0);
	leave(&s->a, 0);
	AWAIT(pl_load_acq(&s->step));
}

static void row_23_handlers_lock_on_top_of_waiters(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	for (int layout = 0; layout < layouts; layout++)
		for (int locks = 1; locks <= 2; locks++) { /* the lock that their own thread waits for, or another too */
			scene s = {.a = {.layout = layout, .locks = locks}};
			install_handler(&s.a);
			for (int i = 0; i < locks; i++)
				assert_int_equal(any_rq_lock(layout, self, &s.a.lock[i]), 0);
			crew *c = crew_start(3, wait_below_a_handler, &s);
			AWAIT(pl_load_acq(&s.a.ready) == 3);
			for (int n = 0; n < 9; n++) {
				sleep_us(300);
				assert_int_equal(pthread_kill(s.a.threads[n % 3], SIGUSR1), 0);
			}
			for (int i = locks; i-- > 0; sleep_us(300))
				assert_int_equal(any_rq_unlock(layout, self, &s.a.lock[i]), 0);
			pl_store_rel(&s.step, 1);
			crew_join(c);
			assert_free(&s.a);
		}
}

static void hold_and_be_interrupted(int index, void *shared)
{
	scene *s = shared;
	arena *a = &s->a;
	if (index) { /* waiters in front of the handler */
		worker = pl_self_in(domain);
		AWAIT(pl_load_acq(&s->step));
		REQUIRE_EQUAL(any_rq_lock_wait(a->layout, worker, &a->lock[0], 0, PL_FOREVER, NULL), 0);
		leave(a, 0);
		return;
	}
	become_worker(a, index);
	REQUIRE_EQUAL(enter(a, 0, 0), 0);
	pl_store_rel(&s->step, 1);
	AWAIT(any_bits(a->layout, &a->lock[0]) != PL_Q_LOCKED);
	REQUIRE_EQUAL(raise(SIGUSR1), 0);
	uint64_t keys[PL_HELD];
	REQUIRE_EQUAL(pl_thread_held(worker, keys), 1); /* row 26: no entry is left of a refusal */
	leave(a, 0);
}

static void rows_25_26_an_owners_handler_is_refused_while_others_wait(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		scene s = {.a = {.layout = layout, .locks = 1}};
		install_handler(&s.a);
		crew_run(3, hold_and_be_interrupted, &s);
		assert_int_equal(s.a.handler_refused, 1);
		assert_int_equal(s.a.handled, 0);
		assert_free(&s.a);
	}
}

static void close_ring(int index, void *shared)
{
	scene *s = shared;
	arena *a = &s->a;
	worker = pl_self_in(domain);
	int next = (index + 1) % a->locks;
	REQUIRE_EQUAL(enter(a, index, 0), 0);
	pl_add_ar(&s->step, 1);
	AWAIT(pl_load_acq(&s->step) == (uint32_t)a->locks);
	int err = enter(a, next, 0);
	pl_add_ar(err ? &a->refused : &a->acquired, 1);
	if (!err)
		leave(a, next);
	leave(a, index);
}

static void rings_of(int length)
{
	for (uint64_t round = scaled(60); round; round--) {
		scene s = {.a = {.layout = (int)(round % layouts), .locks = length}};
		crew_run(length, close_ring, &s);
		assert_int_equal(s.a.refused, 1);
		assert_int_equal(s.a.acquired, length - 1);
		assert_free(&s.a);
	}
}

static void row_28_the_only_waiter_of_a_deadlock_leaves(void **state)
{
	(void)state;
	rings_of(2);
}

static void row_30_in_abbcca_one_is_refused_and_none_times_out(void **state)
{
	(void)state;
	rings_of(3);
}

/* ---- an owner that dies ---- */

typedef struct {
	pl_domain *domain; /* mapped, shared with the child */
	any_lock *lock;
	int layout;
} heritage;

static int die_as_owner(void *argument)
{
	heritage *h = argument;
	pl_thread *self;
	REQUIRE_EQUAL(pl_thread_register(h->domain, 0, &self), 0);
	REQUIRE_EQUAL(any_rq_lock(h->layout, self, h->lock), 0);
	REQUIRE_EQUAL(kill(getpid(), SIGKILL), 0);
	return 0;
}

/* What it protected may be half done: it stays locked. Waiters get their limit; the dead one's slot and record come back. */
static void lock_of_a_killed_owner_times_out_and_its_record_is_recovered(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		heritage h = {.layout = layout};
		void *word;
		pl_thread *self;
		int fd = shared_file(4096);
		pl_domain_options o = {.slots = 8, .pool_locks = 4};
		assert_int_equal(pl_domain_create_fd(fd, &o, &h.domain), 0);
		assert_int_equal(pl_domain_pool_take(h.domain, &word), 0);
		h.lock = word;
		assert_int_equal(forked(die_as_owner, &h), -SIGKILL);
		assert_int_equal(pl_thread_register(h.domain, 0, &self), 0);
		assert_int_equal(any_rq_lock_wait(layout, self, h.lock, 0, 20 * ms, NULL), -ETIMEDOUT);
		assert_int_equal(any_rq_trylock(layout, self, h.lock), -EBUSY);
		assert_int_equal(any_rq_unlock(layout, self, h.lock), -EPERM);
		pl_domain_recover(h.domain, 0);
		assert_null(pl_domain_holder(h.domain, h.lock));
		assert_int_equal(any_rq_lock_wait(layout, self, h.lock, 0, ms, NULL), -ETIMEDOUT);
		assert_int_equal(any_bits(layout, h.lock), PL_Q_LOCKED);
		assert_int_equal(pl_thread_release(self), 0);
		assert_int_equal(pl_domain_close(h.domain), 0);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_21_a_handler_in_the_windows_of_an_entry_does_not_wait),
		TEST(row_23_handlers_lock_on_top_of_waiters),
		TEST(row_24_a_flood_of_handlers_on_a_contended_lock_gets_through),
		TEST(rows_25_26_an_owners_handler_is_refused_while_others_wait),
		TEST(row_28_the_only_waiter_of_a_deadlock_leaves),
		TEST(row_30_in_abbcca_one_is_refused_and_none_times_out),
		TEST(stress_aa_with_handlers),
		TEST(stress_abba_with_handlers),
		TEST(stress_abbcca_with_handlers),
		TEST(lock_of_a_killed_owner_times_out_and_its_record_is_recovered),
	};
	return cmocka_run_group_tests_name("rqspinlock rows", tests, make_domain, close_domain);
}
