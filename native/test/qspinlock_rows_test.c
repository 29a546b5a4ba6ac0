/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bugs that queued locks have had elsewhere, numbered; each has a test here that is named after the property that it
 * broke. Row 3 stands in ordering_test.c, rows 7 to 9 in qspinlock_signal_test.c and qspinlock_step_test.c.
 */
#define _GNU_SOURCE
#include "domain.h"
#include "line.h"
#include "park.h"
#include "support.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
	for (uint32_t i = 1; i < domain->slots; i++)
		REQUIRE_EQUAL(pl_slot(domain, i)->depth, 0);
	return pl_domain_close(domain);
}

static uint32_t *queue_word(int layout, any_lock *lock) { return &lock->words[layout == PL_LAYOUT_WIDE]; }

/* ---- rows 1 and 2: the node is initialised before its predecessor can see it ---- */

typedef struct {
	int layout;
	any_lock lock;
	int64_t counter;
	uint64_t rounds;
	uint32_t running, stop, ways;
	pl_thread *slots[16];
} queue_game;

static bool stands_in_queue(const pl_thread *slot) { return pl_load_rlx(&slot->depth) != 0; }

/* The lock is released only when the others stand in the queue, so that each round hands it over all along the queue. */
static void hand_over(int index, void *shared)
{
	queue_game *g = shared;
	pl_thread *self = pl_self_in(domain);
	__atomic_store_n(&g->slots[index], self, __ATOMIC_RELEASE);
	uint32_t random = 31 + (uint32_t)index;
	for (uint64_t i = g->rounds; i; i--) {
		if (random_next(&random) % 4 == 0)
			sleep_us(random % 64); /* the successor is another one than last time */
		REQUIRE_EQUAL(any_lock_wait(g->layout, self, &g->lock, PL_WAIT_SPIN, PL_FOREVER), 0);
		g->counter++;
		for (uint32_t tries = 0; tries < 2000; tries++) { /* the others may have ended, or not run */
			uint32_t queued = 0;
			for (uint32_t t = 0; t < g->running; t++) {
				pl_thread *slot = __atomic_load_n(&g->slots[t], __ATOMIC_ACQUIRE);
				queued += slot && slot != self && stands_in_queue(slot);
			}
			if (queued + 1 >= g->running)
				break;
			if (tries % 64 == 63)
				sched_yield();
		}
		REQUIRE_EQUAL(any_unlock(g->layout, self, &g->lock), 0);
	}
}

static void hand_over_along_the_queue(int threads, uint64_t rounds)
{
	for (int layout = 0; layout < layouts; layout++) {
		queue_game g = {.layout = layout, .rounds = scaled(rounds), .running = (uint32_t)threads};
		crew_run(threads, hand_over, &g);
		assert_int_equal(g.counter, (int64_t)(g.rounds * (uint64_t)threads));
		assert_int_equal(any_bits(layout, &g.lock), 0);
	}
}

static void row_01_every_hand_over_reaches_the_successor(void **state)
{
	(void)state;
	hand_over_along_the_queue(3, 1500); /* one holds, one is pending or head, one stands behind */
}

static void row_02_long_queues_are_linked_completely(void **state)
{
	(void)state;
	hand_over_along_the_queue(8, 60);
}

/* ---- rows 4 and 5: somebody changes the word all the time ---- */

static void spin_rounds(int index, void *shared)
{
	queue_game *g = shared;
	pl_thread *self = pl_self_in(domain);
	for (uint64_t i = 0; i < g->rounds; i++) {
		uint32_t flags = g->ways == 2 ? ((i + (uint64_t)index) % 2 ? PL_WAIT_SPIN : 0) : PL_WAIT_SPIN;
		REQUIRE_EQUAL(any_lock_wait(g->layout, self, &g->lock, flags, PL_FOREVER), 0);
		g->counter++;
		REQUIRE_EQUAL(any_unlock(g->layout, self, &g->lock), 0);
	}
	pl_sub_rel(&g->running, 1);
}

static void flip(queue_game *g, uint32_t bit)
{
	uint32_t *word = queue_word(g->layout, &g->lock);
	while (pl_load_acq(&g->running)) {
		for (int i = 0; i < 100; i++) {
			pl_or_ar(word, bit);
			pl_and_ar(word, ~bit);
		}
		sched_yield();
	}
}

static void flip_standby(int index, void *shared)
{
	(void)index;
	flip(shared, PL_Q_STANDBY);
}

static void flip_pending(int index, void *shared)
{
	(void)index;
	flip(shared, PL_Q_PENDING);
}

static void progress_against(crew_fn adversary, uint64_t rounds)
{
	enum { spinners = 3 };
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t ways = 1; ways <= 2; ways++) {
			queue_game g = {.layout = layout, .rounds = scaled(rounds), .running = spinners, .ways = ways};
			crew *enemy = crew_start(1, adversary, &g);
			crew_run(spinners, spin_rounds, &g);
			crew_join(enemy);
			assert_int_equal(g.counter, (int64_t)(spinners * g.rounds));
			assert_int_equal(any_bits(layout, &g.lock) & ~parked_bit(layout), 0);
		}
}

static void row_04_compare_and_swaps_that_fail_all_the_time_do_not_stop_progress(void **state)
{
	(void)state;
	progress_against(flip_standby, 2000);
}

static void row_05_pending_that_comes_back_all_the_time_does_not_hold_a_waiter(void **state)
{
	(void)state;
	progress_against(flip_pending, 2000);
}

/* ---- row 6: bytes, half-words and words of one lock ---- */

typedef struct {
	any_lock lock;
	uint32_t owner;
	int64_t counter;
	uint64_t rounds;
} mixed_game;

static void mix_sizes(int index, void *shared)
{
	mixed_game *g = shared;
	pl_thread *self = pl_self_in(domain);
	for (uint64_t i = 0; i < g->rounds; i++) {
		/* One bets on the byte's release being seen by the 32-bit compare-and-swap at once, one on the tail's swap. */
		uint32_t flags = (i + (uint64_t)index) % 3 ? PL_WAIT_SPIN : 0;
		if (index == 0)
			while (any_trylock_inline(PL_LAYOUT_BYTE, self, &g->lock) == -EBUSY)
				sched_yield();
		else
			REQUIRE_EQUAL(any_lock_wait(PL_LAYOUT_BYTE, self, &g->lock, flags, PL_FOREVER), 0);
		REQUIRE_EQUAL(pl_swap_ar(&g->owner, (uint32_t)index + 1), 0);
		REQUIRE_EQUAL(any_is_locked(PL_LAYOUT_BYTE, &g->lock), 1);
		g->counter++;
		REQUIRE_EQUAL(pl_swap_ar(&g->owner, 0), index + 1);
		REQUIRE_EQUAL(any_unlock_inline(PL_LAYOUT_BYTE, self, &g->lock), 0);
	}
}

static void row_06_mixed_access_sizes_have_one_owner(void **state)
{
	(void)state;
	mixed_game g = {.rounds = scaled(15000)};
	crew_run(4, mix_sizes, &g);
	assert_int_equal(g.counter, 4 * (int64_t)g.rounds);
	assert_int_equal(any_bits(PL_LAYOUT_BYTE, &g.lock), 0);
}

/* ---- row 10: a release and a waiter that falls asleep miss each other ---- */

typedef struct {
	int layout;
	any_lock lock;
	uint32_t flags, turn, done;
	uint64_t rounds, deadline; /* whichever comes first: a busy machine takes long for each turn */
	uint64_t longest;
} relay;

enum { relay_ms = 6000 };

/* Each takes the lock in turn; who is not next sleeps in between. With one wake-up lost, all sleep for ever. */
static void run_relay(int index, void *shared)
{
	relay *r = shared;
	pl_thread *self = pl_self_in(domain);
	for (uint64_t i = r->rounds; i && now_ns() < r->deadline; i--) {
		uint64_t start = now_ns();
		REQUIRE_EQUAL(any_lock_wait(r->layout, self, &r->lock, r->flags, PL_FOREVER), 0);
		uint64_t took = now_ns() - start;
		if (took > r->longest)
			r->longest = took;
		r->turn++;
		if ((i + (uint64_t)index) % 3 == 0)
			sleep_us(130); /* long enough for the others to park */
		REQUIRE_EQUAL(any_unlock(r->layout, self, &r->lock), 0);
		pl_add_ar(&r->done, 1);
		if (i % 16 == 0)
			sleep_us(50);
	}
}

static void row_10_no_wake_up_is_lost_with_twice_as_many_threads_as_cpus(void **state)
{
	(void)state;
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (int layout = 0; layout < layouts; layout++) {
		relay r = {.layout = layout, .rounds = scaled(1500), .deadline = now_ns() + relay_ms * (uint64_t)ms};
		watch_lock(layout, &r.lock, domain);
		crew_run(2 * cpus, run_relay, &r);
		assert_int_equal(r.turn, r.done);
		assert_int_equal(any_bits(layout, &r.lock), 0);
		print_message("             %s: longest wait %.1f ms\n", layout_names[layout], (double)r.longest / ms);
	}
}

static void row_10_a_hundred_threads_take_turns(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		relay r = {.layout = layout, .rounds = scaled(40), .deadline = now_ns() + relay_ms * (uint64_t)ms};
		watch_lock(layout, &r.lock, domain);
		crew_run(100, run_relay, &r);
		assert_int_equal(r.turn, r.done);
		assert_int_equal(any_bits(layout, &r.lock), 0);
	}
}

/* ---- row 12: nothing of the lock is touched after its release ---- */

typedef struct {
	any_lock lock;
	int references;
} object;

typedef struct {
	int layout;
	uint32_t flags;
	object *objects[64];
} lifetime;

/* The last to drop its reference frees the object right after its unlock, while the others may still be in theirs. */
static void drop_references(int index, void *shared)
{
	lifetime *l = shared;
	pl_thread *self = pl_self_in(domain);
	for (int i = 0; i < 64; i++) {
		object *o = l->objects[i];
		REQUIRE_EQUAL(any_lock_wait(l->layout, self, &o->lock, l->flags, PL_FOREVER), 0);
		bool last = --o->references == 0;
		if ((i + index) % 8 == 0)
			sleep_us(120); /* the others park */
		REQUIRE_EQUAL(any_unlock(l->layout, self, &o->lock), 0);
		if (last) {
			if (UNDER_ASAN)
				free(o);
			else
				munmap(o, 4096); /* whoever touches it now dies */
		}
	}
}

static void row_12_word_and_byte_may_be_freed_right_after_unlock(void **state)
{
	(void)state;
	enum { crew_size = 4 };
	for (int layout = PL_LAYOUT_WORD; layout <= PL_LAYOUT_BYTE; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++)
			for (uint64_t round = scaled(flags ? 6 : 40); round; round--) {
				lifetime l = {.layout = layout, .flags = flags};
				for (int i = 0; i < 64; i++) {
					l.objects[i] = UNDER_ASAN ? malloc(sizeof(object))
								  : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
					*l.objects[i] = (object){.references = crew_size};
				}
				crew_run(crew_size, drop_references, &l);
			}
}

/* ---- row 11: one place in the line for each waiter ---- */

typedef struct {
	int layout;
	any_lock *lock;
	uint32_t running;
	uint64_t rounds;
	int64_t counter;
} line_game;

static void park_in_many_ways(int index, void *shared)
{
	line_game *g = shared;
	pl_thread *self = pl_self_in(domain);
	uint32_t random = 99 + (uint32_t)index;
	for (uint64_t i = g->rounds; i; i--) {
		uint32_t r = random_next(&random);
		int err = any_lock_wait(g->layout, self, g->lock, 0, r % 4 ? PL_FOREVER : (int64_t)(r % 512) * us);
		if (err) {
			REQUIRE_EQUAL(err, -ETIMEDOUT);
			continue;
		}
		g->counter++;
		if (r % 3 == 0)
			sleep_us(r % 5 == 0 ? 800 : 130); /* watch timers, slices and hopeless standbys end meanwhile */
		REQUIRE_EQUAL(any_unlock(g->layout, self, g->lock), 0);
	}
	pl_sub_rel(&g->running, 1);
}

/* The line is what it should be: looked at with its lock held. */
static void check_line(line_game *g)
{
	uint64_t key = pl_key(domain, g->lock) | (uint64_t)g->layout;
	pl_line_guard guard;
	pl_line_lock(&guard, pl_domain_service(domain), pl_line_of(domain, key));
	uint32_t before = 0, length = 0, of_this_lock = 0;
	for (uint32_t n = guard.line->head; n; n = pl_node_at(domain, n)->next) {
		pl_node *node = pl_node_at(domain, n);
		REQUIRE(node);
		REQUIRE_EQUAL(node->prev, before);
		REQUIRE(pl_node_in_line(node));
		REQUIRE(++length < domain->slots);
		REQUIRE(!before || pl_node_at(domain, before)->arrival <= node->arrival);
		for (uint32_t m = guard.line->head; m != n; m = pl_node_at(domain, m)->next)
			REQUIRE(pl_node_slot(domain, m) != pl_node_slot(domain, n));
		of_this_lock += node->key == key;
		before = n;
	}
	REQUIRE_EQUAL(guard.line->tail, before);
	/* PARKED is set a moment after a waiter has joined, but both under the lock. */
	REQUIRE_EQUAL((any_bits(g->layout, g->lock) & parked_bit(g->layout)) != 0, of_this_lock != 0);
	pl_line_unlock(&guard);
}

static void row_11_waiter_stands_in_the_line_once(void **state)
{
	(void)state;
	enum { crew_size = 6 };
	for (int layout = 0; layout < layouts; layout++) {
		void *word;
		assert_int_equal(pl_domain_pool_take(domain, &word), 0);
		line_game g = {.layout = layout, .lock = word, .running = crew_size, .rounds = scaled(400)};
		crew *c = crew_start(crew_size, park_in_many_ways, &g);
		uint64_t looks = 0;
		while (pl_load_acq(&g.running)) {
			check_line(&g);
			looks++;
			sleep_us(30);
		}
		crew_join(c);
		check_line(&g);
		assert_int_equal(any_bits(layout, word), 0);
		assert_int_equal(pl_domain_pool_give(domain, word), 0);
		assert_true(looks > 3);
	}
}

/* ---- row 13: a thread that sleeps in its very first call is woken ---- */

typedef struct {
	pl_domain *domain;
	any_lock *lock;
	int layout;
	uint32_t arrived;
} first_call;

static void lock_first_thing(int index, void *shared)
{
	(void)index;
	first_call *f = shared;
	pl_add_ar(&f->arrived, 1);
	pl_thread *self = pl_self_in(f->domain);
	REQUIRE_EQUAL(any_lock_it(f->layout, self, f->lock), 0);
	REQUIRE_EQUAL(any_unlock(f->layout, self, f->lock), 0);
}

static void row_13_thread_that_sleeps_in_its_first_call_is_woken(void **state)
{
	(void)state;
	for (uint64_t round = scaled(60); round; round--) {
		first_call f = {.layout = (int)(round % layouts)};
		pl_domain_options o = {.slots = 5};
		void *word;
		assert_int_equal(pl_domain_create(&o, &f.domain), 0);
		assert_int_equal(pl_domain_pool_take(f.domain, &word), 0);
		f.lock = word;
		assert_int_equal(any_lock_it(f.layout, pl_self_in(f.domain), word), 0);
		crew *c = crew_start(3, lock_first_thing, &f);
		AWAIT(pl_load_acq(&f.arrived) == 3);
		sleep_us(round % 2 ? 300 : 10);
		assert_int_equal(any_unlock(f.layout, pl_self_in(f.domain), word), 0);
		crew_join(c);
		assert_int_equal(any_bits(f.layout, word), 0);
		assert_int_equal(pl_domain_close(f.domain), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(row_01_every_hand_over_reaches_the_successor),
		TEST(row_02_long_queues_are_linked_completely),
		TEST(row_04_compare_and_swaps_that_fail_all_the_time_do_not_stop_progress),
		TEST(row_05_pending_that_comes_back_all_the_time_does_not_hold_a_waiter),
		TEST(row_06_mixed_access_sizes_have_one_owner),
		TEST(row_10_no_wake_up_is_lost_with_twice_as_many_threads_as_cpus),
		TEST(row_10_a_hundred_threads_take_turns),
		TEST(row_11_waiter_stands_in_the_line_once),
		TEST(row_12_word_and_byte_may_be_freed_right_after_unlock),
		TEST(row_13_thread_that_sleeps_in_its_first_call_is_woken),
	};
	return cmocka_run_group_tests_name("qspinlock rows", tests, make_domain, close_domain);
}
