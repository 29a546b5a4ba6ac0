/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What killed processes leave behind in a shared domain does not hold the others up: slots, places in lines, a line's own
 * lock, wake-ups that they had been chosen for. Children are killed where they sleep, where they are told to stop, and
 * after so many machine instructions of a wait or a wake-up.
 */
#define _GNU_SOURCE
#include "domain.h"
#include "line.h"
#include "park.h"
#include "support.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page_bytes = 4096, slots = 16 };

/* Shared with the child. */
typedef struct {
	any_lock lock;
	pl_waitq queue;
	uint64_t slot; /* the child's, as an offset in the domain */
	uint32_t ready, go;
} page;

typedef struct {
	int fd, page_fd, layout;
	pl_domain *domain;
	page *p;
	pl_thread *self;
} scene;

static scene new_scene(int layout)
{
	scene s = {.fd = shared_file(0), .page_fd = shared_file(page_bytes), .layout = layout};
	pl_domain_options o = {.slots = slots, .pool_locks = 8};
	REQUIRE_EQUAL(pl_domain_create_fd(s.fd, &o, &s.domain), 0);
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

/* The child's side: fd of the domain, fd of the page, layout. */
static scene joined_scene(char **argv)
{
	scene s = {.layout = (int)number_argument(argv, 2)};
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 0), &s.domain), 0);
	s.p = map_file((int)number_argument(argv, 1), page_bytes);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.p, page_bytes, 1), 0);
	s.self = pl_self_in(s.domain);
	REQUIRE(s.self);
	__atomic_store_n(&s.p->slot, s.self->offset, __ATOMIC_RELEASE);
	return s;
}

static pl_thread *child_slot(scene *s)
{
	AWAIT(__atomic_load_n(&s->p->slot, __ATOMIC_ACQUIRE));
	return (pl_thread *)(void *)((char *)s->domain + s->p->slot);
}

static void kill_child(int pid)
{
	REQUIRE_EQUAL(kill(pid, SIGKILL), 0);
	REQUIRE_EQUAL(child_wait(pid), -SIGKILL);
}

/* Every slot but our own can be had. */
static void check_all_slots_are_free(scene *s)
{
	pl_thread *got[slots];
	uint32_t n = 0;
	while (pl_thread_register(s->domain, 0, &got[n]) == 0)
		n++;
	assert_int_equal(n, slots - 2);
	while (n)
		REQUIRE_EQUAL(pl_thread_release(got[--n]), 0);
}

/* ---- waiters for a lock ---- */

/* ..., offset of the lock in the domain */
static int child_waits_for_lock(int argc, char **argv)
{
	(void)argc;
	scene s = joined_scene(argv);
	any_lock_it(s.layout, s.self, (any_lock *)(void *)((char *)s.domain + number_argument(argv, 3)));
	return 1;
}

static void killed_sleepers_slot_and_pool_word_come_back(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		scene s = new_scene(layout);
		void *word;
		assert_int_equal(pl_domain_pool_take(s.domain, &word), 0);
		assert_int_equal(any_lock_it(layout, s.self, word), 0);
		int pid = CHILD_START("waits", s.fd, s.page_fd, layout, (char *)word - (char *)s.domain);
		AWAIT(is_asleep_at(layout, word, child_slot(&s)));
		kill_child(pid);
		assert_int_equal(pl_domain_pool_give(s.domain, word), -EBUSY); /* held by us */
		assert_int_equal(any_unlock(layout, s.self, word), 0);	       /* chooses the dead one: STANDBY stays */
		assert_int_equal(QUIETLY(pl_domain_pool_give(s.domain, word)), 0);
		assert_int_equal(any_bits(layout, word), PL_Q_POISON);
		check_all_slots_are_free(&s);
		end_scene(&s);
	}
}

static void killed_sleeper_is_unlinked_when_slots_run_out(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		scene s = new_scene(layout);
		void *word;
		assert_int_equal(pl_domain_pool_take(s.domain, &word), 0);
		assert_int_equal(any_lock_it(layout, s.self, word), 0);
		int pid = CHILD_START("waits", s.fd, s.page_fd, layout, (char *)word - (char *)s.domain);
		AWAIT(is_asleep_at(layout, word, child_slot(&s)));
		assert_int_equal(QUIETLY(pl_domain_recover(s.domain, 0)), 0); /* it lives */
		kill_child(pid);
		check_all_slots_are_free(&s);
		assert_int_equal(any_bits(layout, word), PL_Q_LOCKED); /* nobody waits any more */
		assert_int_equal(any_unlock(layout, s.self, word), 0);
		assert_int_equal(pl_domain_pool_give(s.domain, word), 0);
		end_scene(&s);
	}
}

static void recover_refuses_what_is_no_domain(void **state)
{
	(void)state;
	assert_int_equal(QUIETLY(pl_domain_recover(NULL, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_recover(pl_domain_default(), -1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_recover(pl_domain_default(), 0)), 0);
	pl_waitq queue = {0};
	assert_int_equal(QUIETLY(pl_waitq_recover(NULL, &queue)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_recover(pl_domain_default(), NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_recover(pl_domain_default(), &queue)), 0);
}

/* ---- a line's own lock ---- */

/* Holds the line of the page's lock, or of its queue, with its list half changed. ..., queue? */
static int child_holds_line(int argc, char **argv)
{
	(void)argc;
	scene s = joined_scene(argv);
	pl_line_guard guard;
	uint64_t key = pl_key(s.domain, &s.p->lock);
	pl_line_lock(&guard, s.self, number_argument(argv, 3) ? &s.p->queue : pl_line_of(s.domain, key));
	guard.line->head = 0x7fffffff;
	guard.line->tail = 3;
	pl_store_rel(&s.p->ready, 1);
	while (pl_load_acq(&s.p->ready))
		pause(); /* until it is killed */
	return 1;
}

typedef struct {
	scene *s;
	uint32_t through;
	uint64_t last; /* when the last one was through */
	pl_thread *slot[2];
} crowd;

static void take_and_give(int index, void *shared)
{
	crowd *c = shared;
	pl_thread *self = pl_self_in(c->s->domain);
	__atomic_store_n(&c->slot[index], self, __ATOMIC_RELEASE);
	REQUIRE_EQUAL(any_lock_it(c->s->layout, self, &c->s->p->lock), 0);
	c->last = now_ns();
	pl_add_ar(&c->through, 1);
	REQUIRE_EQUAL(any_unlock(c->s->layout, self, &c->s->p->lock), 0);
}

static crew *start_sleepers(crowd *c)
{
	crew *people = crew_start(2, take_and_give, c);
	for (int i = 0; i < 2; i++)
		AWAIT(__atomic_load_n(&c->slot[i], __ATOMIC_ACQUIRE) && is_parked(c->slot[i]));
	return people;
}

static void line_of_a_killed_holder_is_made_anew(void **state)
{
	(void)state;
	uint64_t longest = 0;
	for (int layout = 0; layout < layouts; layout++)
		for (uint64_t round = scaled(5); round; round--) {
			scene s = new_scene(layout);
			crowd c = {.s = &s};
			assert_int_equal(any_lock_it(layout, s.self, &s.p->lock), 0);
			crew *people = start_sleepers(&c);
			int pid = CHILD_START("holds", s.fd, s.page_fd, layout, 0);
			AWAIT(pl_load_acq(&s.p->ready));
			kill_child(pid);
			uint64_t start = now_ns();
			assert_int_equal(any_unlock(layout, s.self, &s.p->lock), 0);
			crew_join(people);
			longest = c.last - start > longest ? c.last - start : longest;
			assert_int_equal(c.through, 2);
			assert_int_equal(any_bits(layout, &s.p->lock), 0);
			check_all_slots_are_free(&s);
			end_scene(&s);
		}
	print_message("             going on after at most %.1f ms\n", (double)longest / ms);
}

/* ---- wait queues ---- */

typedef struct {
	scene *s;
	uint32_t tickets, woken;
	pl_thread *slot[2];
} gate;

static bool take_ticket(gate *g)
{
	uint32_t seen = pl_load_rlx(&g->tickets);
	return seen && pl_cas_ar(&g->tickets, seen, seen - 1);
}

static void wait_for_a_ticket(int index, void *shared)
{
	gate *g = shared;
	pl_thread *self = pl_self_in(g->s->domain);
	__atomic_store_n(&g->slot[index], self, __ATOMIC_RELEASE);
	int place = pl_waitq_enter(self, &g->s->p->queue, PL_WAITQ_EXCLUSIVE), err = 0;
	REQUIRE(place >= 0);
	while (!take_ticket(g)) {
		err = pl_waitq_sleep(self, &g->s->p->queue, place, PL_FOREVER, 0);
		REQUIRE_EQUAL(err, 0);
	}
	REQUIRE_EQUAL(pl_waitq_leave(self, &g->s->p->queue, place, 1), 0);
	pl_add_ar(&g->woken, 1);
}

static crew *start_ticket_holders(gate *g)
{
	crew *people = crew_start(2, wait_for_a_ticket, g);
	for (int i = 0; i < 2; i++)
		AWAIT(__atomic_load_n(&g->slot[i], __ATOMIC_ACQUIRE) && is_parked(g->slot[i]));
	return people;
}

static void queue_of_a_killed_holder_is_emptied_and_joined_again(void **state)
{
	(void)state;
	scene s = new_scene(0);
	gate g = {.s = &s};
	crew *people = start_ticket_holders(&g);
	int pid = CHILD_START("holds", s.fd, s.page_fd, 0, 1);
	AWAIT(pl_load_acq(&s.p->ready));
	kill_child(pid);
	assert_int_equal(pl_waitq_wake(s.self, &s.p->queue, 0), 0); /* nobody but exclusive ones; they join again */
	for (int i = 0; i < 2; i++)
		AWAIT(is_parked(g.slot[i]));
	assert_int_equal(g.woken, 0);
	for (uint32_t i = 1; i <= 2; i++) {
		pl_add_ar(&g.tickets, 1);
		pl_waitq_wake(s.self, &s.p->queue, 1);
		AWAIT(pl_load_acq(&g.woken) == i);
	}
	crew_join(people);
	assert_int_equal(s.p->queue.lock | s.p->queue.head | s.p->queue.tail, 0);
	check_all_slots_are_free(&s);
	end_scene(&s);
}

static int child_waits_at_queue(int argc, char **argv)
{
	(void)argc;
	scene s = joined_scene(argv);
	int place = pl_waitq_enter(s.self, &s.p->queue, PL_WAITQ_EXCLUSIVE);
	REQUIRE(place >= 0);
	pl_store_rel(&s.p->ready, 1);
	pl_waitq_sleep(s.self, &s.p->queue, place, PL_FOREVER, 0);
	return 1;
}

/* @stopped: the waiter is chosen while it is stopped, and killed afterwards; else it is killed in the line. */
static void wake_up_reaches_the_next(bool stopped)
{
	uint64_t longest = 0;
	for (uint64_t round = scaled(3); round; round--) {
		scene s = new_scene(0);
		gate g = {.s = &s};
		int pid = CHILD_START("queues", s.fd, s.page_fd, 0);
		AWAIT(pl_load_acq(&s.p->ready) && is_parked(child_slot(&s)));
		crew *people = start_ticket_holders(&g); /* behind it */
		if (stopped) {
			int status;
			REQUIRE_EQUAL(kill(pid, SIGSTOP), 0);
			REQUIRE_EQUAL(waitpid(pid, &status, WUNTRACED), pid);
		} else {
			kill_child(pid);
		}
		uint64_t start = now_ns();
		pl_add_ar(&g.tickets, 2);
		assert_int_equal(pl_waitq_wake(s.self, &s.p->queue, 1), 1);
		assert_int_equal(pl_waitq_wake(s.self, &s.p->queue, 1), 1);
		AWAIT(pl_load_acq(&g.woken));
		if (stopped)
			kill_child(pid);
		crew_join(people);
		longest = now_ns() - start > longest ? now_ns() - start : longest;
		assert_int_equal(s.p->queue.lock | s.p->queue.head | s.p->queue.tail, 0);
		check_all_slots_are_free(&s);
		end_scene(&s);
	}
	print_message("             going on after at most %.1f ms\n", (double)longest / ms);
}

static void wake_up_of_a_waiter_killed_in_line_reaches_the_next(void **state)
{
	(void)state;
	wake_up_reaches_the_next(false);
}

static void wake_up_of_a_waiter_killed_when_chosen_reaches_the_next(void **state)
{
	(void)state;
	wake_up_reaches_the_next(true);
}

/* ---- killed after so many instructions ---- */

enum { UNLOCKS, WAITS, WAKES };

/* Stops itself before and after what it does. ..., what */
static int child_steps(int argc, char **argv)
{
	(void)argc;
	scene s = joined_scene(argv);
	int what = (int)number_argument(argv, 3);
	if (what == UNLOCKS)
		REQUIRE_EQUAL(any_lock_it(s.layout, s.self, &s.p->lock), 0);
	pl_store_rel(&s.p->ready, 1);
	while (!pl_load_acq(&s.p->go))
		sleep_us(100);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL); /* an emulator has none of that */
	raise(SIGSTOP);
	if (what == UNLOCKS)
		any_unlock(s.layout, s.self, &s.p->lock);
	else if (what == WAITS)
		any_lock_wait(s.layout, s.self, &s.p->lock, 0, 2 * ms);
	else
		pl_waitq_wake(s.self, &s.p->queue, 1);
	raise(SIGSTOP);
	while (pl_load_acq(&s.p->ready))
		pause(); /* until it is killed */
	return 1;
}

static void await_stop(int pid)
{
	int status;
	REQUIRE_EQUAL(waitpid(pid, &status, WUNTRACED), pid);
	REQUIRE(WIFSTOPPED(status));
}

/* Lets the stopped child run for @steps instructions, where that can be done (else for about so long), and kills it. True
 * if it had come to its second stop before. */
static bool kill_after(int pid, uint64_t steps)
{
	bool done = false;
	int status;
	uint64_t taken = 0;
	while (taken < steps && !done && ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0) {
		REQUIRE_EQUAL(waitpid(pid, &status, 0), pid);
		REQUIRE(WIFSTOPPED(status));
		done = WSTOPSIG(status) == SIGSTOP;
		taken++;
	}
	if (!taken && steps) { /* not traced */
		REQUIRE_EQUAL(kill(pid, SIGCONT), 0);
		for (volatile uint64_t spin = steps * 20; spin;)
			spin--;
		done = steps > 4000;
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) == pid && !WIFSIGNALED(status))
		;
	return done;
}

/* True if the child had done it all. */
static bool killed_unlocking(int layout, uint64_t steps)
{
	scene s = new_scene(layout);
	crowd c = {.s = &s};
	int pid = CHILD_START("steps", s.fd, s.page_fd, layout, UNLOCKS);
	AWAIT(pl_load_acq(&s.p->ready));
	crew *people = start_sleepers(&c);
	pl_store_rel(&s.p->go, 1);
	await_stop(pid);
	bool done = kill_after(pid, steps);
	/* Whatever it has released is taken on; what it has not is released for it. */
	for (int i = 0; i < 40 && any_is_locked(layout, &s.p->lock) && !pl_load_acq(&c.through); i++)
		sleep_us(500);
	if (!pl_load_acq(&c.through) && any_is_locked(layout, &s.p->lock))
		REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
	crew_join(people);
	REQUIRE_EQUAL(c.through, 2);
	check_all_slots_are_free(&s);
	end_scene(&s);
	return done;
}

static bool killed_waiting(int layout, uint64_t steps)
{
	scene s = new_scene(layout);
	crowd c = {.s = &s};
	REQUIRE_EQUAL(any_lock_it(layout, s.self, &s.p->lock), 0);
	int pid = CHILD_START("steps", s.fd, s.page_fd, layout, WAITS);
	AWAIT(pl_load_acq(&s.p->ready));
	pl_store_rel(&s.p->go, 1);
	await_stop(pid);
	bool done = kill_after(pid, steps);
	crew *people = start_sleepers(&c);
	REQUIRE_EQUAL(any_unlock(layout, s.self, &s.p->lock), 0);
	crew_join(people);
	REQUIRE_EQUAL(c.through, 2);
	check_all_slots_are_free(&s);
	end_scene(&s);
	return done;
}

static bool killed_waking(int layout, uint64_t steps)
{
	(void)layout;
	scene s = new_scene(0);
	gate g = {.s = &s};
	int pid = CHILD_START("steps", s.fd, s.page_fd, 0, WAKES);
	AWAIT(pl_load_acq(&s.p->ready));
	crew *people = start_ticket_holders(&g);
	pl_add_ar(&g.tickets, 2);
	pl_store_rel(&s.p->go, 1);
	await_stop(pid);
	bool done = kill_after(pid, steps);
	REQUIRE(pl_waitq_wake(s.self, &s.p->queue, 2) >= 0);
	crew_join(people);
	REQUIRE_EQUAL(g.woken, 2);
	check_all_slots_are_free(&s);
	end_scene(&s);
	return done;
}

static void killed_at_every_step(bool (*scene_of)(int, uint64_t))
{
	for (int layout = 0; layout < layouts; layout++) {
		/* Each run of the test at other steps. */
		uint64_t random = now_ns() / 1000, points = 0;
		uint64_t stride = 1 + 32 / scaled(4);
		for (uint64_t steps = random % stride; points < scaled(100); steps += 1 + random % (2 * stride), points++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			if (scene_of(layout, steps))
				break;
		}
		print_message("             %s: killed at %llu steps\n", layout_names[layout], (unsigned long long)points);
	}
}

static void killed_at_any_step_of_an_unlock(void **state)
{
	(void)state;
	killed_at_every_step(killed_unlocking);
}

static void killed_at_any_step_of_a_wait(void **state)
{
	(void)state;
	killed_at_every_step(killed_waiting);
}

static void killed_at_any_step_of_a_wake_up(void **state)
{
	(void)state;
	killed_at_every_step(killed_waking);
}

/* ---- processes that cannot be told apart ---- */

static void domain_of_another_pid_namespace_is_refused(void **state)
{
	(void)state;
	scene s = new_scene(0);
	uint64_t mine = s.domain->pid_namespace;
	if (mine) {
		pl_domain *again = NULL;
		s.domain->pid_namespace = mine + 1; /* as if made there */
		assert_int_equal(QUIETLY(pl_domain_open_fd(s.fd, &again)), -EXDEV);
		assert_null(again);
		s.domain->pid_namespace = 0; /* its maker could not tell */
		assert_int_equal(pl_domain_open_fd(s.fd, &again), 0);
		assert_int_equal(pl_domain_close(again), 0);
		s.domain->pid_namespace = mine;
		assert_int_equal(pl_domain_open_fd(s.fd, &again), 0);
		assert_int_equal(pl_domain_close(again), 0);
	}
	end_scene(&s);
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"waits", child_waits_for_lock},
		{"holds", child_holds_line},
		{"queues", child_waits_at_queue},
		{"steps", child_steps},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(killed_sleepers_slot_and_pool_word_come_back),
		TEST(killed_sleeper_is_unlinked_when_slots_run_out),
		TEST(recover_refuses_what_is_no_domain),
		TEST(line_of_a_killed_holder_is_made_anew),
		TEST(queue_of_a_killed_holder_is_emptied_and_joined_again),
		TEST(wake_up_of_a_waiter_killed_in_line_reaches_the_next),
		TEST(wake_up_of_a_waiter_killed_when_chosen_reaches_the_next),
		TEST(killed_at_any_step_of_an_unlock),
		TEST(killed_at_any_step_of_a_wait),
		TEST(killed_at_any_step_of_a_wake_up),
		TEST(domain_of_another_pid_namespace_is_refused),
	};
	return cmocka_run_group_tests_name("what killed processes leave behind", tests, NULL, NULL);
}
