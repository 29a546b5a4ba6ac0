/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scan thread: one a process, started when first needed. It looks at the slots of a domain once for everything that
 * waits there: retired objects, and callers of synchronize that did not look themselves or gave up looking.
 *
 * A request is a pl_shazptr_retired; for a caller that waits it lies on its stack and its `reclaim` wakes it.
 *   incoming  pushed by anybody, taken as a whole by the scan thread (G11, G12)
 *   pending   the scan thread's, oldest first, under `lock`
 * `blocked` is what of the request's slots has not let it pass yet, in 64 groups; a pass can only clear bits of it.
 * `epoch` is 0 until a pass has fenced and raised the epoch for it, then the number that wildcards must have, then 1 once
 * a pass saw no older wildcard.
 *
 * The request's name is filled in where the request is made: a scan that compared with nothing would let everything pass
 * (bug row 31). `lock` is held during a pass and by whoever forks, never while anybody's `reclaim` runs.
 */
#define PL_NO_INLINE
#include "hazard.h"
#include "os/os.h"
#include "os/pthread.h"
#include "scan.h"

#include <errno.h>
#include <stdlib.h>

typedef pl_shazptr_retired request;

enum {
	batch = 64,                /* retired objects that are worth a pass of their own */
	batch_delay_ns = 1000000,  /* how long fewer of them wait for more */
	first_nap_ns = 50000,      /* between passes that left something; doubles up to */
	longest_nap_ns = 2000000,
	orphans_after_ns = 10000000, /* in the way for so long: does its thread still live? */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static request *incoming;          /* newest first */
static request *pending, **pending_end = &pending;
static uint64_t spliced;           /* tickets given out, under the lock */
static uint64_t oldest_live = 1;   /* every request with a smaller ticket is done */
static uint32_t bell, progress;    /* futexes: there is something to do; something was reclaimed */
static uint32_t backlog;           /* requests that are not reclaimed yet, those about to be pushed included */
static uint32_t urgent, running, started, used;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread bool is_scan_thread __attribute__((tls_model("initial-exec")));

/* ---- a pass ---- */

typedef struct {
	uint64_t name, groups;
} seen_hazard;

/* What one look at the slots of a domain found. Memory is kept from pass to pass. */
static struct {
	seen_hazard *names;
	size_t room, count;
	uint64_t oldest_wildcard; /* its number; UINT64_MAX: none */
} snapshot;

static int by_name(const void *a, const void *b)
{
	uint64_t x = ((const seen_hazard *)a)->name, y = ((const seen_hazard *)b)->name;
	return x < y ? -1 : x > y;
}

static void sort_and_merge(void)
{
	size_t merged = 0;
	qsort(snapshot.names, snapshot.count, sizeof *snapshot.names, by_name);
	for (size_t i = 0; i < snapshot.count; i++)
		if (merged && snapshot.names[merged - 1].name == snapshot.names[i].name)
			snapshot.names[merged - 1].groups |= snapshot.names[i].groups;
		else
			snapshot.names[merged++] = snapshot.names[i];
	snapshot.count = merged;
}

/* False when there is no memory for it. */
static bool look(pl_domain *domain, bool orphans)
{
	if (snapshot.room < domain->slots) {
		seen_hazard *more = realloc(snapshot.names, domain->slots * sizeof *more);
		if (!more)
			return false;
		snapshot.names = more;
		snapshot.room = domain->slots;
	}
	snapshot.count = 0;
	snapshot.oldest_wildcard = UINT64_MAX;
	pl_scan scan;
	pl_scan_begin(&scan, domain);
	for (pl_thread *slot; (slot = pl_scan_next(&scan));) {
		uint64_t hazard = pl_hazard_of(slot);
		if (hazard < PL_HAZARD_FIRST_NAME || (orphans && pl_slot_orphaned(domain, slot)))
			continue;
		snapshot.names[snapshot.count++] = (seen_hazard){hazard, pl_scan_group(domain, slot)};
		uint64_t wildcard = pl_wildcard_of(slot);
		if (wildcard && wildcard >> PL_WILDCARD_SHIFT < snapshot.oldest_wildcard)
			snapshot.oldest_wildcard = wildcard >> PL_WILDCARD_SHIFT;
	}
	sort_and_merge();
	return true;
}

static uint64_t groups_of(uint64_t name)
{
	size_t low = 0, high = snapshot.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (snapshot.names[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low < snapshot.count && snapshot.names[low].name == name ? snapshot.names[low].groups : 0;
}

/* True when nothing is in its way any more. */
static bool passes(request *r)
{
	r->blocked &= groups_of(r->name);
	if (snapshot.oldest_wildcard >= r->epoch)
		r->epoch = 1;
	return !r->blocked && r->epoch == 1;
}

/* Fences, and numbers what is new. */
static void prepare(pl_domain *domain)
{
	uint64_t epoch = 0;
	for (request *r = pending; r; r = r->next)
		if (r->domain == domain && r->epoch == 0)
			r->epoch = epoch ? epoch : (epoch = pl_scan_raise(domain));
	if (epoch)
		pl_scan_fence(domain);
}

/* Moves the request at @from to the list whose end @end is. */
static void move(request **from, request ***end)
{
	request *r = *from;
	*from = r->next;
	r->next = NULL;
	**end = r;
	*end = &r->next;
}

/* Appends what came in, in the order in which it came, with rising tickets. */
static void splice(void)
{
	request *r = __atomic_exchange_n(&incoming, NULL, __ATOMIC_ACQUIRE); /* G12: acquire, pairs with G11 */
	request *first = NULL, *last = r;
	while (r) {
		request *next = r->next;
		r->next = first;
		first = r;
		r = next;
	}
	for (r = first; r; r = r->next)
		r->ticket = ++spliced;
	if (first) {
		*pending_end = first;
		pending_end = &last->next;
	}
}

/* Every domain once; returns what may be reclaimed. */
static request *pass(bool orphans)
{
	request *ready = NULL, **ready_end = &ready, *kept = NULL, **kept_end = &kept;
	splice();
	while (pending) {
		pl_domain *domain = pending->domain;
		prepare(domain);
		bool looked = look(domain, orphans);
		for (request **at = &pending; *at;)
			if ((*at)->domain == domain)
				move(at, looked && passes(*at) ? &ready_end : &kept_end);
			else
				at = &(*at)->next;
	}
	pending = kept;
	pending_end = kept ? kept_end : &pending;
	return ready;
}

/* Calls back; each may be freed by it. */
static void reclaim_all(request *ready)
{
	while (ready) {
		request *next = ready->next;
		pl_sub_rel(&backlog, 1); /* G13: a counter; pairs with itself */
		ready->reclaim(ready);
		ready = next;
	}
}

/* Under the lock, after callbacks ran: everything before this ticket is done. */
static void note_progress(void)
{
	splice();
	uint64_t oldest = spliced + 1;
	for (request *r = pending; r; r = r->next)
		oldest = r->ticket < oldest ? r->ticket : oldest;
	pl_store64_rel(&oldest_live, oldest); /* G14: release, what the callbacks did; pairs with G15 */
	pl_add_ar(&progress, 1); /* G14 */
	pl_futex_wake(&progress, UINT32_MAX, 0);
}

/* ---- the thread ---- */

static void *run(void *unused)
{
	(void)unused;
	is_scan_thread = true;
	int64_t nap = first_nap_ns;
	uint64_t look_for_orphans = 0; /* when; 0: nothing was left behind */
	for (;;) {
		uint32_t rung = pl_load_acq(&bell); /* G16: acquire, pairs with G17 */
		uint32_t hurry = pl_swap_ar(&urgent, 0); /* G16 */
		if (!hurry && !look_for_orphans && pl_load_rlx(&backlog) < batch) {
			/* Wait for something, then a moment for more of it. */
			bool something = pl_load_rlx(&backlog) != 0;
			pl_futex_wait(&bell, rung, something ? batch_delay_ns : PL_FOREVER, 0);
			if (!something)
				continue;
			pl_swap_ar(&urgent, 0); /* G16 */
		}
		uint64_t now = pl_os_now();
		pthread_mutex_lock(&lock);
		bool orphans = look_for_orphans && now >= look_for_orphans;
		request *ready = pass(orphans);
		pl_store_rlx(&running, ready != NULL);
		pthread_mutex_unlock(&lock);
		bool moved = ready != NULL;
		reclaim_all(ready);
		pthread_mutex_lock(&lock);
		pl_store_rlx(&running, 0);
		if (moved)
			note_progress();
		bool left = pending != NULL;
		pthread_mutex_unlock(&lock);
		if (!left) {
			look_for_orphans = 0;
			nap = first_nap_ns;
			continue;
		}
		if (!look_for_orphans || orphans)
			look_for_orphans = now + orphans_after_ns;
		if (moved)
			nap = first_nap_ns;
		pl_futex_wait(&bell, rung, nap, 0);
		nap = nap * 2 < longest_nap_ns ? nap * 2 : longest_nap_ns;
	}
	return NULL;
}

static int start(void)
{
	if (PL_LIKELY(pl_load_acq(&started))) /* G18: acquire, pairs with itself */
		return 0;
	pthread_mutex_lock(&lock);
	int err = 0;
	if (!pl_load_rlx(&started)) {
		pthread_t thread;
		pthread_attr_t attributes;
		pl_os_signals saved;
		pthread_attr_init(&attributes);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		pl_os_block_signals(&saved); /* the program's handlers are not to run on it */
		err = pthread_create(&thread, &attributes, run, NULL);
		pl_os_restore_signals(&saved);
		pthread_attr_destroy(&attributes);
		if (!err)
			pl_store_rel(&started, 1); /* G18: release, pairs with itself */
	}
	pthread_mutex_unlock(&lock);
	return err ? -ENOMEM : 0;
}

static void ring(void)
{
	pl_add_ar(&bell, 1); /* G17: release, the request before the ring; pairs with G16 */
	pl_futex_wake(&bell, 1, 0);
}

/* ---- callers that wait ---- */

typedef struct {
	request request; /* first */
	uint32_t done;
} waiter;

static void wake_waiter(request *r)
{
	uint32_t *done = &((waiter *)(void *)r)->done;
	/* The waiter may return, and its stack be used for something else, as soon as it sees this; waking an address that
	 * nobody sleeps on does no harm. */
	pl_store_rel(done, 1); /* G19: release, what the readers read; pairs with G20 */
	pl_futex_wake(done, 1, 0);
}

/* ---- fork: the child has no scan thread, and what its parent's was calling back is the parent's ---- */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork_parent(void) { pthread_mutex_unlock(&lock); }

static void after_fork_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	started = urgent = running = 0;
	splice();
	/* Who waited for a request was another thread of the parent. */
	request *kept = NULL, **kept_end = &kept, *gone = NULL, **gone_end = &gone;
	for (backlog = 0; pending;)
		if (pending->reclaim == wake_waiter) {
			move(&pending, &gone_end);
		} else {
			move(&pending, &kept_end);
			backlog++;
		}
	pending = kept;
	pending_end = kept ? kept_end : &pending;
	oldest_live = kept ? kept->ticket : spliced + 1;
	is_scan_thread = false;
}

static void once_init(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	pl_store_rlx(&used, 1);
}

/* ---- requests ---- */

static void push(request *r)
{
	request *head = __atomic_load_n(&incoming, __ATOMIC_RELAXED);
	do
		r->next = head;
	while (!__atomic_compare_exchange_n(&incoming, &head, r, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)); /* G11: release, the request; pairs with G12 */
}

static bool inside_guard(const pl_thread *self) { return pl_hazard_active(self); }

/* Waits for room in the backlog. */
static int await_room(const pl_thread *self)
{
	while (pl_load_rlx(&backlog) >= PL_RETIRE_BACKLOG && !is_scan_thread) {
		uint32_t seen = pl_load_acq(&progress); /* G15 */
		if (inside_guard(self))
			return -EAGAIN;
		if (pl_load_rlx(&backlog) >= PL_RETIRE_BACKLOG)
			pl_futex_wait(&progress, seen, longest_nap_ns, 0);
	}
	return 0;
}

int pl_shazptr_retire(pl_thread *self, pl_shazptr_retired *retired, uint64_t name, void (*reclaim)(pl_shazptr_retired *))
{
	if (!self || (uintptr_t)self % _Alignof(pl_thread) || !retired || (uintptr_t)retired % _Alignof(pl_shazptr_retired) ||
	    name < PL_HAZARD_FIRST_NAME || !reclaim)
		return -EINVAL;
	pthread_once(&once, once_init);
	int err = start();
	if (!err)
		err = await_room(self);
	if (err)
		return err;
	*retired = (request){
		.domain = pl_thread_domain(self),
		.name = name,
		.reclaim = reclaim,
		.blocked = UINT64_MAX,
	};
	uint32_t waiting = pl_add_ar(&backlog, 1) + 1; /* G13 */
	push(retired);
	if (waiting == 1 || waiting % batch == 0)
		ring();
	return 0;
}

int pl_shazptr_drain(pl_thread *self)
{
	if (!self || (uintptr_t)self % _Alignof(pl_thread))
		return -EINVAL;
	if (inside_guard(self) || is_scan_thread)
		return -EDEADLK;
	if (!pl_load_rlx(&used))
		return 0;
	pthread_mutex_lock(&lock);
	splice(); /* what was retired before has a ticket now */
	uint64_t last = spliced;
	pthread_mutex_unlock(&lock);
	for (;;) {
		uint32_t seen = pl_load_acq(&progress); /* G15 */
		if (pl_load64_acq(&oldest_live) > last) /* G15: acquire, pairs with G14 */
			return 0;
		if (start())
			return -ENOMEM;
		pl_swap_ar(&urgent, 1); /* G17 */
		ring();
		pl_futex_wait(&progress, seen, longest_nap_ns, 0);
	}
}

int pl_scan_thread_wait(pl_domain *domain, uint64_t name, uint64_t blocked, uint64_t epoch)
{
	pthread_once(&once, once_init);
	if (is_scan_thread || start()) /* a callback that waits looks itself */
		return -ENOMEM;
	waiter w = {.request = {.domain = domain, .name = name, .blocked = blocked, .epoch = epoch, .reclaim = wake_waiter}};
	pl_add_ar(&backlog, 1); /* G13 */
	push(&w.request);
	pl_swap_ar(&urgent, 1); /* G17 */
	ring();
	while (!pl_load_acq(&w.done)) /* G20: acquire, pairs with G19 */
		pl_futex_wait(&w.done, 0, PL_FOREVER, 0);
	return 0;
}

/* ---- closing a domain ---- */

void pl_shazptr_close(pl_domain *domain)
{
	if (!pl_load_rlx(&used))
		return;
	if (domain->flags & PL_DOMAIN_SHARED && !is_scan_thread)
		pl_shazptr_drain(pl_slot(domain, 0)); /* other processes may still read */
	request *ready = NULL, **ready_end = &ready, *kept = NULL, **kept_end = &kept;
	pthread_mutex_lock(&lock);
	splice();
	while (pending)
		move(&pending, pending->domain == domain ? &ready_end : &kept_end);
	pending = kept;
	pending_end = kept ? kept_end : &pending;
	pthread_mutex_unlock(&lock);
	reclaim_all(ready);
	while (pl_load_rlx(&running) && !is_scan_thread) { /* callbacks for objects of this domain may be running */
		uint32_t seen = pl_load_acq(&progress); /* G15 */
		if (pl_load_rlx(&running))
			pl_futex_wait(&progress, seen, longest_nap_ns, 0);
	}
	if (ready) {
		pthread_mutex_lock(&lock);
		note_progress();
		pthread_mutex_unlock(&lock);
	}
}
