/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define PL_NO_INLINE /* the exported forms; shazptr_hammer_test.c uses the inline ones */
#include "hazard.h"
#include "scan.h"
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { object = 4096, other = 8192, third = 12288, settle_us = 20000 };

static pl_domain *new_domain(uint32_t slots)
{
	pl_domain_options o = {.slots = slots, .pool_locks = 1};
	pl_domain *d = NULL;
	REQUIRE_EQUAL(pl_domain_create(&o, &d), 0);
	return d;
}

static pl_thread *new_slot(pl_domain *d)
{
	pl_thread *slot = NULL;
	REQUIRE_EQUAL(pl_thread_register(d, 0, &slot), 0);
	return slot;
}

static bool is_listed(const pl_thread *slot)
{
	pl_domain *d = pl_thread_domain((pl_thread *)(uintptr_t)slot);
	return pl_listed(d)[slot->index / 32] >> slot->index % 32 & 1;
}

/* ---- a writer on a thread of its own ---- */

typedef struct {
	pl_domain *domain;
	uint64_t name;
	uint32_t flags, begun, done;
	pthread_t thread;
} writer;

static void *write_away(void *argument)
{
	writer *w = argument;
	pl_thread *self = new_slot(w->domain);
	pl_store_rel(&w->begun, 1);
	REQUIRE_EQUAL(pl_shazptr_synchronize(self, w->name, w->flags), 0);
	pl_store_rel(&w->done, 1);
	REQUIRE_EQUAL(pl_thread_release(self), 0);
	return NULL;
}

static void writer_start(writer *w, pl_domain *d, uint64_t name, uint32_t flags)
{
	*w = (writer){.domain = d, .name = name, .flags = flags};
	REQUIRE_EQUAL(pthread_create(&w->thread, NULL, write_away, w), 0);
	AWAIT(pl_load_acq(&w->begun));
}

static bool has_returned(const writer *w) { return pl_load_acq(&w->done); }
static void writer_join(writer *w) { pthread_join(w->thread, NULL); }

/* Long enough for the looks of the writer and of the scan thread. */
static void require_waiting(const writer *w)
{
	for (int i = 0; i < 10; i++) {
		REQUIRE(!has_returned(w));
		sleep_us(settle_us / 10);
	}
}

static const uint32_t ways[] = {0, PL_SHAZPTR_SKIP_SELF_SCAN};
enum { some_ways = sizeof ways / sizeof *ways };

/* ---- guards ---- */

static void a_guard_names_its_object_and_a_nested_one_is_a_wildcard(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4);
	pl_thread *t = new_slot(d);
	assert_int_equal(t->hazard, PL_HAZARD_UNLISTED);
	assert_false(is_listed(t));
	uint64_t outer = QUIETLY(pl_shazptr_acquire(t, object));
	assert_int_equal(t->hazard, object);
	assert_true(is_listed(t));
	assert_int_equal(t->wildcard, 0);
	uint64_t nested = pl_shazptr_acquire(t, other);
	assert_int_equal(t->hazard, object);
	assert_int_equal(t->wildcard, 1 << PL_WILDCARD_SHIFT | 1);
	pl_scan_raise(d);
	uint64_t deeper = pl_shazptr_acquire(t, object);
	assert_int_equal(t->wildcard, 1 << PL_WILDCARD_SHIFT | 2); /* the older number */
	assert_int_equal(QUIETLY(pl_shazptr_clear(t, deeper)), 0);
	assert_int_equal(t->wildcard, 1 << PL_WILDCARD_SHIFT | 1);
	assert_int_equal(pl_shazptr_clear(t, nested), 0);
	assert_int_equal(t->wildcard, 0);
	assert_int_equal(t->hazard, object);
	assert_int_equal(pl_shazptr_clear(t, outer), 0);
	assert_int_equal(t->hazard, PL_HAZARD_IDLE);
	assert_int_equal(pl_thread_release(t), 0);
	assert_int_equal(t->hazard, PL_HAZARD_UNLISTED);
	assert_false(is_listed(t));
	assert_int_equal(pl_domain_close(d), 0);
}

static void guards_end_in_reverse_order(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4);
	pl_thread *t = new_slot(d);
	uint64_t guards[20];
	assert_int_equal(pl_shazptr_clear(t, PL_HAZARD_IDLE), -EPERM); /* there is none */
	for (int i = 0; i < 20; i++)
		guards[i] = pl_shazptr_acquire(t, object + (uint64_t)i);
	for (int i = 19; i >= 15; i--) /* deeper than can be told */
		assert_int_equal(pl_shazptr_clear(t, guards[i]), 0);
	for (int i = 14; i >= 0; i--) {
		for (int j = 0; j < i; j++)
			assert_int_equal(QUIETLY(pl_shazptr_clear(t, guards[j])), -EPERM);
		assert_int_equal(pl_shazptr_clear(t, guards[i]), 0);
	}
	assert_int_equal(t->hazard, PL_HAZARD_IDLE);
	assert_int_equal(t->wildcard, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4);
	pl_thread *t = new_slot(d), *service = pl_domain_service(d);
	pl_shazptr_retired r;
	void *source = (void *)(uintptr_t)object, *seen = NULL;
	uint64_t guard = 0;
	assert_int_equal(QUIETLY(pl_shazptr_acquire(NULL, object)), PL_NO_GUARD);
	assert_int_equal(pl_shazptr_acquire(service, object), PL_NO_GUARD);
	assert_int_equal(pl_shazptr_acquire(t, 0), PL_NO_GUARD);
	assert_int_equal(pl_shazptr_acquire(t, PL_HAZARD_IDLE), PL_NO_GUARD);
	assert_int_equal(pl_shazptr_clear(NULL, PL_HAZARD_IDLE), -EINVAL);
	assert_int_equal(pl_shazptr_clear(t, PL_NO_GUARD), -EINVAL);
	assert_int_equal(pl_shazptr_clear(t, PL_HAZARD_IDLE), -EPERM);
	assert_int_equal(pl_shazptr_synchronize(NULL, object, 0), -EINVAL);
	assert_int_equal(pl_shazptr_synchronize(t, 1, 0), -EINVAL);
	assert_int_equal(pl_shazptr_synchronize(t, object, 2), -EINVAL);
	assert_int_equal(pl_shazptr_retire(NULL, &r, object, (void (*)(pl_shazptr_retired *))free), -EINVAL);
	assert_int_equal(pl_shazptr_retire(t, NULL, object, (void (*)(pl_shazptr_retired *))free), -EINVAL);
	assert_int_equal(pl_shazptr_retire(t, &r, 0, (void (*)(pl_shazptr_retired *))free), -EINVAL);
	assert_int_equal(pl_shazptr_retire(t, &r, object, NULL), -EINVAL);
	assert_int_equal(pl_shazptr_drain(NULL), -EINVAL);
	assert_int_equal(pl_shazptr_is_protected(NULL, object), -EINVAL);
	assert_int_equal(pl_shazptr_is_protected(d, 0), -EINVAL);
	assert_int_equal(pl_shazptr_name(NULL, &r), 0);
	assert_int_equal(pl_shazptr_name(t, NULL), 0);
	assert_int_equal(pl_shazptr_name(t, &r), (uintptr_t)&r);
	assert_int_equal(pl_shazptr_try_protect(t, NULL, &seen, &guard), -EINVAL);
	assert_int_equal(pl_shazptr_try_protect(t, &source, NULL, &guard), -EINVAL);
	assert_int_equal(pl_shazptr_try_protect(t, &source, &seen, NULL), -EINVAL);
	assert_int_equal(QUIETLY(pl_shazptr_try_protect(t, &source, &seen, &guard)), 0);
	assert_ptr_equal(seen, source);
	assert_int_equal(pl_shazptr_is_protected(d, object), 1);
	assert_int_equal(pl_thread_release(t), -EBUSY);
	assert_int_equal(pl_shazptr_clear(t, guard), 0);
	assert_int_equal(pl_shazptr_is_protected(d, object), 0);
	source = NULL;
	assert_int_equal(pl_shazptr_try_protect(t, &source, &seen, &guard), -ENOENT);
	assert_int_equal(t->hazard, PL_HAZARD_IDLE);
	assert_int_equal(pl_domain_close(d), 0);
}

static void a_writer_does_not_wait_for_itself(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4);
	pl_thread *t = new_slot(d);
	uint64_t outer = pl_shazptr_acquire(t, object);
	assert_int_equal(QUIETLY(pl_shazptr_synchronize(t, object, 0)), -EDEADLK);
	assert_int_equal(pl_shazptr_drain(t), -EDEADLK);
	assert_int_equal(pl_shazptr_synchronize(t, other, 0), 0);
	uint64_t nested = pl_shazptr_acquire(t, third);
	assert_int_equal(pl_shazptr_synchronize(t, other, 0), -EDEADLK);
	assert_int_equal(pl_shazptr_clear(t, nested), 0);
	assert_int_equal(pl_shazptr_clear(t, outer), 0);
	assert_int_equal(pl_shazptr_synchronize(t, object, 0), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- who waits for whom ---- */

static void a_writer_waits_for_readers_of_its_pointer_only(void **state)
{
	(void)state;
	pl_domain *d = new_domain(200);
	pl_thread *first = new_slot(d), *last = NULL;
	for (int i = 0; i < 150; i++)
		last = new_slot(d);
	for (int i = 0; i < some_ways; i++) {
		uint64_t one = pl_shazptr_acquire(first, other), two = pl_shazptr_acquire(last, object);
		writer passes, waits;
		writer_start(&passes, d, third, ways[i]);
		writer_join(&passes);
		writer_start(&waits, d, object, ways[i]);
		require_waiting(&waits);
		pl_shazptr_clear(first, one);
		require_waiting(&waits);
		pl_shazptr_clear(last, two);
		writer_join(&waits);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

/* Bug row 31: a request whose pointer was not filled in was complete after the first scan. */
static void a_request_to_the_scan_thread_waits_for_readers_of_its_pointer(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	pl_thread *reader = new_slot(d);
	uint64_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < some_ways; i++) {
		writer w, more[3];
		p[0] = 4711;
		uint64_t guard = pl_shazptr_acquire(reader, (uintptr_t)p);
		writer_start(&w, d, (uintptr_t)p, ways[i]);
		for (int m = 0; m < 3; m++) { /* other requests, which the thread serves in the same passes */
			writer_start(&more[m], d, (uintptr_t)p + 64 * (uint64_t)(m + 1), PL_SHAZPTR_SKIP_SELF_SCAN);
			writer_join(&more[m]);
		}
		require_waiting(&w);
		assert_int_equal(p[0], 4711);
		pl_shazptr_clear(reader, guard);
		writer_join(&w);
		memset(p, 0xdb, 4096);
	}
	munmap(p, 4096);
	assert_int_equal(pl_domain_close(d), 0);
}

static void a_writer_waits_for_a_nested_guard_that_began_before_it(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	pl_thread *reader = new_slot(d);
	for (int i = 0; i < some_ways; i++) {
		uint64_t outer = pl_shazptr_acquire(reader, other), nested = pl_shazptr_acquire(reader, object);
		writer w;
		writer_start(&w, d, object, ways[i]);
		require_waiting(&w);
		/* What is nested in it does not make it younger. */
		uint64_t deeper = pl_shazptr_acquire(reader, third);
		require_waiting(&w);
		pl_shazptr_clear(reader, deeper);
		require_waiting(&w);
		pl_shazptr_clear(reader, nested);
		writer_join(&w); /* the outer guard names something else */
		pl_shazptr_clear(reader, outer);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void a_nested_guard_does_not_hide_what_the_outer_one_names(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	pl_thread *reader = new_slot(d);
	for (int i = 0; i < some_ways; i++) {
		uint64_t outer = pl_shazptr_acquire(reader, object);
		writer w;
		writer_start(&w, d, object, ways[i]);
		require_waiting(&w);
		pl_scan_raise(d);
		uint64_t nested = pl_shazptr_acquire(reader, other); /* numbered as younger than the writer */
		require_waiting(&w);
		pl_shazptr_clear(reader, nested);
		require_waiting(&w);
		pl_shazptr_clear(reader, outer);
		writer_join(&w);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void nested_guards_that_begin_later_do_not_hold_a_writer_up(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	pl_thread *early = new_slot(d), *late = new_slot(d);
	for (int i = 0; i < some_ways; i++) {
		uint64_t e1 = pl_shazptr_acquire(early, other), e2 = pl_shazptr_acquire(early, third);
		uint64_t epoch = pl_load64_acq(&d->hazard_epoch);
		writer w;
		writer_start(&w, d, object, ways[i]);
		AWAIT(pl_load64_acq(&d->hazard_epoch) != epoch);
		uint64_t l1 = pl_shazptr_acquire(late, other), l2 = pl_shazptr_acquire(late, third);
		require_waiting(&w);
		pl_shazptr_clear(early, e2);
		pl_shazptr_clear(early, e1);
		writer_join(&w);
		pl_shazptr_clear(late, l2);
		pl_shazptr_clear(late, l1);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

typedef struct {
	pl_domain *domain;
	uint32_t stop, begun;
} nesting;

static void nest_for_ever(int index, void *shared)
{
	(void)index;
	nesting *n = shared;
	pl_thread *self = new_slot(n->domain);
	uint64_t outer = pl_shazptr_acquire(self, other), nested = pl_shazptr_acquire(self, third);
	pl_add_ar(&n->begun, 1);
	while (!pl_load_acq(&n->stop)) {
		pl_shazptr_clear(self, nested);
		nested = pl_shazptr_acquire(self, third);
	}
	pl_shazptr_clear(self, nested);
	pl_shazptr_clear(self, outer);
	pl_thread_release(self);
}

static void readers_that_nest_all_the_time_never_starve_a_writer(void **state)
{
	(void)state;
	enum { threads = 3 };
	nesting n = {.domain = new_domain(16)};
	crew *readers = crew_start(threads, nest_for_ever, &n);
	AWAIT(pl_load_acq(&n.begun) == threads);
	pl_thread *self = new_slot(n.domain);
	uint64_t rounds = scaled(200);
	for (uint64_t i = 0; i < rounds; i++)
		assert_int_equal(pl_shazptr_synchronize(self, object, ways[i % some_ways]), 0);
	pl_store_rel(&n.stop, 1);
	crew_join(readers);
	assert_int_equal(pl_domain_close(n.domain), 0);
}

/* ---- retired objects ---- */

typedef struct {
	pl_shazptr_retired retired; /* first */
	int number;
} item;

static uint32_t reclaimed;
static int last_reclaimed;

static void count_item(pl_shazptr_retired *r)
{
	item *i = (item *)(void *)r;
	last_reclaimed = i->number;
	i->number = -1;
	pl_add_ar(&reclaimed, 1);
}

static void retired_objects_are_reclaimed_in_order_once_no_reader_is_left(void **state)
{
	(void)state;
	enum { items = 300 };
	pl_domain *d = new_domain(8);
	pl_thread *reader = new_slot(d), *self = new_slot(d);
	item *all = calloc(items, sizeof *all);
	reclaimed = 0;
	uint64_t guard = pl_shazptr_acquire(reader, (uintptr_t)&all[7]);
	for (int i = 0; i < items; i++) {
		all[i].number = i;
		assert_int_equal(QUIETLY(pl_shazptr_retire(self, &all[i].retired, (uintptr_t)&all[i], count_item)), 0);
	}
	AWAIT(pl_load_acq(&reclaimed) == items - 1);
	assert_int_equal(last_reclaimed, items - 1);
	sleep_us(settle_us);
	assert_int_equal(pl_load_acq(&reclaimed), items - 1);
	assert_int_equal(all[7].number, 7);
	pl_shazptr_clear(reader, guard);
	assert_int_equal(QUIETLY(pl_shazptr_drain(self)), 0);
	assert_int_equal(pl_load_acq(&reclaimed), items);
	assert_int_equal(last_reclaimed, 7);
	assert_int_equal(pl_shazptr_drain(self), 0);
	free(all);
	assert_int_equal(pl_domain_close(d), 0);
}

static void a_nested_guard_holds_what_was_retired_since_it_began(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	pl_thread *reader = new_slot(d), *self = new_slot(d);
	item held = {.number = 1}, later = {.number = 2};
	reclaimed = 0;
	uint64_t outer = pl_shazptr_acquire(reader, other), nested = pl_shazptr_acquire(reader, third);
	assert_int_equal(pl_shazptr_retire(self, &held.retired, (uintptr_t)&held, count_item), 0);
	sleep_us(settle_us);
	assert_int_equal(pl_load_acq(&reclaimed), 0);
	pl_shazptr_clear(reader, nested);
	AWAIT(pl_load_acq(&reclaimed) == 1);
	assert_int_equal(pl_shazptr_retire(self, &later.retired, (uintptr_t)&later, count_item), 0);
	AWAIT(pl_load_acq(&reclaimed) == 2);
	pl_shazptr_clear(reader, outer);
	assert_int_equal(pl_domain_close(d), 0);
}

static void the_backlog_is_bounded(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	pl_thread *reader = new_slot(d), *self = new_slot(d);
	item *all = calloc(PL_RETIRE_BACKLOG + 1, sizeof *all);
	reclaimed = 0;
	uint64_t outer = pl_shazptr_acquire(reader, other), nested = pl_shazptr_acquire(reader, third); /* nothing gets free */
	for (int i = 0; i < PL_RETIRE_BACKLOG; i++)
		assert_int_equal(pl_shazptr_retire(self, &all[i].retired, (uintptr_t)&all[i], count_item), 0);
	item *more = &all[PL_RETIRE_BACKLOG];
	uint64_t own = pl_shazptr_acquire(self, other);
	assert_int_equal(QUIETLY(pl_shazptr_retire(self, &more->retired, (uintptr_t)more, count_item)), -EAGAIN);
	pl_shazptr_clear(self, own);
	pl_shazptr_clear(reader, nested);
	assert_int_equal(pl_shazptr_retire(self, &more->retired, (uintptr_t)more, count_item), 0);
	assert_int_equal(pl_shazptr_drain(self), 0);
	assert_int_equal(pl_load_acq(&reclaimed), PL_RETIRE_BACKLOG + 1);
	pl_shazptr_clear(reader, outer);
	free(all);
	assert_int_equal(pl_domain_close(d), 0);
}

static pl_thread *chain_self;
static item chained[3];

static void retire_next(pl_shazptr_retired *r)
{
	int i = ((item *)(void *)r)->number;
	REQUIRE_EQUAL(pl_shazptr_drain(chain_self), -EDEADLK);
	REQUIRE_EQUAL(pl_shazptr_synchronize(chain_self, object, 0), 0);
	if (i < 2)
		REQUIRE_EQUAL(pl_shazptr_retire(chain_self, &chained[i + 1].retired, (uintptr_t)&chained[i + 1], retire_next), 0);
	pl_add_ar(&reclaimed, 1);
}

static void a_callback_may_retire_and_wait(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	chain_self = new_slot(d);
	reclaimed = 0;
	for (int i = 0; i < 3; i++)
		chained[i].number = i;
	assert_int_equal(pl_shazptr_retire(chain_self, &chained[0].retired, (uintptr_t)&chained[0], retire_next), 0);
	AWAIT(pl_load_acq(&reclaimed) == 3);
	assert_int_equal(pl_shazptr_drain(chain_self), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void closing_a_domain_reclaims_what_waits_in_it(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8), *stays = new_domain(8);
	pl_thread *reader = new_slot(d), *self = new_slot(d), *elsewhere = new_slot(stays), *holds = new_slot(stays);
	item a = {.number = 1}, b = {.number = 2};
	reclaimed = 0;
	(void)pl_shazptr_acquire(reader, (uintptr_t)&a);
	uint64_t guard = pl_shazptr_acquire(holds, (uintptr_t)&b);
	assert_int_equal(pl_shazptr_retire(self, &a.retired, (uintptr_t)&a, count_item), 0);
	assert_int_equal(pl_shazptr_retire(elsewhere, &b.retired, (uintptr_t)&b, count_item), 0);
	assert_int_equal(pl_domain_close(d), 0);
	assert_int_equal(a.number, -1);
	assert_int_equal(b.number, 2);
	pl_shazptr_clear(holds, guard);
	assert_int_equal(pl_shazptr_drain(elsewhere), 0);
	assert_int_equal(b.number, -1);
	assert_int_equal(pl_domain_close(stays), 0);
}

/* ---- threads that end, signals, fork ---- */

static void *ends_inside_a_guard(void *domain)
{
	pl_thread *self = pl_self_in(domain);
	REQUIRE(pl_shazptr_acquire(self, object) == PL_HAZARD_IDLE);
	REQUIRE(pl_shazptr_acquire(self, other) == 0);
	return NULL;
}

static void a_guard_ends_with_its_thread(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	pl_thread *self = new_slot(d);
	pthread_t t;
	REQUIRE_EQUAL(pthread_create(&t, NULL, ends_inside_a_guard, d), 0);
	pthread_join(t, NULL);
	assert_int_equal(pl_shazptr_is_protected(d, object), 0);
	assert_int_equal(pl_shazptr_synchronize(self, object, 0), 0);
	/* A slot whose owner vanished without a word: its thread id names nobody. */
	pl_thread *dead;
	assert_int_equal(pl_thread_register(d, 0x7ffffffe, &dead), 0);
	(void)pl_shazptr_acquire(dead, object);
	(void)pl_shazptr_acquire(dead, other);
	for (int i = 0; i < some_ways; i++)
		assert_int_equal(pl_shazptr_synchronize(self, object, ways[i]), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static pl_thread *interrupted_self;
static uint32_t handled;

static void on_signal(int signal)
{
	(void)signal;
	int before = errno;
	uint64_t guard = pl_shazptr_acquire(interrupted_self, third);
	REQUIRE(guard != PL_NO_GUARD);
	REQUIRE(pl_load64_rlx(&interrupted_self->wildcard) || pl_load64_rlx(&interrupted_self->hazard) == third);
	REQUIRE_EQUAL(pl_shazptr_clear(interrupted_self, guard), 0);
	pl_add_ar(&handled, 1);
	errno = before;
}

static void *protect_and_clear(void *stop)
{
	while (!pl_load_acq(stop)) {
		uint64_t outer = pl_shazptr_acquire(interrupted_self, object);
		REQUIRE_EQUAL(pl_load64_rlx(&interrupted_self->hazard), object);
		uint64_t nested = pl_shazptr_acquire(interrupted_self, other);
		uint64_t deeper = pl_shazptr_acquire(interrupted_self, other);
		REQUIRE_EQUAL(pl_load64_rlx(&interrupted_self->wildcard) & PL_WILDCARD_NESTING, 2);
		REQUIRE_EQUAL(pl_shazptr_clear(interrupted_self, deeper), 0);
		REQUIRE_EQUAL(pl_shazptr_clear(interrupted_self, nested), 0);
		REQUIRE_EQUAL(pl_load64_rlx(&interrupted_self->wildcard), 0);
		REQUIRE_EQUAL(pl_shazptr_clear(interrupted_self, outer), 0);
		REQUIRE_EQUAL(pl_load64_rlx(&interrupted_self->hazard), PL_HAZARD_IDLE);
	}
	return NULL;
}

static void signal_handlers_may_protect(void **state)
{
	(void)state;
	pl_domain *d = new_domain(8);
	interrupted_self = new_slot(d);
	handled = 0;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
	sigaction(SIGUSR1, &action, &before);
	uint32_t stop = 0;
	pthread_t t;
	REQUIRE_EQUAL(pthread_create(&t, NULL, protect_and_clear, &stop), 0);
	uint64_t signals = scaled(2000);
	for (uint64_t i = 0; i < signals; i++) {
		uint32_t seen = pl_load_acq(&handled);
		pthread_kill(t, SIGUSR1);
		AWAIT(pl_load_acq(&handled) != seen);
	}
	pl_store_rel(&stop, 1);
	pthread_join(t, NULL);
	sigaction(SIGUSR1, &before, NULL);
	assert_int_equal(pl_domain_close(d), 0);
}

#if !UNDER_TSAN /* which cannot start threads in a forked child */
static int in_the_child(void *domain)
{
	/* The other thread's guard is gone, our own is not. */
	pl_thread *self = pl_self_in(domain);
	REQUIRE_EQUAL(self->hazard, third);
	REQUIRE_EQUAL(pl_shazptr_synchronize(self, object, 0), 0);
	REQUIRE_EQUAL(pl_shazptr_clear(self, PL_HAZARD_IDLE), 0);
	item i = {.number = 1};
	REQUIRE_EQUAL(pl_shazptr_retire(self, &i.retired, (uintptr_t)&i, count_item), 0);
	REQUIRE_EQUAL(pl_shazptr_drain(self), 0);
	REQUIRE_EQUAL(i.number, -1);
	REQUIRE_EQUAL(pl_shazptr_synchronize(self, object, PL_SHAZPTR_SKIP_SELF_SCAN), 0);
	return 0;
}
#endif

static void a_forked_child_keeps_its_own_guards_and_has_a_scan_thread_of_its_own(void **state)
{
	(void)state;
	pl_domain *d = new_domain(16);
	pl_thread *self = pl_self_in(d), *reader = new_slot(d);
	(void)pl_shazptr_acquire(reader, object);
	writer w;
	writer_start(&w, d, object, PL_SHAZPTR_SKIP_SELF_SCAN); /* is waiting during the fork */
	require_waiting(&w);
	uint64_t guard = pl_shazptr_acquire(self, third);
#if !UNDER_TSAN
	assert_int_equal(forked(in_the_child, d), 0);
#endif
	pl_shazptr_clear(self, guard);
	require_waiting(&w);
	pl_shazptr_clear(reader, PL_HAZARD_IDLE);
	writer_join(&w);
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- several processes ---- */

typedef struct {
	uint32_t ready, go, data[16];
} page;

/* fd of the domain, fd of the page, whether to nest */
static int child_reads(int argc, char **argv)
{
	(void)argc;
	pl_domain *d;
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 0), &d), 0);
	page *p = map_file((int)number_argument(argv, 1), 4096);
	REQUIRE_EQUAL(pl_domain_attach(d, p, 4096, 9), 0);
	pl_thread *self = pl_self_in(d);
	void *source = p, *seen;
	uint64_t guard;
	REQUIRE_EQUAL(pl_shazptr_try_protect(self, &source, &seen, &guard), -EINVAL); /* addresses mean nothing here */
	guard = pl_shazptr_acquire(self, pl_shazptr_name(self, p->data));
	uint64_t nested = number_argument(argv, 2) ? pl_shazptr_acquire(self, other) : PL_NO_GUARD;
	pl_store_rel(&p->ready, 1);
	AWAIT(pl_load_acq(&p->go));
	if (nested != PL_NO_GUARD)
		REQUIRE_EQUAL(pl_shazptr_clear(self, nested), 0);
	REQUIRE_EQUAL(pl_shazptr_clear(self, guard), 0);
	return 0;
}

static void with_a_reader_in_another_process(bool nest, bool killed)
{
	int fd = shared_file(0), page_fd = shared_file(4096);
	pl_domain *d;
	REQUIRE_EQUAL(pl_domain_create_fd(fd, NULL, &d), 0);
	page *p = map_file(page_fd, 4096);
	REQUIRE_EQUAL(pl_domain_attach(d, p, 4096, 9), 0);
	for (int i = 0; i < some_ways; i++) {
		p->ready = p->go = 0;
		int pid = CHILD_START("reads", fd, page_fd, nest);
		AWAIT(pl_load_acq(&p->ready));
		pl_thread *self = new_slot(d);
		writer w;
		writer_start(&w, d, pl_shazptr_name(self, nest ? &p->data[8] : p->data), ways[i]);
		require_waiting(&w);
		if (killed)
			kill(pid, SIGKILL);
		else
			pl_store_rel(&p->go, 1);
		assert_int_equal(child_wait(pid), killed ? -SIGKILL : 0);
		writer_join(&w);
		assert_int_equal(pl_thread_release(self), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
	munmap(p, 4096);
	close(fd);
	close(page_fd);
}

static void a_writer_waits_for_readers_of_other_processes(void **state)
{
	(void)state;
	with_a_reader_in_another_process(false, false);
	with_a_reader_in_another_process(true, false);
}

static void a_reader_that_was_killed_does_not_hold_a_writer_up_for_long(void **state)
{
	(void)state;
	with_a_reader_in_another_process(false, true);
	with_a_reader_in_another_process(true, true);
}

int main(int argc, char **argv)
{
	static const child_program programs[] = {{"reads", child_reads}};
	int code = CHILD_MAIN(argc, argv, programs);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(a_guard_names_its_object_and_a_nested_one_is_a_wildcard),
		TEST(guards_end_in_reverse_order),
		TEST(bad_arguments_are_refused),
		TEST(a_writer_does_not_wait_for_itself),
		TEST(a_writer_waits_for_readers_of_its_pointer_only),
		TEST(a_request_to_the_scan_thread_waits_for_readers_of_its_pointer),
		TEST(a_writer_waits_for_a_nested_guard_that_began_before_it),
		TEST(a_nested_guard_does_not_hide_what_the_outer_one_names),
		TEST(nested_guards_that_begin_later_do_not_hold_a_writer_up),
		TEST(readers_that_nest_all_the_time_never_starve_a_writer),
		TEST(retired_objects_are_reclaimed_in_order_once_no_reader_is_left),
		TEST(a_nested_guard_holds_what_was_retired_since_it_began),
		TEST(the_backlog_is_bounded),
		TEST(a_callback_may_retire_and_wait),
		TEST(closing_a_domain_reclaims_what_waits_in_it),
		TEST(a_guard_ends_with_its_thread),
		TEST(signal_handlers_may_protect),
		TEST(a_forked_child_keeps_its_own_guards_and_has_a_scan_thread_of_its_own),
		TEST(a_writer_waits_for_readers_of_other_processes),
		TEST(a_reader_that_was_killed_does_not_hold_a_writer_up_for_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
