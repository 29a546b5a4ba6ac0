/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lock, several processes, some of which are stopped or killed. What must hold: a waiter that does not run any more
 * silences the wake-ups of the others for a while only. (A lock whose holder is killed stays held.)
 */
#define _GNU_SOURCE
#include "domain.h"
#include "support.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page_bytes = 8192, most_threads = 8, limit_ms = 2000 };

typedef struct {
	any_lock lock;
	int64_t counter;
	uint32_t acquired;
	uint32_t slots;                  /* how many of the child's are known */
	uint64_t slot[most_threads];     /* offsets in the domain */
} page;

typedef struct {
	int layout;
	int fd, page_fd;
	pl_domain *domain;
	page *p;
	pl_thread *self;
} scene;

static scene new_scene(int layout)
{
	scene s = {.layout = layout, .fd = shared_file(0), .page_fd = shared_file(page_bytes)};
	REQUIRE_EQUAL(pl_domain_create_fd(s.fd, NULL, &s.domain), 0);
	s.p = map_file(s.page_fd, page_bytes);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.p, page_bytes, 1), 0);
	s.self = pl_self_in(s.domain);
	return s;
}

static void end_scene(scene *s)
{
	REQUIRE_EQUAL(pl_domain_close(s->domain), 0);
	munmap(s->p, page_bytes);
	close(s->fd);
	close(s->page_fd);
}

/* ---- the child: waiters ---- */

typedef struct {
	scene *s;
	uint32_t flags;
	int64_t timeout;
} waiters;

static void wait_in_child(int index, void *shared)
{
	(void)index;
	waiters *w = shared;
	scene *s = w->s;
	pl_thread *self = pl_self_in(s->domain);
	uint32_t me = pl_add_ar(&s->p->slots, 1);
	__atomic_store_n(&s->p->slot[me], self->offset, __ATOMIC_RELEASE);
	int err = any_lock_wait(s->layout, self, &s->p->lock, w->flags, w->timeout);
	REQUIRE(err == 0 || err == -ETIMEDOUT);
	if (err)
		return;
	s->p->counter++;
	REQUIRE_EQUAL(any_unlock(s->layout, self, &s->p->lock), 0);
	pl_add_ar(&s->p->acquired, 1);
}

/* layout, fd of the domain, fd of the page, threads, flags, timeout */
static int child_waits(int argc, char **argv)
{
	(void)argc;
	scene s = {.layout = (int)number_argument(argv, 0)};
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 1), &s.domain), 0);
	s.p = map_file((int)number_argument(argv, 2), page_bytes);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.p, page_bytes, 1), 0);
	waiters w = {&s, (uint32_t)number_argument(argv, 4), number_argument(argv, 5)};
	crew_run((int)number_argument(argv, 3), wait_in_child, &w);
	REQUIRE_EQUAL(pl_domain_close(s.domain), 0);
	return 0;
}

static pl_thread *child_slot(scene *s, int i)
{
	AWAIT(__atomic_load_n(&s->p->slot[i], __ATOMIC_ACQUIRE));
	return (pl_thread *)(void *)((char *)s->domain + s->p->slot[i]);
}

/* ---- peers in this process ---- */

typedef struct {
	scene *s;
	uint64_t when; /* the last one acquired */
	uint32_t acquired;
	pl_thread *slot[most_threads];
} peers;

static void wait_as_peer(int index, void *shared)
{
	peers *p = shared;
	pl_thread *self = pl_self_in(p->s->domain);
	__atomic_store_n(&p->slot[index], self, __ATOMIC_RELEASE);
	REQUIRE_EQUAL(any_lock_wait(p->s->layout, self, &p->s->p->lock, 0, PL_FOREVER), 0);
	p->s->p->counter++;
	p->when = now_ns();
	p->acquired++;
	REQUIRE_EQUAL(any_unlock(p->s->layout, self, &p->s->p->lock), 0);
}

static crew *start_peers(peers *p, int count)
{
	crew *c = crew_start(count, wait_as_peer, p);
	for (int i = 0; i < count; i++)
		AWAIT(__atomic_load_n(&p->slot[i], __ATOMIC_ACQUIRE) && is_parked(p->slot[i]));
	return c;
}

static void put_down(int pid, int signal)
{
	REQUIRE_EQUAL(kill(pid, signal), 0);
	if (signal == SIGKILL) {
		REQUIRE_EQUAL(child_wait(pid), -SIGKILL);
	} else {
		int status;
		REQUIRE_EQUAL(waitpid(pid, &status, WUNTRACED), pid); /* all its threads have stopped */
		REQUIRE(WIFSTOPPED(status));
	}
}

static void get_up(int pid, int signal)
{
	if (signal == SIGKILL)
		return;
	REQUIRE_EQUAL(kill(pid, SIGCONT), 0);
	REQUIRE_EQUAL(child_wait(pid), 0);
}

/*
 * This process holds the lock; a child with @threads waiters comes, then @count peers of our own. When all sleep, the child
 * is put down, and the lock released. Returns the time until all peers have had it.
 */
static uint64_t silence(int layout, int signal, int threads, int count)
{
	scene s = new_scene(layout);
	peers p = {.s = &s};
	REQUIRE_EQUAL(any_lock_it(layout, s.self, &s.p->lock), 0);
	int pid = CHILD_START("waits", layout, s.fd, s.page_fd, threads, 0, PL_FOREVER);
	for (int i = 0; i < threads; i++)
		AWAIT(is_parked(child_slot(&s, i)));
	crew *c = start_peers(&p, count);
	put_down(pid, signal);
	uint64_t start = now_ns();
	REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
	crew_join(c); /* the watchdog limits it */
	uint64_t took = p.when - start;
	REQUIRE_EQUAL(p.acquired, count);
	get_up(pid, signal);
	if (signal == SIGSTOP)
		REQUIRE_EQUAL(s.p->acquired, threads);
	/* Whoever comes later has no trouble either. */
	REQUIRE_EQUAL(any_lock_wait(layout, s.self, &s.p->lock, 0, 1000ll * ms), 0);
	REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
	end_scene(&s);
	return took;
}

static void silence_is_short(int signal, int threads, int count)
{
	uint64_t longest = 0;
	for (int layout = 0; layout < layouts; layout++)
		for (int round = 0; round < 3; round++) {
			uint64_t took = silence(layout, signal, threads, count);
			longest = took > longest ? took : longest;
		}
	print_message("             longest silence %.1f ms\n", (double)longest / ms);
	assert_true(longest < (uint64_t)limit_ms * ms);
}

static void stopped_sleeper_that_is_chosen_does_not_silence_the_others(void **state)
{
	(void)state;
	silence_is_short(SIGSTOP, 1, 1);
	silence_is_short(SIGSTOP, 1, 3);
}

static void killed_sleeper_that_is_chosen_does_not_silence_the_others(void **state)
{
	(void)state;
	silence_is_short(SIGKILL, 1, 1);
	silence_is_short(SIGKILL, 1, 3);
}

static void stopped_process_with_several_sleepers_does_not_silence_the_others(void **state)
{
	(void)state;
	silence_is_short(SIGSTOP, 4, 2);
}

static void killed_process_with_several_sleepers_does_not_silence_the_others(void **state)
{
	(void)state;
	silence_is_short(SIGKILL, 4, 2);
}

/* ---- a chosen waiter that gets next to no time ---- */

/* Nice 19 and only there when nothing else runs, on one CPU. ..., the CPU; then as child_waits */
static int child_waits_starved(int argc, char **argv)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((int)number_argument(argv, 0), &one);
	const struct sched_param none = {.sched_priority = 0};
	REQUIRE(nice(19) == 19);
	REQUIRE_EQUAL(sched_setscheduler(0, SCHED_IDLE, &none), 0);
	REQUIRE_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
	return child_waits(argc - 1, argv + 1);
}

typedef struct {
	int cpu;
	uint32_t runs, stop;
} hog;

static void use_up_a_cpu(int index, void *shared)
{
	(void)index;
	hog *h = shared;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(h->cpu, &one);
	REQUIRE_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
	pl_store_rel(&h->runs, 1);
	while (!pl_load_acq(&h->stop))
		;
}

static void starved_sleeper_that_is_chosen_does_not_silence_the_others(void **state)
{
	(void)state;
	uint64_t longest = 0;
	for (int layout = 0; layout < layouts; layout++)
		for (int round = 0; round < 3; round++) {
			scene s = new_scene(layout);
			peers p = {.s = &s};
			hog h = {.cpu = sched_getcpu()};
			REQUIRE(h.cpu >= 0);
			REQUIRE_EQUAL(any_lock_it(layout, s.self, &s.p->lock), 0);
			int pid = CHILD_START("waits_starved", h.cpu, layout, s.fd, s.page_fd, 1, 0, PL_FOREVER);
			AWAIT(is_parked(child_slot(&s, 0)));
			crew *c = start_peers(&p, 2);
			crew *busy = crew_start(1, use_up_a_cpu, &h);
			AWAIT(pl_load_acq(&h.runs));
			uint64_t start = now_ns();
			REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
			crew_join(c);
			uint64_t took = p.when - start;
			longest = took > longest ? took : longest;
			REQUIRE_EQUAL(p.acquired, 2);
			pl_store_rel(&h.stop, 1);
			crew_join(busy);
			REQUIRE_EQUAL(child_wait(pid), 0);
			REQUIRE_EQUAL(s.p->acquired, 1);
			end_scene(&s);
		}
	print_message("             longest silence %.1f ms\n", (double)longest / ms);
	assert_true(longest < (uint64_t)limit_ms * ms);
}

/* Put down at a random moment, awake or asleep, standing by or not. */
static void waiter_put_down_at_any_moment(int signal)
{
	uint32_t random = 4711;
	uint64_t longest = 0;
	for (int layout = 0; layout < layouts; layout++)
		for (uint64_t round = scaled(12); round; round--) {
			scene s = new_scene(layout);
			peers p = {.s = &s};
			REQUIRE_EQUAL(any_lock_it(layout, s.self, &s.p->lock), 0);
			int pid = CHILD_START("waits", layout, s.fd, s.page_fd, 1, 0, PL_FOREVER);
			pl_thread *slot = child_slot(&s, 0);
			AWAIT(pl_load_acq(&slot->depth));
			for (volatile uint32_t spin = random_next(&random) % 100000; spin;)
				spin--;
			put_down(pid, signal);
			/* Not while it held a line's own lock: recovering that is not a waiter's business. */
			bool in_line_lock = false;
			pl_bucket *buckets = (pl_bucket *)(void *)((char *)s.domain + s.domain->buckets_offset);
			for (int i = 0; i < PL_BUCKETS; i++)
				in_line_lock = in_line_lock || pl_load_acq(&buckets[i].line.lock);
			if (in_line_lock && signal == SIGKILL)
				continue;
			if (!in_line_lock) {
				crew *c = start_peers(&p, 2);
				uint64_t start = now_ns();
				REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
				crew_join(c);
				longest = p.when - start > longest ? p.when - start : longest;
			} else {
				REQUIRE_EQUAL(kill(pid, SIGCONT), 0); /* an unlock that wakes needs the line too */
				REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
			}
			get_up(pid, signal);
			end_scene(&s);
		}
	print_message("             longest silence %.1f ms\n", (double)longest / ms);
	assert_true(longest < (uint64_t)limit_ms * ms);
}

static void waiter_stopped_at_any_moment_does_not_silence_the_others(void **state)
{
	(void)state;
	waiter_put_down_at_any_moment(SIGSTOP);
}

static void waiter_killed_at_any_moment_does_not_silence_the_others(void **state)
{
	(void)state;
	waiter_put_down_at_any_moment(SIGKILL);
}

/* ---- reservations ---- */

static void reservation_dies_with_its_owner(int signal, uint32_t flags)
{
	enum { only_tries = PL_WAIT_SPIN + 1 }; /* beside the ways to wait */
	uint64_t longest = 0;
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t mine = 0; mine <= only_tries; mine++) {
			scene s = new_scene(layout);
			REQUIRE_EQUAL(any_lock_it(layout, s.self, &s.p->lock), 0);
			int64_t timeout = flags & PL_WAIT_SPIN && mine ? PL_FOREVER : 30000ll * ms;
			int pid = CHILD_START("waits", layout, s.fd, s.page_fd, 1, flags, timeout);
			AWAIT(any_bits(layout, &s.p->lock) & PL_Q_PENDING);
			put_down(pid, signal);
			uint64_t start = now_ns();
			REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
			if (mine == only_tries)
				AWAIT(any_trylock(layout, s.self, &s.p->lock) == 0);
			else
				REQUIRE_EQUAL(any_lock_wait(layout, s.self, &s.p->lock, mine, limit_ms * (int64_t)ms), 0);
			uint64_t took = now_ns() - start;
			longest = took > longest ? took : longest;
			REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
			get_up(pid, signal);
			end_scene(&s);
		}
	print_message("             longest silence %.1f ms\n", (double)longest / ms);
}

static void stopped_spinners_reservation_is_void_after_a_while(void **state)
{
	(void)state;
	reservation_dies_with_its_owner(SIGSTOP, PL_WAIT_SPIN);
}

static void killed_spinners_reservation_is_void_after_a_while(void **state)
{
	(void)state;
	reservation_dies_with_its_owner(SIGKILL, PL_WAIT_SPIN);
}

/* ---- holders ---- */

/* layout, fd of the domain, fd of the page */
static int child_holds(int argc, char **argv)
{
	(void)argc;
	scene s = {.layout = (int)number_argument(argv, 0)};
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 1), &s.domain), 0);
	s.p = map_file((int)number_argument(argv, 2), page_bytes);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.p, page_bytes, 1), 0);
	REQUIRE_EQUAL(any_lock_it(s.layout, pl_self_in(s.domain), &s.p->lock), 0);
	pl_store_rel(&s.p->acquired, 1);
	while (pl_load_acq(&s.p->acquired))
		pause(); /* for ever */
	return 0;
}

static void lock_of_a_killed_holder_stays_held_and_waits_for_it_end(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		scene s = new_scene(layout);
		int pid = CHILD_START("holds", layout, s.fd, s.page_fd);
		AWAIT(pl_load_acq(&s.p->acquired));
		put_down(pid, SIGKILL);
		assert_int_equal(any_is_locked(layout, &s.p->lock), 1);
		assert_int_equal(any_trylock(layout, s.self, &s.p->lock), -EBUSY);
		for (uint32_t flags = 0; flags < 4; flags++)
			assert_int_equal(any_lock_wait(layout, s.self, &s.p->lock, flags, 3 * ms), -ETIMEDOUT);
		/* Its slot is to be had again. */
		pl_thread *slot;
		uint32_t got = 0;
		while (pl_thread_register(s.domain, 0, &slot) == 0)
			got++;
		assert_int_equal(got, s.domain->slots - 2);
		end_scene(&s);
	}
}

static void stopped_holder_lets_waiters_time_out_and_goes_on_later(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		scene s = new_scene(layout);
		int pid = CHILD_START("holds", layout, s.fd, s.page_fd);
		AWAIT(pl_load_acq(&s.p->acquired));
		put_down(pid, SIGSTOP);
		assert_int_equal(any_lock_wait(layout, s.self, &s.p->lock, 0, 3 * ms), -ETIMEDOUT);
		assert_int_equal(any_unlock(layout, s.self, &s.p->lock), 0); /* anybody may, without checks */
		assert_int_equal(any_lock_it(layout, s.self, &s.p->lock), 0);
		assert_int_equal(any_unlock(layout, s.self, &s.p->lock), 0);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(child_wait(pid), -SIGKILL);
		end_scene(&s);
	}
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"waits", child_waits},
		{"waits_starved", child_waits_starved},
		{"holds", child_holds},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(stopped_sleeper_that_is_chosen_does_not_silence_the_others),
		TEST(killed_sleeper_that_is_chosen_does_not_silence_the_others),
		TEST(starved_sleeper_that_is_chosen_does_not_silence_the_others),
		TEST(waiter_stopped_at_any_moment_does_not_silence_the_others),
		TEST(waiter_killed_at_any_moment_does_not_silence_the_others),
		TEST(stopped_spinners_reservation_is_void_after_a_while),
		TEST(killed_spinners_reservation_is_void_after_a_while),
		TEST(lock_of_a_killed_holder_stays_held_and_waits_for_it_end),
		TEST(stopped_holder_lets_waiters_time_out_and_goes_on_later),
		TEST(stopped_process_with_several_sleepers_does_not_silence_the_others),
		TEST(killed_process_with_several_sleepers_does_not_silence_the_others),
	};
	return cmocka_run_group_tests_name("qspinlock processes", tests, NULL, NULL);
}
