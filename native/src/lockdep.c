/* SPDX-License-Identifier: Apache-2.0 */
/* The lock-order validator: what each thread holds, and the public functions. lockdep.h says who may touch what. */
#include "lockdep.h"

#include "os/os.h"
#include "os/trace.h"

#include <errno.h>
#include <panalock/shazptr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	uint32_t count;
	char name[PL_NAME_BYTES];
	pl_dep_held locks[PL_LOCKDEP_HELD];
} thread_locks;

pthread_mutex_t pl_dep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;

static __thread thread_locks *mine __attribute__((tls_model("initial-exec")));
static __thread uint32_t busy __attribute__((tls_model("initial-exec")));

/* ---- beginnings, ends, forks ---- */

static void thread_ends(void *unused);

static void before_fork(void) { pthread_mutex_lock(&pl_dep_lock); }
static void after_fork(void) { pthread_mutex_unlock(&pl_dep_lock); }

static void prepare(void)
{
	pl_dep_class *c = calloc(PL_DEP_KNOWN, sizeof *c);
	pl_dep_after = c ? calloc(PL_DEP_KNOWN, sizeof *pl_dep_after) : NULL; /* pages that nobody touches cost nothing */
	if (!pl_dep_after || pthread_key_create(&exit_key, thread_ends)) {
		free(c);
		return;
	}
	pthread_atfork(before_fork, after_fork, after_fork);
	pl_os_trace_prepare();
	pl_dep_classes = c;
}

/* False when there is no memory: nothing is seen then. */
static bool begin(void)
{
	if (busy)
		return false;
	busy = 1;
	pl_compiler_fence(); /* C5: what a handler finds in hand it does not touch; pairs with C6 */
	pthread_once(&once, prepare);
	if (!pl_dep_classes)
		busy = 0;
	return pl_dep_classes != NULL;
}

static void end(void)
{
	pl_compiler_fence(); /* C6: pairs with C5 */
	busy = 0;
}

static thread_locks *locks_of_this_thread(void)
{
	if (!mine && (mine = calloc(1, sizeof *mine)))
		pthread_setspecific(exit_key, mine);
	return mine;
}

/* The lock's class; one of its own if it was given none. 0: it is not seen. */
static uint64_t class_of(const void *word)
{
	uint64_t c = pl_dep_look_up((uintptr_t)word);
	if (PL_LIKELY(c))
		return c;
	char name[PL_DEP_NAME_BYTES];
	snprintf(name, sizeof name, "lock at %p", word);
	pthread_mutex_lock(&pl_dep_lock);
	c = pl_dep_walk(pl_dep_bucket((uintptr_t)word), (uintptr_t)word);
	int err = pl_dep_is_known(c) ? 0 : pl_dep_add_class((uintptr_t)word, name, 0, &c);
	pthread_mutex_unlock(&pl_dep_lock);
	if (!err)
		return c;
	pl_dep_report_full(err);
	return 0;
}

/* ---- what locks tell ---- */

int pl_lockdep_acquiring(const void *word)
{
	if (!word)
		return -EINVAL;
	PL_KEEP_ERRNO;
	if (!begin())
		return 0;
	uint64_t c = class_of(word);
	for (uint32_t i = 0; c && mine && i < mine->count; i++) {
		const pl_dep_held *h = &mine->locks[i];
		if (h->lock == word)
			pl_dep_report(PL_LOCKDEP_RECURSION, c, &h->where, __builtin_return_address(0));
		else if (h->class == c)
			pl_dep_report(PL_LOCKDEP_SAME_CLASS, c, &h->where, __builtin_return_address(0));
		else if (pl_dep_is_known(h->class) && !pl_dep_is_after(pl_dep_index(h->class), pl_dep_index(c)))
			pl_dep_add_order(h, c, __builtin_return_address(0));
	}
	end();
	return 0;
}

int pl_lockdep_acquired(const void *word)
{
	if (!word)
		return -EINVAL;
	PL_KEEP_ERRNO;
	if (!begin())
		return 0;
	thread_locks *l = locks_of_this_thread();
	uint64_t c = class_of(word);
	if (l && c && l->count < PL_LOCKDEP_HELD) {
		pl_dep_held *h = &l->locks[l->count++];
		h->lock = word;
		h->class = c;
		pl_dep_take_trace(&h->where, __builtin_return_address(0));
	}
	end();
	return 0;
}

int pl_lockdep_releasing(const void *word)
{
	if (!word)
		return -EINVAL;
	PL_KEEP_ERRNO;
	if (!begin())
		return 0;
	int result = -EPERM;
	for (uint32_t i = mine ? mine->count : 0; result && i--;)
		if (mine->locks[i].lock == word) {
			memmove(&mine->locks[i], &mine->locks[i + 1], (--mine->count - i) * sizeof *mine->locks);
			result = 0;
		}
	if (result && mine && mine->count == PL_LOCKDEP_HELD)
		result = 0; /* perhaps one that found no room */
	if (result) {
		uint64_t c = class_of(word);
		if (c)
			pl_dep_report(PL_LOCKDEP_NOT_HELD, c, NULL, __builtin_return_address(0));
	}
	end();
	return result;
}

static void thread_ends(void *locks)
{
	PL_KEEP_ERRNO;
	thread_locks *l = locks;
	busy = 1;
	for (uint32_t i = 0; i < l->count; i++)
		pl_dep_report(PL_LOCKDEP_HELD_AT_EXIT, l->locks[i].class, &l->locks[i].where, NULL);
	mine = NULL; /* a later destructor that locks begins anew */
	busy = 0;
	free(l);
}

/* ---- what programs say ---- */

static bool bad_class(const pl_lock_class *c) { return !c || (uintptr_t)c % _Alignof(pl_lock_class); }

static const char *name_of(const pl_lock_class *c, char *room, size_t bytes)
{
	if (c->name)
		return c->name;
	snprintf(room, bytes, "class at %p", (const void *)c);
	return room;
}

/* Under the lock. */
static int find_or_add(const pl_lock_class *c, uint32_t level, bool fresh, uint64_t *out)
{
	char room[PL_DEP_NAME_BYTES];
	uintptr_t key = (uintptr_t)c + level;
	*out = pl_dep_walk(pl_dep_bucket(key), key);
	if (pl_dep_is_known(*out))
		return fresh ? -EEXIST : 0;
	return pl_dep_add_class(key, name_of(c, room, sizeof room), level, out);
}

int pl_lockdep_register(const pl_lock_class *c)
{
	uint64_t unused;
	if (bad_class(c))
		return -EINVAL;
	PL_KEEP_ERRNO;
	pthread_once(&once, prepare);
	if (!pl_dep_classes)
		return -ENOMEM;
	pthread_mutex_lock(&pl_dep_lock);
	int err = find_or_add(c, 0, true, &unused);
	pthread_mutex_unlock(&pl_dep_lock);
	return err;
}

int pl_lockdep_set_class(const void *word, const pl_lock_class *c, uint32_t level)
{
	uint64_t stands_for;
	if (!word || bad_class(c) || level >= PL_LOCKDEP_LEVELS)
		return -EINVAL;
	PL_KEEP_ERRNO;
	pthread_once(&once, prepare);
	if (!pl_dep_classes)
		return -ENOMEM;
	pthread_mutex_lock(&pl_dep_lock);
	pl_dep_entry *before = pl_dep_entry_of((uintptr_t)word);
	if (before && pl_dep_is_known(before->stands_for) && pl_dep_classes[pl_dep_index(before->stands_for)].key == (uintptr_t)word)
		pl_dep_drop_class(pl_dep_index(before->stands_for)); /* it was one of its own until now */
	int err = find_or_add(c, level, false, &stands_for);
	if (!err)
		err = pl_dep_set_class((uintptr_t)word, stands_for);
	pthread_mutex_unlock(&pl_dep_lock);
	return err;
}

/* A thread inside nested guards cannot wait for others' guards: its own would be in the way. */
static bool would_wait_for_itself(void)
{
	pl_thread *self = pl_self();
	return self && pl_load64_rlx(&self->hazard) >= PL_HAZARD_FIRST_NAME && pl_load64_rlx(&self->wildcard);
}

int pl_lockdep_unregister(const pl_lock_class *c)
{
	if (bad_class(c))
		return -EINVAL;
	PL_KEEP_ERRNO;
	pthread_once(&once, prepare);
	if (!pl_dep_classes)
		return -ENOENT;
	if (would_wait_for_itself())
		return -EDEADLK;
	uint32_t found = 0;
	for (uintptr_t key = (uintptr_t)c; key < (uintptr_t)c + PL_LOCKDEP_LEVELS; key++) {
		pl_dep_entry *gone = NULL;
		pthread_mutex_lock(&pl_dep_lock);
		found += pl_dep_unlink(pl_dep_bucket(key), key, key + 1, &gone);
		pthread_mutex_unlock(&pl_dep_lock);
		pl_dep_free(pl_dep_bucket(key), gone);
	}
	return found ? 0 : -ENOENT;
}

int pl_lockdep_forget(const void *memory, size_t bytes)
{
	uintptr_t from = (uintptr_t)memory;
	if (!memory || bytes > UINTPTR_MAX - from)
		return -EINVAL;
	PL_KEEP_ERRNO;
	pthread_once(&once, prepare);
	if (!pl_dep_classes)
		return 0;
	if (would_wait_for_itself())
		return -EDEADLK;
	uint32_t found = 0;
	for (pl_dep_entry **bucket = pl_dep_next_bucket(NULL); bucket; bucket = pl_dep_next_bucket(bucket)) {
		pl_dep_entry *gone = NULL;
		pthread_mutex_lock(&pl_dep_lock);
		found += pl_dep_unlink(bucket, from, from + bytes, &gone);
		pthread_mutex_unlock(&pl_dep_lock);
		pl_dep_free(bucket, gone);
	}
	return (int)found;
}
