/* SPDX-License-Identifier: Apache-2.0 */
/* Mutex and conditions. Through the exported functions; the inline forms are mixed in by the hammers. */
#define _GNU_SOURCE
#define PL_NO_INLINE
#include "domain.h"
#include "os/os.h"
#include "support.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static pl_domain *domain;

static int make_domain(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 1024, .pool_locks = 4};
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

static void assert_free(const pl_mutex *m)
{
	assert_int_equal(m->owner, 0);
	assert_int_equal(m->state, 0);
}

/* Awake waiters have gone to sleep, so a release must wake one. */
static bool sleeps_alone(const pl_mutex *m, const pl_thread *t)
{
	return is_parked(t) && pl_q_must_kick(pl_load_acq(&m->state));
}

static void bad_input_is_refused(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain), *service = pl_domain_service(domain);
	pl_mutex m = PL_MUTEX_INIT;
	pl_cond c = PL_COND_INIT;
	_Alignas(8) char bytes[32] = {0};
	pl_mutex *crooked = (pl_mutex *)(void *)(bytes + 4);
	assert_int_equal(QUIETLY(pl_mutex_init(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_mutex_init(crooked)), -EINVAL);
	pl_thread *const threads[] = {NULL, service};
	for (int i = 0; i < 2; i++) {
		assert_int_equal(QUIETLY(pl_mutex_lock(threads[i], &m)), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_trylock(threads[i], &m)), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_unlock(threads[i], &m)), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_release(threads[i], &m)), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_lock_wait(threads[i], &m, 0, 0)), -EINVAL);
		assert_int_equal(QUIETLY(pl_cond_wait(threads[i], &c, &m, 0, 0)), -EINVAL);
		assert_int_equal(QUIETLY(pl_cond_signal(threads[i], &c, &m)), -EINVAL);
	}
	assert_int_equal(QUIETLY(pl_mutex_lock_inline(NULL, &m)), -EINVAL);
	assert_int_equal(QUIETLY(pl_mutex_unlock_inline(NULL, &m)), -EINVAL);
	pl_mutex *const mutexes[] = {NULL, crooked};
	for (int i = 0; i < 2; i++) {
		assert_int_equal(QUIETLY(pl_mutex_lock(self, mutexes[i])), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_trylock(self, mutexes[i])), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_unlock(self, mutexes[i])), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_lock_wait(self, mutexes[i], 0, 0)), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_kick(self, mutexes[i], 1)), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_is_locked(mutexes[i])), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_is_contended(mutexes[i])), -EINVAL);
		assert_int_equal(QUIETLY(pl_mutex_owner(mutexes[i])), -EINVAL);
		assert_int_equal(QUIETLY(pl_cond_wait(self, &c, mutexes[i], 0, 0)), -EINVAL);
	}
	assert_int_equal(QUIETLY(pl_mutex_lock_wait(self, &m, PL_WAIT_SPIN, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_cond_init(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_cond_wait(self, NULL, &m, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_cond_broadcast(self, NULL, &m)), -EINVAL);
	pl_cond garbage = {{.lock = 0x7fffffff}};
	assert_int_equal(QUIETLY(pl_cond_signal(self, &garbage, &m)), -EINVAL);
	assert_free(&m);
}

static void only_the_owner_unlocks_and_it_locks_once(void **state)
{
	(void)state;
	pl_thread *a = new_slot(), *b = new_slot();
	pl_mutex m;
	assert_int_equal(pl_mutex_init(&m), 0);
	assert_int_equal(QUIETLY(pl_mutex_unlock(a, &m)), -EPERM);
	assert_int_equal(QUIETLY(pl_mutex_lock(a, &m)), 0);
	assert_int_equal(pl_mutex_is_locked(&m), 1);
	assert_int_equal(pl_mutex_owner(&m), a->index);
	assert_int_equal(QUIETLY(pl_mutex_lock(a, &m)), -EDEADLK);
	assert_int_equal(QUIETLY(pl_mutex_lock_inline(a, &m)), -EDEADLK);
	assert_int_equal(QUIETLY(pl_mutex_lock_wait(a, &m, 0, 0)), -EDEADLK);
	assert_int_equal(QUIETLY(pl_mutex_trylock(a, &m)), -EBUSY);
	assert_int_equal(QUIETLY(pl_mutex_trylock(b, &m)), -EBUSY);
	assert_int_equal(QUIETLY(pl_mutex_unlock(b, &m)), -EPERM);
	assert_int_equal(QUIETLY(pl_mutex_unlock_inline(b, &m)), -EPERM);
	assert_int_equal(QUIETLY(pl_mutex_release(b, &m)), -EPERM);
	assert_int_equal(QUIETLY(pl_mutex_lock_wait(b, &m, 0, 0)), -ETIMEDOUT);
	assert_int_equal(QUIETLY(pl_mutex_lock_wait(b, &m, PL_WAIT_BLOCK, 50 * us)), -ETIMEDOUT);
	assert_int_equal(m.state, 0);
	assert_int_equal(QUIETLY(pl_mutex_unlock_inline(a, &m)), 0);
	assert_free(&m);
	assert_int_equal(pl_thread_release(a), 0);
	assert_int_equal(pl_thread_release(b), 0);
}

/* ---- a waiter on a thread of its own ---- */

typedef struct {
	pl_mutex m;
	pl_cond cond;
	pl_thread *slot;
	uint32_t flags, done, woken;
	int64_t timeout;
	int result, waiters;
	long switches; /* of the waiters; protected by m */
} wait_game;

static void wait_once(int index, void *shared)
{
	(void)index;
	wait_game *g = shared;
	g->result = pl_mutex_lock_wait(g->slot, &g->m, g->flags, g->timeout);
	if (g->result == 0)
		REQUIRE_EQUAL(pl_mutex_unlock(g->slot, &g->m), 0);
	pl_store_rel(&g->done, 1);
}

/* Row 19: the flags that the only waiter set are gone when it leaves, so that the fast path works again. */
static void row_19_flags_are_gone_when_the_only_waiter_leaves(void **state)
{
	(void)state;
	enum { interruption, timeout, poison, ways };
	static const uint32_t modes[] = {0, PL_WAIT_BLOCK, PL_WAIT_POLL};
	pl_thread *self = pl_self_in(domain);
	for (int way = 0; way < ways; way++)
		for (int mode = 0; mode < 3; mode++) {
			wait_game g = {.slot = new_slot(), .flags = modes[mode] | PL_WAIT_INTERRUPTIBLE};
			g.timeout = way == timeout ? 5 * ms : PL_FOREVER;
			assert_int_equal(pl_mutex_lock(self, &g.m), 0);
			crew *c = crew_start(1, wait_once, &g);
			AWAIT(is_parked(g.slot) || pl_load_acq(&g.done));
			if (way == interruption)
				assert_int_equal(pl_thread_interrupt(g.slot), 0);
			if (way == poison) {
				pl_or_ar(&g.m.state, PL_M_POISON);
				pl_or_ar(&g.m.owner, PL_M_POISON);
				pl_thread_interrupt(g.slot); /* rouses it */
			}
			crew_join(c);
			static const int results[] = {-EINTR, -ETIMEDOUT, -ESHUTDOWN};
			assert_int_equal(g.result, results[way]);
			assert_int_equal(g.m.state & ~PL_M_POISON, 0);
			assert_int_equal(pl_mutex_unlock(self, &g.m), 0);
			assert_int_equal(pl_mutex_release_inline(&g.m), false); /* nothing to be woken for */
			if (way == poison)
				assert_int_equal(QUIETLY(pl_mutex_lock(self, &g.m)), -ESHUTDOWN);
			else
				assert_free(&g.m);
			pl_thread_clear_interrupt(g.slot);
			assert_int_equal(pl_thread_release(g.slot), 0);
		}
}


typedef struct {
	pl_mutex m;
	int64_t counter;
	uint32_t stop, inside, with_cond;
	pl_cond cond;
	uint64_t got[64], failed[64];
	pl_thread *slots[64];
} hammer;

static void hammer_away(int index, void *shared)
{
	static const uint32_t modes[] = {0, 0, PL_WAIT_BLOCK, PL_WAIT_POLL};
	hammer *h = shared;
	pl_thread *self = pl_self_in(domain);
	REQUIRE(self);
	__atomic_store_n(&h->slots[index], self, __ATOMIC_RELEASE);
	uint32_t random = 4711 + 13 * (uint32_t)index;
	while (!pl_load_acq(&h->stop)) {
		uint32_t r = random_next(&random), flags = modes[r & 3] | (r & 16 ? PL_WAIT_INTERRUPTIBLE : 0);
		int64_t timeout = r & 0xe0 ? PL_FOREVER : (int64_t)(r >> 12) % ms;
		int err;
		if (r & 0x100 || !timeout)
			err = pl_mutex_lock_wait(self, &h->m, flags, timeout);
		else
			err = r & 0x600 ? pl_mutex_lock_inline(self, &h->m) : pl_mutex_trylock(self, &h->m);
		if (err) {
			REQUIRE(err == -ETIMEDOUT || err == -EBUSY || err == -EINTR);
			h->failed[index]++;
			continue;
		}
		REQUIRE_EQUAL(h->inside++, 0);
		h->counter++;
		if (r % 32 == 0)
			sched_yield();
		h->inside--;
		h->got[index]++;
		if (h->with_cond && r % 8 == 1) {
			err = pl_cond_wait(self, &h->cond, &h->m, PL_WAIT_INTERRUPTIBLE, (int64_t)(r >> 10) % (2 * ms));
			REQUIRE(err == 0 || err == -ETIMEDOUT || err == -EINTR);
			REQUIRE_EQUAL(h->inside++, 0);
			h->inside--;
		} else if (h->with_cond && r % 8 == 2) {
			REQUIRE(pl_cond_signal(self, &h->cond, &h->m) >= 0);
		} else if (h->with_cond && r % 64 == 3) {
			REQUIRE(pl_cond_broadcast(self, &h->cond, &h->m) >= 0);
		}
		REQUIRE_EQUAL(r & 0x800 ? pl_mutex_unlock_inline(self, &h->m) : pl_mutex_unlock(self, &h->m), 0);
		if (r & 0x1000)
			pl_thread_interrupt(__atomic_load_n(&h->slots[r >> 26], __ATOMIC_ACQUIRE));
	}
	pl_thread_clear_interrupt(self);
}

static void one_owner_at_a_time(int threads, uint32_t cpus, bool with_cond, unsigned milliseconds)
{
	uint32_t real = pl_os_cpus;
	pl_os_cpus = cpus;
	hammer h = {.with_cond = with_cond};
	crew *c = crew_start(threads, hammer_away, &h);
	sleep_us(milliseconds * 1000);
	pl_store_rel(&h.stop, 1);
	crew_join(c);
	pl_os_cpus = real;
	uint64_t got = 0;
	for (int i = 0; i < threads; i++)
		got += h.got[i];
	assert_int_equal(h.counter, (int64_t)got);
	assert_free(&h.m);
	assert_int_equal(h.cond.line.head | h.cond.line.tail | h.cond.line.lock, 0);
}

static void one_owner_at_a_time_with_two_cpus(void **state)
{
	(void)state;
	one_owner_at_a_time(2, 2, false, (unsigned)scaled(200));
	one_owner_at_a_time(16, 2, false, (unsigned)scaled(400));
}

/* With more CPUs than this machine may have, the spinners form a queue. */
static void one_owner_at_a_time_with_many_spinners(void **state)
{
	(void)state;
	one_owner_at_a_time(16, 64, false, (unsigned)scaled(600));
	one_owner_at_a_time(64, 64, false, (unsigned)scaled(600));
}

static void one_owner_at_a_time_with_conditions(void **state)
{
	(void)state;
	one_owner_at_a_time(3, 2, true, (unsigned)scaled(300));
	one_owner_at_a_time(64, 64, true, (unsigned)scaled(800));
}

/* ---- hand-off ---- */

static void try_again_and_again(int index, void *shared)
{
	wait_game *g = shared;
	if (index == 0) {
		wait_once(0, g);
		return;
	}
	pl_thread *self = pl_self_in(domain); /* the owner that never stays away for long */
	while (!pl_load_acq(&g->done)) {
		int err = pl_mutex_lock_wait(self, &g->m, g->flags, PL_FOREVER);
		REQUIRE_EQUAL(err, 0);
		for (uint64_t end = now_ns() + 20 * us; now_ns() < end;)
			;
		REQUIRE_EQUAL(pl_mutex_unlock(self, &g->m), 0);
	}
}

static void waiter_gets_the_mutex_from_an_owner_that_always_comes_back(void **state)
{
	(void)state;
	static const uint32_t modes[] = {0, PL_WAIT_BLOCK, PL_WAIT_POLL};
	for (int mode = 0; mode < 3; mode++)
		for (uint64_t i = scaled(20); i; i--) {
			wait_game g = {.slot = new_slot(), .flags = modes[mode], .timeout = PL_FOREVER};
			crew_run(2, try_again_and_again, &g);
			assert_int_equal(g.result, 0);
			assert_free(&g.m);
			assert_int_equal(pl_thread_release(g.slot), 0);
		}
}

static void mutex_handed_off_is_left_to_its_receiver(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	pl_mutex m = {0, PL_M_HANDOFF};
	assert_int_equal(QUIETLY(pl_mutex_trylock(self, &m)), -EBUSY);
	assert_int_equal(QUIETLY(pl_mutex_lock_wait(self, &m, 0, 100 * us)), -ETIMEDOUT);
	assert_int_equal(m.state, PL_M_HANDOFF);
	/* Its receiver never comes: void after a while. */
	uint64_t start = now_ns();
	assert_int_equal(QUIETLY(pl_mutex_lock(self, &m)), 0);
	assert_true(now_ns() - start >= PL_RESERVATION_NS);
	assert_int_equal(pl_mutex_unlock(self, &m), 0);
	assert_free(&m);
}

/* A waiter woken by a release that was stopped before it acts: the next in line notices. */
static void killed_spinner_does_not_silence_wake_ups(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	wait_game g = {.slot = new_slot(), .timeout = PL_FOREVER};
	assert_int_equal(pl_mutex_lock(self, &g.m), 0);
	crew *c = crew_start(1, wait_once, &g);
	AWAIT(sleeps_alone(&g.m, g.slot));
	pl_or_ar(&g.m.state, PL_M_SPINNER); /* somebody was chosen, and never runs */
	assert_int_equal(pl_mutex_unlock(self, &g.m), 0);
	crew_join(c);
	assert_int_equal(g.result, 0);
	assert_free(&g.m);
	assert_int_equal(pl_thread_release(g.slot), 0);
}

static void closed_domain_refuses_its_mutexes(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 4, .pool_locks = 1};
	pl_domain *d = NULL;
	void *word = NULL;
	assert_int_equal(pl_domain_create(&o, &d), 0);
	assert_int_equal(pl_domain_pool_take(d, &word), 0);
	pl_mutex *m = word;
	pl_thread *self = pl_self_in(d);
	assert_int_equal(pl_mutex_lock(self, m), 0);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, m)), -EBUSY);
	assert_int_equal(pl_domain_poison(d), 0);
	assert_int_equal(QUIETLY(pl_mutex_trylock(self, m)), -ESHUTDOWN);
	assert_int_equal(QUIETLY(pl_mutex_unlock(self, m)), 0);
	assert_int_equal(QUIETLY(pl_mutex_trylock(self, m)), -ESHUTDOWN);
	assert_int_equal(QUIETLY(pl_mutex_lock(self, m)), -ESHUTDOWN);
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- conditions ---- */

/* Voluntary context switches of the calling thread. */
static long own_switches(void)
{
	struct rusage r;
	REQUIRE_EQUAL(getrusage(RUSAGE_THREAD, &r), 0);
	return r.ru_nvcsw;
}

static void cond_wait_once(int index, void *shared)
{
	(void)index;
	wait_game *g = shared;
	pl_thread *self = g->slot ? g->slot : pl_self_in(domain);
	REQUIRE(self);
	REQUIRE_EQUAL(pl_mutex_lock(self, &g->m), 0);
	g->waiters++;
	long before = own_switches();
	int err = pl_cond_wait(self, &g->cond, &g->m, g->flags, g->timeout);
	g->switches += own_switches() - before;
	REQUIRE_EQUAL(pl_mutex_owner(&g->m), self->index);
	g->waiters--;
	g->woken++;
	g->result = err;
	REQUIRE_EQUAL(pl_mutex_unlock(self, &g->m), 0);
}

static int waiters_of(wait_game *g, pl_thread *self)
{
	REQUIRE_EQUAL(pl_mutex_lock(self, &g->m), 0);
	int n = g->waiters;
	REQUIRE_EQUAL(pl_mutex_unlock(self, &g->m), 0);
	return n;
}

static void condition_needs_the_mutex(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	pl_mutex m = PL_MUTEX_INIT;
	pl_cond c;
	assert_int_equal(pl_cond_init(&c), 0);
	assert_int_equal(QUIETLY(pl_cond_wait(self, &c, &m, 0, 0)), -EPERM);
	assert_int_equal(QUIETLY(pl_cond_signal(self, &c, &m)), -EPERM);
	assert_int_equal(QUIETLY(pl_cond_broadcast(self, &c, &m)), -EPERM);
	assert_int_equal(pl_mutex_lock(self, &m), 0);
	assert_int_equal(QUIETLY(pl_cond_signal(self, &c, &m)), 0); /* nobody waits */
	assert_int_equal(QUIETLY(pl_cond_wait(self, &c, &m, PL_WAIT_SPIN, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_cond_wait(self, &c, &m, 0, 2 * ms)), -ETIMEDOUT);
	assert_int_equal(pl_mutex_owner(&m), self->index);
	assert_int_equal(pl_thread_interrupt(self), 0);
	assert_int_equal(QUIETLY(pl_cond_wait(self, &c, &m, PL_WAIT_INTERRUPTIBLE, PL_FOREVER)), -EINTR);
	assert_int_equal(pl_mutex_unlock(self, &m), 0);
	assert_free(&m);
	assert_int_equal(c.line.head, 0);
}

static void signal_moves_one_waiter_and_broadcast_all(void **state)
{
	(void)state;
	enum { some = 5 };
	pl_thread *self = pl_self_in(domain);
	wait_game g = {.timeout = PL_FOREVER};
	crew *c = crew_start(some, cond_wait_once, &g);
	AWAIT(waiters_of(&g, self) == some);
	assert_int_equal(pl_mutex_lock(self, &g.m), 0);
	assert_int_equal(QUIETLY(pl_cond_signal(self, &g.cond, &g.m)), 1);
	assert_int_equal(pl_mutex_unlock(self, &g.m), 0);
	AWAIT(waiters_of(&g, self) == some - 1);
	assert_int_equal(pl_mutex_lock(self, &g.m), 0);
	assert_int_equal(g.woken, 1);
	assert_int_equal(QUIETLY(pl_cond_broadcast(self, &g.cond, &g.m)), some - 1);
	assert_int_equal(pl_mutex_unlock(self, &g.m), 0);
	crew_join(c);
	assert_int_equal(g.woken, some);
	assert_int_equal(g.result, 0);
	assert_free(&g.m);
}

/* A signal that comes before the time-out counts, though the mutex is to be had only long after it. */
static void signalled_waiter_does_not_time_out(void **state)
{
	(void)state;
	pl_thread *self = pl_self_in(domain);
	wait_game g = {.slot = new_slot(), .flags = PL_WAIT_INTERRUPTIBLE, .timeout = 200 * ms};
	crew *c = crew_start(1, cond_wait_once, &g);
	AWAIT(waiters_of(&g, self) == 1);
	assert_int_equal(pl_mutex_lock(self, &g.m), 0);
	assert_int_equal(pl_cond_signal(self, &g.cond, &g.m), 1);
	assert_int_equal(pl_thread_interrupt(g.slot), 0);
	sleep_us(300000);
	assert_int_equal(pl_mutex_unlock(self, &g.m), 0);
	crew_join(c);
	assert_int_equal(g.result, 0);
	assert_int_equal(pl_thread_clear_interrupt(g.slot), 1); /* kept for the next wait */
	assert_free(&g.m);
	assert_int_equal(pl_thread_release(g.slot), 0);
}

static void broadcast_is_no_herd(void **state)
{
	(void)state;
	int waiters = UNDER_TSAN ? 100 : (int)(scaled(1000) < 20 ? 20 : scaled(1000));
	pl_thread *self = pl_self_in(domain);
	wait_game g = {.timeout = PL_FOREVER};
	crew *c = crew_start(waiters, cond_wait_once, &g);
	AWAIT(waiters_of(&g, self) == waiters);
	sleep_us(20000); /* the last one sleeps */
	assert_int_equal(pl_mutex_lock(self, &g.m), 0);
	assert_int_equal(QUIETLY(pl_cond_broadcast(self, &g.cond, &g.m)), waiters);
	assert_int_equal(pl_mutex_unlock(self, &g.m), 0);
	crew_join(c);
	/* One of each waiter is its sleep for the condition; a herd adds several, for the mutex. */
	if (g.switches > waiters * 13 / 10)
		test_failed(__FILE__, __LINE__, "voluntary context switches", g.switches);
	assert_int_equal(g.woken, waiters);
	assert_free(&g.m);
}

/* ---- two processes ---- */

typedef struct {
	pl_mutex m;
	pl_cond cond;
	int64_t counter;
	uint32_t ready;
} shared_page;

enum { page_bytes = 4096, rounds_there = 3000 };

static int other_process(int argc, char **argv)
{
	(void)argc;
	pl_domain *d = NULL;
	shared_page *page = map_file((int)number_argument(argv, 1), page_bytes);
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 0), &d), 0);
	REQUIRE_EQUAL(pl_domain_attach(d, page, page_bytes, 1), 0);
	pl_thread *self = pl_self_in(d);
	REQUIRE_EQUAL(pl_mutex_lock(self, &page->m), 0);
	while (!page->ready)
		REQUIRE_EQUAL(pl_cond_wait(self, &page->cond, &page->m, 0, PL_FOREVER), 0);
	REQUIRE_EQUAL(pl_mutex_unlock(self, &page->m), 0);
	for (uint64_t i = scaled(rounds_there); i; i--) {
		REQUIRE_EQUAL(pl_mutex_lock(self, &page->m), 0);
		page->counter++;
		REQUIRE_EQUAL(pl_mutex_unlock(self, &page->m), 0);
	}
	return 0;
}

static void two_processes_share_a_mutex_and_a_condition(void **state)
{
	(void)state;
	pl_domain_options o = {.slots = 64};
	pl_domain *d = NULL;
	int domain_fd = shared_file(pl_domain_size(&o)), page_fd = shared_file(page_bytes);
	assert_int_equal(pl_domain_create_fd(domain_fd, &o, &d), 0);
	shared_page *page = map_file(page_fd, page_bytes);
	assert_int_equal(pl_domain_attach(d, page, page_bytes, 1), 0);
	int child = CHILD_START("other", domain_fd, page_fd);
	pl_thread *self = pl_self_in(d);
	AWAIT(pl_load_acq(&page->cond.line.head));
	assert_int_equal(pl_mutex_lock(self, &page->m), 0);
	page->ready = 1;
	assert_int_equal(pl_cond_broadcast(self, &page->cond, &page->m), 1);
	assert_int_equal(pl_mutex_unlock(self, &page->m), 0);
	for (uint64_t i = scaled(rounds_there); i; i--) {
		assert_int_equal(pl_mutex_lock(self, &page->m), 0);
		page->counter++;
		assert_int_equal(pl_mutex_unlock(self, &page->m), 0);
	}
	assert_int_equal(child_wait(child), 0);
	assert_int_equal(page->counter, (int64_t)(2 * scaled(rounds_there)));
	assert_free(&page->m);
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- fork ---- */

static int unlock_in_child(void *of)
{
	pl_mutex *m = of;
	pl_thread *self = pl_self_in(domain);
	REQUIRE_EQUAL(pl_mutex_owner(m), self->index);
	REQUIRE_EQUAL(pl_mutex_unlock(self, m), 0);
	REQUIRE_EQUAL(pl_mutex_lock(self, m), 0);
	return 0;
}

static void forked_child_keeps_what_its_thread_owned(void **state)
{
	(void)state;
	void *word = NULL;
	assert_int_equal(pl_domain_pool_take(domain, &word), 0);
	pl_mutex *m = word;
	pl_thread *self = pl_self_in(domain);
	assert_int_equal(pl_mutex_lock(self, m), 0);
	assert_int_equal(forked(unlock_in_child, m), 0);
	assert_int_equal(pl_mutex_unlock(self, m), 0);
	assert_int_equal(pl_domain_pool_give(domain, m), 0);
}

int main(int argc, char **argv)
{
	static const child_program programs[] = {{"other", other_process}};
	int child = CHILD_MAIN(argc, argv, programs);
	if (child >= 0)
		return child;
	const struct CMUnitTest tests[] = {
		TEST(bad_input_is_refused),
		TEST(only_the_owner_unlocks_and_it_locks_once),
		TEST(row_19_flags_are_gone_when_the_only_waiter_leaves),
		TEST(one_owner_at_a_time_with_two_cpus),
		TEST(one_owner_at_a_time_with_many_spinners),
		TEST(one_owner_at_a_time_with_conditions),
		TEST(waiter_gets_the_mutex_from_an_owner_that_always_comes_back),
		TEST(mutex_handed_off_is_left_to_its_receiver),
		TEST(killed_spinner_does_not_silence_wake_ups),
		TEST(closed_domain_refuses_its_mutexes),
		TEST(condition_needs_the_mutex),
		TEST(signal_moves_one_waiter_and_broadcast_all),
		TEST(signalled_waiter_does_not_time_out),
		TEST(broadcast_is_no_herd),
		TEST(two_processes_share_a_mutex_and_a_condition),
		TEST(forked_child_keeps_what_its_thread_owned),
	};
	return cmocka_run_group_tests(tests, make_domain, close_domain);
}
