/* SPDX-License-Identifier: Apache-2.0 */
/* Signal handlers that lock, on top of a thread that waits: bug rows 7 and 9. */
#define _GNU_SOURCE
#include "domain.h"
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { handlers = 5, contexts = handlers + 1 }; /* more than PL_NESTING */

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
	for (uint32_t i = 1; i < domain->slots; i++)
		REQUIRE_EQUAL(pl_slot(domain, i)->depth, 0);
	return pl_domain_close(domain);
}

/* ---- nested handlers, one on top of the other ---- */

typedef struct {
	int layout;
	uint32_t flags;
	any_lock locks[contexts];
	any_lock *lock[contexts]; /* which one each context waits for */
	pl_thread *slot;
	pthread_t thread;
	uint32_t waiting;  /* contexts that have begun to wait */
	uint32_t acquired; /* contexts that have acquired */
	uint32_t order[contexts];
	bool inside[contexts];
} nest;

static nest *current;

static void wait_in_context(nest *n, uint32_t context)
{
	pl_add_ar(&n->waiting, 1);
	REQUIRE_EQUAL(any_lock_wait(n->layout, n->slot, n->lock[context], n->flags, PL_FOREVER), 0);
	for (int i = 0; i < contexts; i++) /* nobody else has that lock */
		REQUIRE(!n->inside[i] || n->lock[i] != n->lock[context]);
	n->inside[context] = true;
	n->order[context] = pl_add_ar(&n->acquired, 1);
	n->inside[context] = false;
	REQUIRE_EQUAL(any_unlock(n->layout, n->slot, n->lock[context]), 0);
}

static void handle_by_locking(int signal)
{
	int before = errno;
	wait_in_context(current, (uint32_t)(signal - SIGRTMIN));
	errno = before;
}

static void be_interrupted_while_waiting(int index, void *shared)
{
	(void)index;
	nest *n = shared;
	n->slot = pl_self_in(domain);
	__atomic_store_n(&n->thread, pthread_self(), __ATOMIC_RELEASE);
	wait_in_context(n, 0);
	REQUIRE_EQUAL(n->slot->depth, 0);
}

static void queue_up(int index, void *shared)
{
	(void)index;
	nest *n = shared;
	pl_thread *self = pl_self_in(domain);
	REQUIRE_EQUAL(any_lock_wait(n->layout, self, n->lock[0], n->flags, PL_FOREVER), 0);
	REQUIRE_EQUAL(any_unlock(n->layout, self, n->lock[0]), 0);
}

enum release_order { last_first, first_first };

static void nest_handlers(int layout, uint32_t flags, bool same_lock, int queued, enum release_order order)
{
	nest n = {.layout = layout, .flags = flags};
	pl_thread *self = pl_self_in(domain);
	current = &n;
	for (int i = 0; i < contexts; i++) {
		n.lock[i] = &n.locks[same_lock ? 0 : i];
		if (!same_lock || i == 0)
			assert_int_equal(any_lock_it(layout, self, n.lock[i]), 0);
	}
	crew *before = queued > 0 ? crew_start(queued, queue_up, &n) : NULL;
	if (before)
		sleep_us(300);
	crew *c = crew_start(1, be_interrupted_while_waiting, &n);
	crew *after = NULL;
	for (uint32_t i = 0; i < contexts; i++) {
		AWAIT(pl_load_acq(&n.waiting) == i + 1);
		/* It stands in the slow path by now, with a node as long as there are any. */
		uint32_t depth = i + 1 < PL_NESTING ? i + 1 : PL_NESTING;
		if (!same_lock || i == 0)
			AWAIT(pl_load_acq(&n.slot->depth) >= depth);
		sleep_us(i % 2 ? 50 : 400);
		if (i == 0 && queued > 0)
			after = crew_start(queued, queue_up, &n);
		if (i + 1 < contexts)
			assert_int_equal(pthread_kill(n.thread, SIGRTMIN + (int)i + 1), 0);
	}
	for (int i = 0; i < contexts; i++) {
		int which = order == last_first ? contexts - 1 - i : i;
		if (!same_lock || i == 0) {
			assert_int_equal(any_unlock(layout, self, n.lock[which]), 0);
			sleep_us(100);
		}
	}
	crew_join(c);
	if (before)
		crew_join(before);
	if (after)
		crew_join(after);
	for (uint32_t i = 0; i < contexts; i++) {
		assert_int_equal(n.order[i], contexts - 1 - i); /* the topmost first: the others do not run */
		assert_int_equal(any_bits(layout, n.lock[i]), 0);
	}
	assert_int_equal(n.slot->depth, 0);
}

static void install_handlers(void)
{
	for (int i = 1; i <= handlers; i++) {
		struct sigaction action = {.sa_handler = handle_by_locking, .sa_flags = SA_RESTART};
		sigaction(SIGRTMIN + i, &action, NULL);
	}
}

static void row_07_five_nested_handlers_lock_different_locks(void **state)
{
	(void)state;
	install_handlers();
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++)
			for (int order = last_first; order <= first_first; order++)
				nest_handlers(layout, flags, false, 0, order);
}

static void row_07_five_nested_handlers_lock_the_lock_that_their_thread_waits_for(void **state)
{
	(void)state;
	install_handlers();
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++)
			nest_handlers(layout, flags, true, 0, last_first);
}

static void row_07_five_nested_handlers_lock_while_others_queue(void **state)
{
	(void)state;
	install_handlers();
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++) {
			nest_handlers(layout, flags, true, 2, last_first);
			nest_handlers(layout, flags, false, 2, last_first);
		}
}

/* ---- a storm of signals over threads that contend for two locks ---- */

enum { stormed = 4 };

typedef struct {
	int layout;
	any_lock locks[2];    /* taken by threads and, with a limit, by handlers */
	any_lock handlers[2]; /* taken by handlers only: first, second signal */
	int64_t counters[4];  /* each protected by the lock of its number */
	uint64_t rounds;
	uint32_t running, handled, timed_out;
	pthread_t threads[stormed];
	pl_thread *slots[stormed];
} storm;

static storm *blowing;
static __thread int storm_index = -1;

static any_lock *storm_lock(storm *s, int n) { return n < 2 ? &s->locks[n] : &s->handlers[n - 2]; }

static void handle_storm(int signal)
{
	int before = errno;
	storm *s = blowing;
	pl_thread *self = s->slots[storm_index];
	uint32_t n = pl_add_ar(&s->handled, 1);
	int own = signal == SIGUSR1 ? 2 : 3, shared = (int)(n % 2);
	REQUIRE_EQUAL(any_lock_wait(s->layout, self, storm_lock(s, own), n & 4 ? PL_WAIT_SPIN : 0, PL_FOREVER), 0);
	s->counters[own]++;
	REQUIRE_EQUAL(any_unlock(s->layout, self, storm_lock(s, own)), 0);
	/* The interrupted thread may hold this one: a limit, then. */
	int err = any_lock_wait(s->layout, self, storm_lock(s, shared), n & 2 ? PL_WAIT_SPIN : 0, 50 * us);
	if (err == 0) {
		s->counters[shared]++;
		REQUIRE_EQUAL(any_unlock(s->layout, self, storm_lock(s, shared)), 0);
	} else {
		REQUIRE_EQUAL(err, -ETIMEDOUT);
		pl_add_ar(&s->timed_out, 1);
	}
	errno = before;
}

static void stand_in_the_storm(int index, void *shared)
{
	storm *s = shared;
	storm_index = index;
	s->slots[index] = pl_self_in(domain);
	pl_thread *self = s->slots[index];
	__atomic_store_n(&s->threads[index], pthread_self(), __ATOMIC_RELEASE);
	for (uint64_t i = 0; i < s->rounds; i++) {
		int n = (int)((i + (uint64_t)index) % 2);
		REQUIRE_EQUAL(any_lock_wait(s->layout, self, &s->locks[n], i % 3 ? PL_WAIT_SPIN : 0, PL_FOREVER), 0);
		s->counters[n]++;
		if (i % 64 == 0)
			sleep_us(130); /* the others park */
		REQUIRE_EQUAL(any_unlock(s->layout, self, &s->locks[n]), 0);
	}
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pl_sub_rel(&s->running, 1);
	AWAIT(pl_load_acq(&s->running) == 0); /* so that nobody signals a thread that has ended */
	sleep_us(1000);
}

static void row_09_storm_of_handlers_over_two_contended_locks(void **state)
{
	(void)state;
	struct sigaction first = {.sa_handler = handle_storm, .sa_flags = SA_RESTART}, second = first;
	sigaddset(&second.sa_mask, SIGUSR1); /* the second may come on top of the first, not the other way round */
	sigaction(SIGUSR1, &first, NULL);
	sigaction(SIGUSR2, &second, NULL);
	for (int layout = 0; layout < layouts; layout++) {
		storm s = {.layout = layout, .rounds = scaled(6000), .running = stormed};
		blowing = &s;
		crew *c = crew_start(stormed, stand_in_the_storm, &s);
		for (uint32_t i = 0; pl_load_acq(&s.running); i++) {
			pthread_t t = __atomic_load_n(&s.threads[i % stormed], __ATOMIC_ACQUIRE);
			if (t)
				pthread_kill(t, i & 8 ? SIGUSR1 : SIGUSR2);
			sleep_us(20);
		}
		crew_join(c);
		int64_t by_threads = stormed * (int64_t)s.rounds;
		assert_int_equal(s.counters[2] + s.counters[3], s.handled);
		assert_int_equal(s.counters[0] + s.counters[1], by_threads + s.handled - s.timed_out);
		for (int n = 0; n < 4; n++)
			assert_int_equal(any_bits(layout, storm_lock(&s, n)), 0);
		print_message("             %s: %u handlers, %u gave up\n", layout_names[layout], s.handled, s.timed_out);
		assert_true(s.handled > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_07_five_nested_handlers_lock_different_locks),
		TEST(row_07_five_nested_handlers_lock_the_lock_that_their_thread_waits_for),
		TEST(row_07_five_nested_handlers_lock_while_others_queue),
		TEST(row_09_storm_of_handlers_over_two_contended_locks),
	};
	if (UNDER_TSAN) {
		puts("Signal handlers: not under ThreadSanitizer, which holds signals back while a thread spins.");
		return 0;
	}
	return cmocka_run_group_tests_name("qspinlock signals", tests, make_domain, close_domain);
}
