/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "shaz.h"

#include <errno.h>
#include <panalock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

/*
 * liburcu's read sections are inline in its headers and reach into its libraries. These are not linked: whoever loads this
 * library loads them before, if they are there, and the weak references find them. The executable has no such time.
 */
#if defined __has_include && !defined __PIE__
#if __has_include(<urcu/urcu-memb.h>)
#define HAVE_URCU 1
#define _LGPL_SOURCE
#include <urcu/tls-compat.h>
/*
 * In a program that links liburcu its thread-local variables lie at a constant distance; from a library that is loaded late
 * each access would be a call, which is more than the whole read section. So each thread keeps their addresses, near.
 */
#undef URCU_TLS
#define URCU_TLS(name) (*near_##name)
#define NEAR static __thread __attribute__((tls_model("initial-exec")))
struct urcu_reader;
struct urcu_qsbr_reader;
struct urcu_bp_reader;
NEAR struct urcu_reader *near_urcu_memb_reader, *near_urcu_mb_reader;
NEAR struct urcu_qsbr_reader *near_urcu_qsbr_reader;
NEAR struct urcu_bp_reader **near_urcu_bp_reader;
#include <urcu/urcu-memb.h>
#include <urcu/urcu-mb.h>
#include <urcu/urcu-qsbr.h>
#include <urcu/urcu-bp.h>
#pragma weak compat_futex_async
#pragma weak urcu_memb_gp
#pragma weak urcu_memb_reader
#pragma weak urcu_memb_has_sys_membarrier
#pragma weak urcu_memb_register_thread
#pragma weak urcu_memb_unregister_thread
#pragma weak urcu_memb_synchronize_rcu
#pragma weak urcu_mb_gp
#pragma weak urcu_mb_reader
#pragma weak urcu_mb_register_thread
#pragma weak urcu_mb_unregister_thread
#pragma weak urcu_mb_synchronize_rcu
#pragma weak urcu_qsbr_gp
#pragma weak urcu_qsbr_reader
#pragma weak urcu_qsbr_register_thread
#pragma weak urcu_qsbr_unregister_thread
#pragma weak urcu_qsbr_synchronize_rcu
#pragma weak urcu_bp_gp
#pragma weak urcu_bp_reader
#pragma weak urcu_bp_register
#pragma weak urcu_bp_synchronize_rcu
#pragma weak urcu_bp_has_sys_membarrier
#endif
#endif

typedef struct {
	pl_thread *self;
	uint64_t name;
	uint64_t hold_ns;
	uint32_t *stop;
} reader;

static uint32_t volatile_word;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static inline void hold(const reader *r)
{
	if (PL_UNLIKELY(r->hold_ns))
		for (uint64_t end = plb_now() + r->hold_ns; plb_now() < end;)
			;
}

/*
 * X(name, present, begin of a thread, end of a thread, read section around `inside`, wait)
 * Every way has its own loops below.
 */
#define NOTHING (void)0
#define SHAZPTR(acquire, inside)                                                                                          \
	do {                                                                                                              \
		uint64_t guard = acquire(self, name);                                                                     \
		inside;                                                                                                   \
		pl_shazptr_clear_inline(self, guard);                                                                     \
	} while (0)
#define NESTED(inside)                                                                                                    \
	do {                                                                                                              \
		uint64_t outer = pl_shazptr_acquire_inline(self, name);                                                   \
		uint64_t guard = pl_shazptr_acquire_inline(self, name + 1);                                               \
		inside;                                                                                                   \
		pl_shazptr_clear_inline(self, guard);                                                                     \
		pl_shazptr_clear_inline(self, outer);                                                                     \
	} while (0)
#ifdef HAVE_URCU
#define URCU(X)                                                                                                           \
	X(urcu_memb, &urcu_memb_gp != NULL, (near_urcu_memb_reader = &urcu_memb_reader, urcu_memb_register_thread()), urcu_memb_unregister_thread(),                   \
	  urcu_memb_read_lock(), urcu_memb_read_unlock(), NOTHING, urcu_memb_synchronize_rcu())                           \
	X(urcu_mb, &urcu_mb_gp != NULL, (near_urcu_mb_reader = &urcu_mb_reader, urcu_mb_register_thread()), urcu_mb_unregister_thread(), urcu_mb_read_lock(),      \
	  urcu_mb_read_unlock(), NOTHING, urcu_mb_synchronize_rcu())                                                      \
	X(urcu_qsbr, &urcu_qsbr_gp != NULL, (near_urcu_qsbr_reader = &urcu_qsbr_reader, urcu_qsbr_register_thread()), urcu_qsbr_unregister_thread(),                   \
	  urcu_qsbr_read_lock(), urcu_qsbr_read_unlock(), urcu_qsbr_quiescent_state(), urcu_qsbr_synchronize_rcu())       \
	X(urcu_bp, &urcu_bp_gp != NULL, near_urcu_bp_reader = &urcu_bp_reader, NOTHING, urcu_bp_read_lock(), urcu_bp_read_unlock(), NOTHING,            \
	  urcu_bp_synchronize_rcu())
#else
#define URCU(X)
#endif

enum { spare_slots = 4 }; /* slot 0, the writer, the scan thread, one more */

enum { way_shazptr, way_fenced, way_nested, way_volatile, way_rwlock, own_ways };

/* ---- loops: empty sections, for a count; held sections, until told to stop ---- */

#define LOOPS(id, section, empty)                                                                                      \
	__attribute__((noinline, aligned(64))) static void count_##id(reader *r, uint64_t n)                            \
	{                                                                                                                 \
		pl_thread *self = r->self;                                                                                \
		uint64_t name = r->name;                                                                                  \
		(void)self, (void)name;                                                                                   \
		for (uint64_t i = 0; i < n; i++)                                                                          \
			empty;                                                                                            \
	}                                                                                                                 \
	__attribute__((noinline, aligned(64))) static void read_##id(reader *r)                                         \
	{                                                                                                                 \
		pl_thread *self = r->self;                                                                                \
		uint64_t name = r->name;                                                                                  \
		(void)self, (void)name;                                                                                   \
		while (!pl_load_rlx(r->stop))                                                                             \
			section;                                                                                          \
	}
LOOPS(shazptr, SHAZPTR(pl_shazptr_acquire_inline, hold(r)), SHAZPTR(pl_shazptr_acquire_inline, NOTHING))
LOOPS(fenced, SHAZPTR(pl_shazptr_acquire_fenced_inline, hold(r)), SHAZPTR(pl_shazptr_acquire_fenced_inline, NOTHING))
LOOPS(nested, NESTED(hold(r)), NESTED(NOTHING))
LOOPS(volatile, (pl_load_acq(&volatile_word), hold(r)), (void)pl_load_acq(&volatile_word))
LOOPS(rwlock, (pthread_rwlock_rdlock(&rwlock), hold(r), pthread_rwlock_unlock(&rwlock)),
      (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock)))
#define X(id, present, begin, end, lock, unlock, quiet, wait)                                                           \
	LOOPS(id, (lock, hold(r), unlock, quiet), (lock, unlock, quiet))                                                \
	static void begin_##id(void) { begin; }                                                                         \
	static void end_##id(void) { end; }                                                                             \
	static void wait_##id(void) { wait; }
URCU(X)
#undef X

static void nothing(void) {}

static void wait_rwlock(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

typedef struct {
	const char *name;
	bool ours;
	void (*begin)(void);
	void (*end)(void);
	void (*count)(reader *, uint64_t);
	void (*read)(reader *);
	void (*wait)(void); /* null: shazptr's, or none */
} way;

static const way ways[] = {
	{"shazptr", true, nothing, nothing, count_shazptr, read_shazptr, NULL},
	{"shazptr_fenced", true, nothing, nothing, count_fenced, read_fenced, NULL},
	{"shazptr_nested", true, nothing, nothing, count_nested, read_nested, NULL},
	{"volatile_read", false, nothing, nothing, count_volatile, read_volatile, NULL},
	{"pthread_rwlock", false, nothing, nothing, count_rwlock, read_rwlock, wait_rwlock},
#define X(id, present, begin, end, lock, unlock, quiet, wait)                                                           \
	{#id, false, begin_##id, end_##id, count_##id, read_##id, wait_##id},
	URCU(X)
#undef X
};
enum { some_ways = sizeof ways / sizeof *ways };

const char *plb_reader_name(uint32_t index) { return index < some_ways ? ways[index].name : NULL; }

int plb_reader_present(uint32_t index)
{
	if (index >= some_ways)
		return 0;
#define X(id, present, begin, end, lock, unlock, quiet, wait)                                                           \
	if (!strcmp(ways[index].name, #id))                                                                             \
		return present;
	URCU(X)
#undef X
	return 1;
}

static int bad_way(uint32_t index)
{
	return index >= some_ways ? -EINVAL : plb_reader_present(index) ? 0 : -ENOSYS;
}

/* ---- read sections ---- */

int plb_sections(uint32_t index, uint64_t sections, uint64_t *elapsed_ns)
{
	int err = bad_way(index);
	if (err || !sections || !elapsed_ns)
		return err ? err : -EINVAL;
	reader r = {.self = pl_self(), .name = 4096};
	if (!r.self)
		return -ENOSPC;
	ways[index].begin();
	ways[index].count(&r, 1); /* the first guard of a thread is another matter */
	uint64_t from = plb_now();
	ways[index].count(&r, sections);
	*elapsed_ns = plb_now() - from;
	ways[index].end();
	return 0;
}

/* ---- crews ---- */

typedef struct {
	const way *w;
	pl_domain *domain;
	uint64_t hold_ns;
	uint32_t stop, ready, go, readers;
	uint64_t counts[PLB_MAX_THREADS], spent[PLB_MAX_THREADS];
	pthread_t threads[PLB_MAX_THREADS];
	void *(*run)(void *);
	struct table *table;
} crew;

typedef struct {
	crew *c;
	uint32_t index;
} member;

static void *read_away(void *argument)
{
	member m = *(member *)argument;
	free(argument);
	crew *c = m.c;
	reader r = {.self = pl_self_in(c->domain), .name = 4096 + 64 * (uint64_t)(m.index + 1), .hold_ns = c->hold_ns, .stop = &c->stop};
	c->w->begin();
	pl_add_ar(&c->ready, 1);
	if (r.self)
		c->w->read(&r);
	c->w->end();
	return NULL;
}

static void *count_away(void *argument)
{
	enum { batch = 1000 };
	member m = *(member *)argument;
	free(argument);
	crew *c = m.c;
	reader r = {.self = pl_self_in(c->domain), .name = 4096 + 64 * (uint64_t)(m.index + 1)};
	c->w->begin();
	pl_add_ar(&c->ready, 1);
	while (!pl_load_acq(&c->go))
		;
	uint64_t from = plb_now(), n = 0;
	while (r.self && !pl_load_rlx(&c->stop)) {
		c->w->count(&r, batch);
		n += batch;
	}
	c->spent[m.index] = plb_now() - from;
	c->counts[m.index] = n;
	c->w->end();
	return NULL;
}

static int crew_begin(crew *c, void *(*run)(void *))
{
	uint32_t begun = 0;
	for (; begun < c->readers; begun++) {
		member *m = malloc(sizeof *m);
		if (!m)
			break;
		*m = (member){c, begun};
		if (pthread_create(&c->threads[begun], NULL, run, m)) {
			free(m);
			break;
		}
	}
	int err = begun < c->readers ? -EAGAIN : 0;
	c->readers = begun;
	while (pl_load_acq(&c->ready) < begun)
		plb_sleep(20000);
	if (begun)
		plb_sleep(20000000); /* all of them run, or are runnable inside a section, as they will be later */
	return err;
}

static void crew_end(crew *c)
{
	pl_store_rel(&c->stop, 1);
	pl_store_rel(&c->go, 1);
	for (uint32_t i = 0; i < c->readers; i++)
		pthread_join(c->threads[i], NULL);
}

static pl_domain *domain_for(uint32_t slots)
{
	pl_domain_options o = {.slots = slots < 64 ? 64 : slots, .pool_locks = 1};
	pl_domain *d = NULL;
	return pl_domain_create(&o, &d) ? NULL : d;
}

int plb_sections_on(uint32_t index, uint32_t threads, uint64_t window_ns, double *ns)
{
	int err = bad_way(index);
	if (err || !threads || threads > PLB_MAX_THREADS || !ns)
		return err ? err : -EINVAL;
	crew *c = calloc(1, sizeof *c);
	pl_domain *d = c ? domain_for(threads + 2) : NULL;
	if (!d) {
		free(c);
		return -ENOMEM;
	}
	c->w = &ways[index];
	c->domain = d;
	c->readers = threads;
	err = crew_begin(c, count_away);
	pl_store_rel(&c->go, 1);
	if (!err)
		plb_sleep(window_ns);
	crew_end(c);
	double sum = 0;
	for (uint32_t i = 0; i < threads && !err; i++)
		sum += c->counts[i] ? (double)c->spent[i] / (double)c->counts[i] : 0;
	*ns = sum / threads;
	pl_domain_close(d);
	free(c);
	return err;
}

/* ---- grace periods ---- */

int plb_grace_periods(const plb_grace *g, uint64_t *samples, uint32_t room, uint32_t *count)
{
	if (!g || !samples || !room || !count || g->readers > PLB_MAX_THREADS ||
	    g->idle > PL_MAX_SLOTS - spare_slots - g->readers)
		return -EINVAL;
	int err = bad_way(g->way);
	if (err)
		return err;
	const way *w = &ways[g->flags & PLB_WILDCARD && ways[g->way].ours ? way_nested : g->way];
	if (!w->ours && !w->wait)
		return -EINVAL;
	crew *c = calloc(1, sizeof *c);
	pl_domain *d = c ? domain_for(g->readers + g->idle + spare_slots) : NULL;
	pl_thread *self = d ? pl_self_in(d) : NULL;
	if (!self) {
		free(c);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < g->idle; i++) {
		pl_thread *idle;
		if (pl_thread_register(d, 0, &idle)) { /* fewer than asked for would be another measurement */
			pl_domain_close(d);
			free(c);
			return -ENOSPC;
		}
		pl_shazptr_clear(idle, pl_shazptr_acquire(idle, 4096));
	}
	c->w = w;
	c->domain = d;
	c->readers = g->readers;
	c->hold_ns = g->hold_ns;
	err = crew_begin(c, read_away);
	uint32_t n = 0;
	uint32_t flags = g->flags & PLB_SKIP_SELF_SCAN ? PL_SHAZPTR_SKIP_SELF_SCAN : 0;
	w->begin();
	uint64_t from = plb_now(), end = from + g->window_ns;
	for (int warm = 3; !err && n < room && from < end; from = plb_now()) {
		if (w->ours)
			pl_shazptr_synchronize(self, 4096, flags);
		else
			w->wait();
		if (warm)
			warm--;
		else
			samples[n++] = plb_now() - from;
	}
	w->end();
	*count = n;
	crew_end(c);
	pl_domain_close(d);
	free(c);
	return err;
}

/* ---- unregistering ---- */

enum { buckets = 64, dead = 0xdead };

typedef struct key {
	struct key *next;
	uint64_t value;
} key;

typedef struct table {
	key *heads[buckets];
	uint32_t keys;
	uint32_t bad;
} table;

static void look_up(table *t, uint64_t value)
{
	for (key *k = __atomic_load_n(&t->heads[value % buckets], __ATOMIC_ACQUIRE); k; k = __atomic_load_n(&k->next, __ATOMIC_ACQUIRE)) {
		if (k->value == dead)
			pl_store_rlx(&t->bad, 1);
		if (k->value == value)
			return;
	}
}

#define LOOK_UP(name, lock, unlock, quiet)                                                                                \
	static void *look_up_##name(void *argument)                                                                       \
	{                                                                                                                 \
		member m = *(member *)argument;                                                                           \
		free(argument);                                                                                           \
		crew *c = m.c;                                                                                            \
		pl_thread *self = pl_self_in(c->domain);                                                                  \
		uint64_t guard = 0;                                                                                       \
		(void)guard;                                                                                              \
		c->w->begin();                                                                                            \
		pl_add_ar(&c->ready, 1);                                                                                  \
		for (uint64_t value = 0x10000 + m.index * 31; self && !pl_load_rlx(&c->stop); value = 0x10000 + (value + 1) % c->table->keys) { \
			void *head = &c->table->heads[value % buckets];                                                   \
			(void)head;                                                                                       \
			lock;                                                                                             \
			look_up(c->table, value);                                                                         \
			unlock;                                                                                           \
			quiet;                                                                                            \
		}                                                                                                         \
		c->w->end();                                                                                              \
		return NULL;                                                                                              \
	}
LOOK_UP(shazptr, guard = pl_shazptr_acquire_inline(self, (uintptr_t)head), pl_shazptr_clear_inline(self, guard), NOTHING)
#define X(id, present, begin, end, lock, unlock, quiet, wait) LOOK_UP(id, lock, unlock, quiet)
URCU(X)
#undef X

static void *(*look_up_of(uint32_t index))(void *)
{
	if (index == way_shazptr)
		return look_up_shazptr;
#define X(id, present, begin, end, lock, unlock, quiet, wait)                                                           \
	if (!strcmp(ways[index].name, #id))                                                                             \
		return look_up_##id;
	URCU(X)
#undef X
	return NULL;
}

int plb_unregister(uint32_t index, uint32_t readers, uint32_t keys, uint64_t *elapsed_ns)
{
	int err = bad_way(index);
	if (err || !keys || readers > PLB_MAX_THREADS || !elapsed_ns || !look_up_of(index))
		return err ? err : -EINVAL;
	crew *c = calloc(1, sizeof *c);
	table *t = calloc(1, sizeof *t);
	key *all = calloc(keys, sizeof *all);
	pl_domain *d = domain_for(readers + 4);
	if (!c || !t || !all || !d) {
		free(c), free(t), free(all);
		return -ENOMEM;
	}
	pl_thread *self = pl_self_in(d);
	for (uint32_t i = 0; i < keys; i++) {
		key **head = &t->heads[(0x10000 + i) % buckets];
		all[i] = (key){.next = *head, .value = 0x10000 + i};
		*head = &all[i];
	}
	t->keys = keys;
	c->w = &ways[index];
	c->domain = d;
	c->readers = readers;
	c->table = t;
	err = crew_begin(c, look_up_of(index));
	c->w->begin();
	uint64_t from = plb_now();
	for (uint32_t i = 0; !err && i < keys; i++) {
		key **head = &t->heads[all[i].value % buckets], **at = head;
		while (*at != &all[i])
			at = &(*at)->next;
		__atomic_store_n(at, all[i].next, __ATOMIC_RELEASE);
		if (c->w->ours)
			pl_shazptr_synchronize(self, (uintptr_t)head, 0);
		else
			c->w->wait();
		__atomic_store_n(&all[i].value, dead, __ATOMIC_RELEASE);
	}
	*elapsed_ns = plb_now() - from;
	c->w->end();
	crew_end(c);
	if (t->bad)
		err = -EILSEQ;
	pl_domain_close(d);
	free(c), free(t), free(all);
	return err;
}
