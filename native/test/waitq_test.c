/* SPDX-License-Identifier: Apache-2.0 */
#include "domain.h"
#include "support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pl_domain *new_domain(uint32_t slots)
{
	pl_domain_options o = {.slots = slots, .pool_locks = 1};
	pl_domain *d = NULL;
	REQUIRE_EQUAL(pl_domain_create(&o, &d), 0);
	return d;
}

/* Slots that one thread uses for many waiters that do not sleep. */
static void register_slots(pl_domain *d, pl_thread **slots, int count)
{
	for (int i = 0; i < count; i++)
		REQUIRE_EQUAL(pl_thread_register(d, 0, &slots[i]), 0);
}

static bool is_chosen(const pl_thread *slot) { return pl_load_acq(&slot->nodes[0].state) == PL_NODE_CHOSEN; }
static bool is_in_line(const pl_thread *slot) { return pl_load_acq(&slot->nodes[0].state) == PL_NODE_SLEEPING; }

/* ---- order and numbers, without sleeping ---- */

enum { some = 5 };

static void exclusive_waiters_are_chosen_first_come_first_served(void **state)
{
	(void)state;
	pl_domain *d = new_domain(some + 1);
	pl_thread *slots[some];
	pl_waitq queue;
	register_slots(d, slots, some);
	assert_int_equal(pl_waitq_init(&queue), 0);
	for (int i = 0; i < some; i++)
		assert_int_equal(QUIETLY(pl_waitq_enter(slots[i], &queue, PL_WAITQ_EXCLUSIVE)), 0);
	for (int i = 0; i < some; i++) {
		for (int j = 0; j < some; j++)
			assert_int_equal(is_chosen(slots[j]), j < i);
		assert_int_equal(QUIETLY(pl_waitq_wake(pl_domain_service(d), &queue, 1)), 1);
	}
	assert_int_equal(QUIETLY(pl_waitq_wake(pl_domain_service(d), &queue, 1)), 0);
	for (int i = 0; i < some; i++) {
		assert_int_equal(QUIETLY(pl_waitq_sleep(slots[i], &queue, 0, PL_FOREVER, 0)), 0);
		assert_int_equal(QUIETLY(pl_waitq_leave(slots[i], &queue, 0, 1)), 0);
		assert_int_equal(slots[i]->depth, 0);
	}
	assert_int_equal(queue.lock | queue.head | queue.tail, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void wake_chooses_all_non_exclusive_and_as_many_exclusive_as_it_says(void **state)
{
	(void)state;
	enum { waiters = 8 };
	static const int exclusive[] = {0, 1, 2, 3, 4, 5, PL_WAITQ_ALL};
	for (size_t e = 0; e < sizeof exclusive / sizeof *exclusive; e++) {
		pl_domain *d = new_domain(waiters + 1);
		pl_thread *slots[waiters];
		pl_waitq queue;
		register_slots(d, slots, waiters);
		assert_int_equal(pl_waitq_init(&queue), 0);
		for (int i = 0; i < waiters; i++) /* every other one is exclusive */
			assert_int_equal(pl_waitq_enter(slots[i], &queue, i % 2 ? PL_WAITQ_EXCLUSIVE : 0), 0);
		int few = exclusive[e] < waiters / 2 ? exclusive[e] : waiters / 2;
		assert_int_equal(pl_waitq_wake(slots[0], &queue, exclusive[e]), waiters / 2 + few);
		for (int i = 0; i < waiters; i++)
			assert_int_equal(is_chosen(slots[i]), i % 2 == 0 || i / 2 < few);
		for (int i = 0; i < waiters; i++)
			assert_int_equal(pl_waitq_leave(slots[i], &queue, 0, 1), 0);
		assert_int_equal(queue.head | queue.tail, 0);
		assert_int_equal(pl_domain_close(d), 0);
	}
}

static void any_waiter_can_leave_the_line(void **state)
{
	(void)state;
	static const int orders[][some] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {1, 3, 0, 2, 4}};
	pl_domain *d = new_domain(some + 1);
	pl_thread *slots[some];
	pl_waitq queue;
	register_slots(d, slots, some);
	assert_int_equal(pl_waitq_init(&queue), 0);
	for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
		for (int i = 0; i < some; i++)
			assert_int_equal(pl_waitq_enter(slots[i], &queue, PL_WAITQ_EXCLUSIVE), 0);
		for (int i = 0; i < some - 1; i++)
			assert_int_equal(pl_waitq_leave(slots[orders[o][i]], &queue, 0, 0), 0);
		assert_int_equal(pl_waitq_wake(slots[0], &queue, 1), 1);
		assert_true(is_chosen(slots[orders[o][some - 1]]));
		assert_int_equal(pl_waitq_leave(slots[orders[o][some - 1]], &queue, 0, 1), 0);
		assert_int_equal(queue.head | queue.tail, 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- pass-on ---- */

static void unconsumed_wake_up_is_passed_on(int how)
{
	enum { timeout, interruption, chosen_before_it_slept, slept_and_chosen, not_chosen };
	pl_domain *d = new_domain(3);
	pl_thread *slots[2];
	pl_waitq queue;
	register_slots(d, slots, 2);
	assert_int_equal(pl_waitq_init(&queue), 0);
	for (int consumed = 0; consumed < 2; consumed++) {
		assert_int_equal(pl_waitq_enter(slots[0], &queue, PL_WAITQ_EXCLUSIVE), 0);
		assert_int_equal(pl_waitq_enter(slots[1], &queue, PL_WAITQ_EXCLUSIVE), 0);
		/* The first one's wait ends, it has not left yet, and is chosen then. */
		if (how == timeout) {
			assert_int_equal(QUIETLY(pl_waitq_sleep(slots[0], &queue, 0, 100 * us, 0)), -ETIMEDOUT);
		} else if (how == interruption) {
			assert_int_equal(pl_thread_interrupt(slots[0]), 0);
			assert_int_equal(QUIETLY(pl_waitq_sleep(slots[0], &queue, 0, PL_FOREVER, PL_WAIT_INTERRUPTIBLE)), -EINTR);
		}
		if (how != not_chosen) {
			assert_int_equal(pl_waitq_wake(slots[1], &queue, 1), 1);
			assert_true(is_chosen(slots[0]));
		}
		assert_true(is_in_line(slots[1]));
		if (how == slept_and_chosen)
			assert_int_equal(pl_waitq_sleep(slots[0], &queue, 0, PL_FOREVER, 0), 0);
		assert_int_equal(pl_waitq_leave(slots[0], &queue, 0, consumed), 0);
		bool passed_on = !consumed && how != not_chosen;
		assert_int_equal(is_chosen(slots[1]), passed_on);
		if (passed_on)
			assert_int_equal(pl_waitq_sleep(slots[1], &queue, 0, PL_FOREVER, 0), 0);
		else
			assert_int_equal(pl_waitq_sleep(slots[1], &queue, 0, 100 * us, 0), -ETIMEDOUT);
		assert_int_equal(pl_waitq_leave(slots[1], &queue, 0, 1), 0);
		assert_int_equal(queue.head | queue.tail, 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void chosen_waiter_that_times_out_passes_the_wake_up_on(void **state)
{
	(void)state;
	unconsumed_wake_up_is_passed_on(0);
}

static void chosen_waiter_that_is_interrupted_passes_the_wake_up_on(void **state)
{
	(void)state;
	unconsumed_wake_up_is_passed_on(1);
}

static void chosen_waiter_that_never_slept_passes_the_wake_up_on(void **state)
{
	(void)state;
	unconsumed_wake_up_is_passed_on(2);
}

static void woken_waiter_that_does_not_consume_passes_the_wake_up_on(void **state)
{
	(void)state;
	unconsumed_wake_up_is_passed_on(3);
}

static void waiter_that_was_not_chosen_passes_nothing_on(void **state)
{
	(void)state;
	unconsumed_wake_up_is_passed_on(4);
}

static void non_exclusive_waiter_passes_nothing_on(void **state)
{
	(void)state;
	pl_domain *d = new_domain(3);
	pl_thread *slots[2];
	pl_waitq queue;
	register_slots(d, slots, 2);
	assert_int_equal(pl_waitq_init(&queue), 0);
	assert_int_equal(pl_waitq_enter(slots[0], &queue, 0), 0);
	assert_int_equal(pl_waitq_wake(slots[1], &queue, 0), 1);
	assert_int_equal(pl_waitq_enter(slots[1], &queue, PL_WAITQ_EXCLUSIVE), 0);
	assert_int_equal(pl_waitq_leave(slots[0], &queue, 0, 0), 0);
	assert_false(is_chosen(slots[1]));
	assert_int_equal(pl_waitq_leave(slots[1], &queue, 0, 0), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void waiter_that_joins_again_keeps_its_place(void **state)
{
	(void)state;
	pl_domain *d = new_domain(some + 1);
	pl_thread *slots[some];
	pl_waitq queue;
	register_slots(d, slots, some);
	assert_int_equal(pl_waitq_init(&queue), 0);
	for (int i = 0; i < some; i++) {
		assert_int_equal(pl_waitq_enter(slots[i], &queue, PL_WAITQ_EXCLUSIVE), 0);
		sleep_us(2); /* different arrival times */
	}
	assert_int_equal(pl_waitq_wake(slots[0], &queue, 2), 2);
	for (int i = 1; i >= 0; i--) { /* both find nothing, in the other order */
		assert_int_equal(pl_waitq_sleep(slots[i], &queue, 0, PL_FOREVER, 0), 0);
		assert_int_equal(pl_waitq_sleep(slots[i], &queue, 0, PL_FOREVER, 0), 0);
		assert_true(is_in_line(slots[i]));
	}
	for (int i = 0; i < some; i++) {
		assert_int_equal(pl_waitq_wake(slots[0], &queue, 1), 1);
		assert_true(is_chosen(slots[i]));
	}
	for (int i = 0; i < some; i++)
		assert_int_equal(pl_waitq_leave(slots[i], &queue, 0, 1), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- waits ---- */

static void waits_end_after_their_timeout(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2);
	pl_thread *self = pl_self_in(d);
	pl_waitq queue;
	assert_int_equal(pl_waitq_init(&queue), 0);
	static const int64_t timeouts[] = {0, 50 * us, 5 * ms, 30 * ms};
	for (int i = 0; i < 4; i++) {
		int place = pl_waitq_enter(self, &queue, 0);
		uint64_t start = now_ns();
		assert_int_equal(QUIETLY(pl_waitq_sleep(self, &queue, place, timeouts[i], 0)), -ETIMEDOUT);
		int64_t took = (int64_t)(now_ns() - start);
		assert_true(took >= timeouts[i] && took < timeouts[i] + 1000ll * ms);
		assert_int_equal(pl_waitq_sleep(self, &queue, place, timeouts[i], 0), -ETIMEDOUT); /* in the line still */
		assert_int_equal(pl_waitq_leave(self, &queue, place, 0), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

typedef struct {
	pl_domain *domain;
	pl_waitq queue;
	pl_thread *slot;
	uint32_t woken, flags, entered;
	int result;
} one_sleeper;

static void sleep_interruptibly(int index, void *shared)
{
	(void)index;
	one_sleeper *s = shared;
	pl_thread *self = pl_self_in(s->domain);
	int place = pl_waitq_enter(self, &s->queue, 0);
	s->slot = self;
	pl_store_rel(&s->entered, 1);
	s->result = pl_waitq_sleep(self, &s->queue, place, PL_FOREVER, s->flags);
	pl_store_rel(&s->woken, 1);
	REQUIRE_EQUAL(pl_waitq_leave(self, &s->queue, place, 1), 0);
}

static void interruption_ends_an_interruptible_sleep_only(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		one_sleeper s = {.domain = new_domain(3), .flags = i % 2 ? PL_WAIT_INTERRUPTIBLE : 0};
		crew *c = crew_start(1, sleep_interruptibly, &s);
		AWAIT(pl_load_acq(&s.entered));
		sleep_us(300);
		assert_int_equal(pl_thread_interrupt(s.slot), 0);
		if (!s.flags) {
			sleep_us(1000);
			assert_int_equal(pl_load_acq(&s.woken), 0);
			assert_int_equal(pl_waitq_wake(pl_domain_service(s.domain), &s.queue, 0), 1);
		}
		crew_join(c);
		assert_int_equal(s.result, s.flags ? -EINTR : 0);
		assert_int_equal(pl_domain_close(s.domain), 0);
	}
}

typedef struct {
	pl_domain *domain;
	pl_waitq queue;
	uint32_t tickets, taken, entered, patient, stop;
	uint32_t flags;
	pl_thread *transients[8];
} gate;

static bool take_ticket(gate *g)
{
	for (uint32_t seen; (seen = pl_load_rlx(&g->tickets)) != 0;)
		if (pl_cas_ar(&g->tickets, seen, seen - 1))
			return true;
	return false;
}

/* The worked example of the header. */
static void pass_the_gate(int index, void *shared)
{
	(void)index;
	gate *g = shared;
	pl_thread *self = pl_self_in(g->domain);
	REQUIRE(self);
	int err = 0, place = pl_waitq_enter(self, &g->queue, g->flags);
	REQUIRE_EQUAL(place, 0);
	pl_add_ar(&g->entered, 1);
	while (!take_ticket(g) && err == 0)
		err = pl_waitq_sleep(self, &g->queue, place, PL_FOREVER, 0);
	REQUIRE_EQUAL(err, 0);
	REQUIRE_EQUAL(pl_waitq_leave(self, &g->queue, place, 1), 0);
	pl_add_ar(&g->taken, 1);
}

static void hundreds_of_waiters(uint32_t flags, int step)
{
	int crew_size = UNDER_TSAN ? 300 : 1100;
	gate g = {.domain = new_domain((uint32_t)crew_size + 1), .flags = flags};
	crew *c = crew_start(crew_size, pass_the_gate, &g);
	AWAIT(pl_load_acq(&g.entered) == (uint32_t)crew_size);
	for (int n = 0; n < crew_size; n += step) {
		int now = crew_size - n < step ? crew_size - n : step;
		pl_add_ar(&g.tickets, (uint32_t)now);
		int chosen = pl_waitq_wake(pl_domain_service(g.domain), &g.queue, now);
		assert_true(flags & PL_WAITQ_EXCLUSIVE ? chosen <= now : chosen <= crew_size);
		/* Each ticket is taken though nobody wakes again. */
		AWAIT(pl_load_acq(&g.taken) == (uint32_t)(n + now));
	}
	crew_join(c);
	assert_int_equal(g.queue.head | g.queue.tail | g.queue.lock, 0);
	assert_int_equal(pl_domain_close(g.domain), 0);
}

static void eleven_hundred_exclusive_waiters_are_woken_in_portions(void **state)
{
	(void)state;
	hundreds_of_waiters(PL_WAITQ_EXCLUSIVE, 70);
}

static void eleven_hundred_waiters_are_all_woken_by_each_wake_up(void **state)
{
	(void)state;
	hundreds_of_waiters(0, 400);
}

typedef struct {
	pl_domain *domain;
	pl_waitq queue;
	uint32_t waiting, stop, wakes;
	uint32_t woken[200];
} broadcast;

static void be_woken_again_and_again(int index, void *shared)
{
	broadcast *b = shared;
	pl_thread *self = pl_self_in(b->domain);
	int place = pl_waitq_enter(self, &b->queue, 0);
	pl_add_ar(&b->waiting, 1);
	while (!pl_load_acq(&b->stop)) {
		REQUIRE_EQUAL(pl_waitq_sleep(self, &b->queue, place, PL_FOREVER, 0), 0);
		pl_add_ar(&b->woken[index], 1);
	}
	REQUIRE_EQUAL(pl_waitq_leave(self, &b->queue, place, 1), 0);
}

static void waking_all_chooses_each_waiter_once_though_it_joins_again(void **state)
{
	(void)state;
	enum { crew_size = 150 };
	broadcast b = {.domain = new_domain(crew_size + 1)};
	crew *c = crew_start(crew_size, be_woken_again_and_again, &b);
	AWAIT(pl_load_acq(&b.waiting) == crew_size);
	for (uint64_t i = scaled(40); i; i--) {
		int chosen = pl_waitq_wake(pl_domain_service(b.domain), &b.queue, PL_WAITQ_ALL);
		if (chosen > crew_size)
			fail_msg("%d chosen of %d", chosen, crew_size);
	}
	pl_store_rel(&b.stop, 1);
	for (bool all = false; !all;) { /* until the last has seen it */
		pl_waitq_wake(pl_domain_service(b.domain), &b.queue, PL_WAITQ_ALL);
		sleep_us(200);
		all = true;
		for (uint32_t i = 1; i < b.domain->slots; i++)
			all = all && !pl_load_rlx(&pl_slot(b.domain, i)->depth);
	}
	crew_join(c);
	assert_int_equal(pl_domain_close(b.domain), 0);
}

/* Waiters that want nothing: they enter, sleep for a random short time, perhaps interruptibly, and never consume. */
static void come_and_go(int index, void *shared)
{
	gate *g = shared;
	pl_thread *self = pl_self_in(g->domain);
	uint32_t random = (uint32_t)index + 1;
	__atomic_store_n(&g->transients[index], self, __ATOMIC_RELEASE);
	while (!pl_load_acq(&g->stop)) {
		int place = pl_waitq_enter(self, &g->queue, PL_WAITQ_EXCLUSIVE);
		REQUIRE_EQUAL(place, 0);
		uint32_t r = random_next(&random);
		int err = pl_waitq_sleep(self, &g->queue, place, r % 60 * us, r & 64 ? PL_WAIT_INTERRUPTIBLE : 0);
		REQUIRE(err == 0 || err == -ETIMEDOUT || err == -EINTR);
		REQUIRE_EQUAL(pl_waitq_leave(self, &g->queue, place, 0), 0);
	}
}

static void pass_the_gate_for_ever(int index, void *shared)
{
	(void)index;
	gate *g = shared;
	pl_thread *self = pl_self_in(g->domain);
	for (;;) {
		int place = pl_waitq_enter(self, &g->queue, PL_WAITQ_EXCLUSIVE);
		while (!take_ticket(g) && !pl_load_acq(&g->stop))
			REQUIRE_EQUAL(pl_waitq_sleep(self, &g->queue, place, PL_FOREVER, 0), 0);
		bool stop = pl_load_acq(&g->stop);
		REQUIRE_EQUAL(pl_waitq_leave(self, &g->queue, place, !stop), 0); /* the next one must see the stop too */
		if (stop)
			return;
		pl_add_ar(&g->taken, 1);
	}
}

static void no_wake_up_is_lost_among_waiters_that_time_out_and_are_interrupted(void **state)
{
	(void)state;
	enum { transients = 6, patient = 3 };
	gate g = {.domain = new_domain(transients + patient + 2)};
	crew *consumers = crew_start(patient, pass_the_gate_for_ever, &g);
	crew *others = crew_start(transients, come_and_go, &g);
	pl_thread *self = pl_self_in(g.domain);
	uint32_t random = 4711, given = 0;
	for (uint64_t i = scaled(8000); i; i--) {
		pl_thread *victim = __atomic_load_n(&g.transients[random_next(&random) % transients], __ATOMIC_ACQUIRE);
		if (victim && i % 3 == 0)
			pl_thread_interrupt(victim);
		pl_add_ar(&g.tickets, 1);
		given++;
		pl_waitq_wake(self, &g.queue, 1);
		while (pl_load_acq(&g.taken) != given) /* only the patient take it, and only if the wake-up reaches them */
			sleep_us(1);
	}
	pl_store_rel(&g.stop, 1);
	crew_join(others);
	pl_waitq_wake(self, &g.queue, PL_WAITQ_ALL);
	crew_join(consumers);
	assert_int_equal(g.queue.head | g.queue.tail | g.queue.lock, 0);
	assert_int_equal(pl_domain_close(g.domain), 0);
}

/* ---- processes ---- */

typedef struct {
	pl_waitq queue;
	uint32_t tickets, taken, entered;
} shared_gate;

/* fd of the domain, fd of the gate, rounds */
static int child_passes_the_gate(int argc, char **argv)
{
	(void)argc;
	void *gap = mmap(NULL, 1 << 22, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(gap != MAP_FAILED);
	pl_domain *d;
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 0), &d), 0);
	shared_gate *g = map_file((int)number_argument(argv, 1), 4096);
	pl_thread *self = pl_self_in(d);
	for (int64_t i = number_argument(argv, 2); i; i--) {
		int place = pl_waitq_enter(self, &g->queue, PL_WAITQ_EXCLUSIVE);
		if (i == number_argument(argv, 2))
			pl_add_ar(&g->entered, 1);
		for (;;) {
			uint32_t seen = pl_load_rlx(&g->tickets);
			if (seen && pl_cas_ar(&g->tickets, seen, seen - 1))
				break;
			if (!seen)
				REQUIRE_EQUAL(pl_waitq_sleep(self, &g->queue, place, PL_FOREVER, 0), 0);
		}
		REQUIRE_EQUAL(pl_waitq_leave(self, &g->queue, place, 1), 0);
		pl_add_ar(&g->taken, 1);
	}
	return 0;
}

static void processes_wake_each_other(void **state)
{
	(void)state;
	enum { children = 3 };
	int fd = shared_file(0), gate_fd = shared_file(4096), pids[children];
	int64_t rounds = (int64_t)scaled(1000);
	pl_domain *d;
	assert_int_equal(pl_domain_create_fd(fd, NULL, &d), 0);
	shared_gate *g = map_file(gate_fd, 4096);
	pl_thread *self = pl_self_in(d);
	for (int i = 0; i < children; i++)
		pids[i] = CHILD_START("passes_the_gate", fd, gate_fd, rounds);
	AWAIT(pl_load_acq(&g->entered) == children);
	for (uint32_t i = 1; i <= children * rounds; i++) {
		pl_add_ar(&g->tickets, 1);
		pl_waitq_wake(self, &g->queue, 1);
		while (pl_load_acq(&g->taken) < i && i % 3)
			sleep_us(1);
	}
	for (int i = 0; i < children; i++)
		assert_int_equal(child_wait(pids[i]), 0);
	assert_int_equal(g->queue.head | g->queue.tail | g->queue.lock, 0);
	assert_int_equal(pl_domain_close(d), 0);
	munmap(g, 4096);
	close(fd);
	close(gate_fd);
}

/* ---- bad input ---- */

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	pl_domain *d = new_domain(3);
	pl_thread *self = pl_self_in(d), *service = pl_domain_service(d);
	pl_waitq queues[2];
	pl_waitq *askew = (pl_waitq *)(void *)((char *)queues + 2);
	assert_int_equal(QUIETLY(pl_waitq_init(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_init(askew)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_init(queues)), 0);
	assert_int_equal(QUIETLY(pl_waitq_enter(NULL, queues, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_enter(self, NULL, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_enter(self, askew, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_enter(self, queues, 2)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_enter(service, queues, 0)), -EINVAL);
	assert_int_equal(self->depth, 0);
	assert_int_equal(QUIETLY(pl_waitq_sleep(self, queues, 0, 0, 0)), -EINVAL); /* not entered */
	assert_int_equal(QUIETLY(pl_waitq_leave(self, queues, 0, 0)), -EINVAL);
	int place = pl_waitq_enter(self, queues, 0);
	assert_int_equal(place, 0);
	assert_int_equal(QUIETLY(pl_waitq_sleep(self, queues, -1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_sleep(self, queues, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_sleep(self, queues, PL_NESTING, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_sleep(NULL, queues, 0, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_sleep(self, NULL, 0, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_sleep(self, queues, 0, 0, PL_WAIT_SPIN)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_sleep(self, queues, 0, 0, 64)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_leave(self, queues, -1, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_leave(self, queues, 1, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_leave(service, queues, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_wake(NULL, queues, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_wake(self, NULL, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_wake(self, askew, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_wake(self, queues, -1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_waitq_leave(self, queues, 0, 0)), 0);
	assert_int_equal(QUIETLY(pl_waitq_leave(self, queues, 0, 0)), -EINVAL);
	assert_int_equal(pl_domain_close(d), 0);
}

static void queue_that_was_never_initialised_is_refused(void **state)
{
	(void)state;
	pl_domain *d = new_domain(3);
	pl_thread *self = pl_self_in(d);
	uint32_t beyond = 3 * PL_NESTING + 1;
	const pl_waitq damaged[] = {
		{.head = UINT32_MAX, .tail = UINT32_MAX},
		{.head = beyond, .tail = beyond},
		{.head = 5},
		{.tail = 5},
		{.head = 5, .tail = beyond},
		{.lock = 0x7fffffff},
		{.lock = UINT32_MAX, .head = UINT32_MAX, .tail = UINT32_MAX},
		{.lock = 4},
	};
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		pl_waitq queue = damaged[i];
		assert_int_equal(QUIETLY(pl_waitq_enter(self, &queue, 0)), -EINVAL);
		assert_int_equal(self->depth, 0);
		if (queue.head || queue.lock)
			assert_int_equal(QUIETLY(pl_waitq_wake(self, &queue, 1)), -EINVAL);
		assert_memory_equal(&queue, &damaged[i], sizeof queue);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void four_places_at_once_and_no_fifth(void **state)
{
	(void)state;
	pl_domain *d = new_domain(3);
	pl_thread *self = pl_self_in(d);
	pl_waitq queues[PL_NESTING + 1];
	for (int i = 0; i <= PL_NESTING; i++)
		assert_int_equal(pl_waitq_init(&queues[i]), 0);
	for (int i = 0; i < PL_NESTING; i++)
		assert_int_equal(QUIETLY(pl_waitq_enter(self, &queues[i], 0)), i);
	assert_int_equal(QUIETLY(pl_waitq_enter(self, &queues[PL_NESTING], 0)), -ENOSPC);
	assert_int_equal(queues[PL_NESTING].head | queues[PL_NESTING].lock, 0);
	/* Places are given back in reverse order: anything else would free a node that stands in a line. */
	assert_int_equal(QUIETLY(pl_waitq_leave(self, &queues[1], 1, 0)), -EINVAL);
	assert_int_equal(self->depth, PL_NESTING);
	/* A lock can be waited for still, beside the line. */
	pl_thread *other;
	pl_qspinlock lock = PL_QSPINLOCK_INIT;
	assert_int_equal(pl_thread_register(d, 0, &other), 0);
	assert_int_equal(pl_qspin_lock(other, &lock), 0);
	assert_int_equal(pl_qspin_lock_wait(self, &lock, 0, ms), -ETIMEDOUT);
	assert_int_equal(pl_qspin_unlock(other, &lock), 0);
	assert_int_equal(lock.word, 0);
	for (int i = PL_NESTING - 1; i >= 0; i--) {
		assert_int_equal(pl_waitq_wake(self, &queues[i], 0), 1);
		assert_int_equal(pl_waitq_leave(self, &queues[i], i, 0), 0);
	}
	assert_int_equal(self->depth, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"passes_the_gate", child_passes_the_gate},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(exclusive_waiters_are_chosen_first_come_first_served),
		TEST(wake_chooses_all_non_exclusive_and_as_many_exclusive_as_it_says),
		TEST(any_waiter_can_leave_the_line),
		TEST(chosen_waiter_that_times_out_passes_the_wake_up_on),
		TEST(chosen_waiter_that_is_interrupted_passes_the_wake_up_on),
		TEST(chosen_waiter_that_never_slept_passes_the_wake_up_on),
		TEST(woken_waiter_that_does_not_consume_passes_the_wake_up_on),
		TEST(waiter_that_was_not_chosen_passes_nothing_on),
		TEST(non_exclusive_waiter_passes_nothing_on),
		TEST(waiter_that_joins_again_keeps_its_place),
		TEST(waits_end_after_their_timeout),
		TEST(interruption_ends_an_interruptible_sleep_only),
		TEST(eleven_hundred_exclusive_waiters_are_woken_in_portions),
		TEST(eleven_hundred_waiters_are_all_woken_by_each_wake_up),
		TEST(waking_all_chooses_each_waiter_once_though_it_joins_again),
		TEST(no_wake_up_is_lost_among_waiters_that_time_out_and_are_interrupted),
		TEST(processes_wake_each_other),
		TEST(bad_arguments_are_refused),
		TEST(queue_that_was_never_initialised_is_refused),
		TEST(four_places_at_once_and_no_fifth),
	};
	return cmocka_run_group_tests_name("waitq", tests, NULL, NULL);
}
