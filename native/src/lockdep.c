/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock-order validator.
 *
 * Who may touch what:
 *   table     a hash of names: the address of a lock, or of a class plus the nesting level. An entry says which class the name
 *             stands for. Entries are linked and unlinked under `lock`; anybody walks a bucket inside a hazard guard on the
 *             bucket's address. Whoever has unlinked one waits for the guards on that bucket alone, then frees it.
 *   classes   by index, never freed; a class is known while its `generation` is odd. Written under `lock`. An entry says
 *             index and generation: of another generation, it stands for a class that has been forgotten.
 *   after     a bit for each two classes: the second was waited for while the first was held. Set and cleared under `lock`,
 *             read by anybody: a bit seen late costs one visit to the lock.
 *   orders    what reports tell about those bits; under `lock`.
 *   mine      of its thread: what it holds. Signal handlers that come while `busy` do not touch it.
 *
 * Invariant: `after` has a bit iff some thread has waited, or could have had to wait, for a lock of the second class while it
 * held one of the first, and neither class has been forgotten since. An order that closes a circle is reported when it is
 * added, once.
 *
 * `lock` is never held while somebody's listener runs, nor while anybody waits for guards.
 */
#define PL_NO_INLINE
#include "domain.h"
#include "os/os.h"
#include "os/pthread.h"
#include "os/trace.h"

#include <errno.h>
#include <panalock/lockdep.h>
#include <panalock/shazptr.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	buckets = 256,
	trace_depth = 12,
	name_bytes = 56,
	known = PL_LOCKDEP_CLASSES + 1, /* index 0 is none */
	row_words = known / 32,
};

typedef struct {
	void *frames[trace_depth];
	int count;
} trace;

typedef struct entry {
	struct entry *next, *gone; /* `gone`: of whoever has unlinked it */
	uintptr_t name;
	uint64_t stands_for; /* generation << 32 | index of a class */
} entry;

typedef struct order {
	struct order *next;
	uint32_t second;
	char thread[PL_NAME_BYTES];
	trace held, acquired;
} order;

typedef struct {
	uint32_t generation; /* odd: known */
	uint32_t said;       /* bit of each kind that was reported: once is enough */
	uintptr_t key;       /* of the entry that owns it; a lock's when the class is that lock's own */
	order *orders;       /* with this class as the first */
	char name[name_bytes];
} class;

typedef struct {
	const void *lock;
	uint64_t class;
	trace where;
} held;

typedef struct {
	uint32_t count;
	char name[PL_NAME_BYTES];
	held locks[PL_LOCKDEP_HELD];
} thread_locks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *table[buckets];
static class *classes;                    /* `known` of them */
static uint32_t (*after)[row_words];      /* `known` rows */
static uint32_t next_class = 1, free_classes[known], free_count;
static pl_lockdep_listener listener;
static void *listener_argument;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;

static __thread thread_locks *mine __attribute__((tls_model("initial-exec")));
static __thread uint32_t busy __attribute__((tls_model("initial-exec")));

static uint32_t index_of(uint64_t c) { return (uint32_t)c; }
static entry **bucket_of(uintptr_t name) { return &table[(name >> 3 ^ name >> 11 ^ name >> 19) % buckets]; }
static uint32_t *word_of(uint32_t first, uint32_t second) { return &after[first][second / 32]; }
static bool is_after(uint32_t first, uint32_t second) { return pl_load_rlx(word_of(first, second)) >> second % 32 & 1; }
static bool is_known(uint64_t c) { return c && pl_load_rlx(&classes[index_of(c)].generation) == (uint32_t)(c >> 32); }

/* ---- beginnings, ends, forks ---- */

static void thread_ends(void *unused);

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void prepare(void)
{
	class *c = calloc(known, sizeof *c);
	after = c ? calloc(known, sizeof *after) : NULL; /* pages that nobody touches cost nothing */
	if (!after || pthread_key_create(&exit_key, thread_ends)) {
		free(c);
		return;
	}
	pthread_atfork(before_fork, after_fork, after_fork);
	pl_os_trace_prepare();
	classes = c;
}

/* False when there is no memory: nothing is seen then. */
static bool begin(void)
{
	if (busy)
		return false;
	busy = 1;
	pl_compiler_fence(); /* C5: what a handler finds in hand it does not touch; pairs with C6 */
	pthread_once(&once, prepare);
	if (!classes)
		busy = 0;
	return classes != NULL;
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

/* ---- look-ups ---- */

/* Inside a guard on the bucket, or under the lock. */
static uint64_t walk(entry **bucket, uintptr_t name)
{
	/* K3: acquire, pairs with K2 */
	for (entry *e = __atomic_load_n(bucket, __ATOMIC_ACQUIRE); e; e = __atomic_load_n(&e->next, __ATOMIC_ACQUIRE)) /* K3 */
		if (e->name == name)
			return pl_load64_rlx(&e->stands_for);
	return 0;
}

/* The class that a name stands for, 0 if none. */
static uint64_t look_up(uintptr_t name)
{
	entry **bucket = bucket_of(name);
	pl_thread *self = pl_self();
	uint64_t found;
	if (self) {
		/* The guard names the bucket, not the entry: what is reached through it is not freed until it ends. An entry that
		 * was unlinked before is not reached (shazptr.h has the argument). */
		uint64_t guard = pl_shazptr_acquire_inline(self, (uintptr_t)bucket);
		found = walk(bucket, name);
		pl_shazptr_clear_inline(self, guard);
	} else { /* no slot, no guard: whoever unlinks has the lock */
		pthread_mutex_lock(&lock);
		found = walk(bucket, name);
		pthread_mutex_unlock(&lock);
	}
	return is_known(found) ? found : 0;
}

/* ---- the table and the classes, under the lock ---- */

static entry *entry_of(uintptr_t name)
{
	for (entry *e = *bucket_of(name); e; e = e->next)
		if (e->name == name)
			return e;
	return NULL;
}

/* From now on the name stands for that class. */
static int set_class(uintptr_t name, uint64_t c)
{
	entry *e = entry_of(name);
	if (e) {
		pl_store64_rlx(&e->stands_for, c);
		return 0;
	}
	if (!(e = malloc(sizeof *e)))
		return -ENOMEM;
	*e = (entry){.next = *bucket_of(name), .name = name, .stands_for = c};
	__atomic_store_n(bucket_of(name), e, __ATOMIC_RELEASE); /* K2: release, the entry before its publication; pairs with K3 */
	return 0;
}

static int add_class(uintptr_t key, const char *name, uint32_t level, uint64_t *out)
{
	uint32_t index = free_count ? free_classes[free_count - 1] : next_class;
	if (index >= known)
		return -ENOSPC;
	class *c = &classes[index];
	uint64_t named = (uint64_t)(c->generation + 1) << 32 | index;
	int err = set_class(key, named); /* to readers a class of an even generation is none */
	if (err)
		return err;
	if (free_count)
		free_count--;
	else
		next_class++;
	c->said = 0;
	c->key = key;
	size_t n = strnlen(name, sizeof c->name - 3);
	memcpy(c->name, name, n);
	if (level) {
		c->name[n++] = '/';
		c->name[n++] = (char)('0' + level);
	}
	c->name[n] = 0;
	pl_store_rlx(&c->generation, c->generation + 1);
	*out = named;
	return 0;
}

static void drop_class(uint32_t index)
{
	class *c = &classes[index];
	pl_store_rlx(&c->generation, c->generation + 1);
	for (order *o = c->orders, *next; o; o = next) {
		next = o->next;
		free(o);
	}
	c->orders = NULL;
	memset(after[index], 0, sizeof after[index]);
	for (uint32_t first = 1; first < next_class; first++) {
		if (!is_after(first, index))
			continue;
		pl_store_rlx(word_of(first, index), pl_load_rlx(word_of(first, index)) & ~(1u << index % 32));
		for (order **o = &classes[first].orders; *o; o = &(*o)->next)
			if ((*o)->second == index) {
				order *gone = *o;
				*o = gone->next;
				free(gone);
				break;
			}
	}
	free_classes[free_count++] = index;
}

/* Unlinks the entries whose names are in this range, onto a list, and forgets the classes that they own. */
static uint32_t unlink_entries(entry **bucket, uintptr_t from, uintptr_t to, entry **gone)
{
	uint32_t count = 0;
	for (entry **at = bucket; *at;) {
		entry *e = *at;
		if (e->name < from || e->name >= to) {
			at = &e->next;
			continue;
		}
		if (is_known(e->stands_for) && classes[index_of(e->stands_for)].key == e->name)
			drop_class(index_of(e->stands_for));
		__atomic_store_n(at, e->next, __ATOMIC_RELEASE); /* K2 */
		e->gone = *gone; /* who stands at it goes on along its old `next` */
		*gone = e;
		count++;
	}
	return count;
}

static void free_entries(entry **bucket, entry *gone)
{
	pl_thread *self = pl_self();
	if (!self)
		self = pl_domain_service(pl_domain_default());
	if (gone && self)
		pl_shazptr_synchronize(self, (uintptr_t)bucket, 0); /* readers of this bucket only */
	for (entry *next; gone; gone = next) {
		next = gone->gone;
		free(gone);
	}
}

/* ---- reports ---- */

typedef struct {
	char *bytes;
	size_t room, length;
} text;

__attribute__((format(printf, 2, 3))) static void say(text *t, const char *format, ...)
{
	va_list arguments;
	for (int again = 0; again < 2; again++) {
		va_start(arguments, format);
		int n = vsnprintf(t->bytes ? t->bytes + t->length : NULL, t->room - t->length, format, arguments);
		va_end(arguments);
		if (n < 0)
			return;
		if (t->length + (size_t)n < t->room) {
			t->length += (size_t)n;
			return;
		}
		size_t room = t->length + (size_t)n + 2048;
		char *more = realloc(t->bytes, room);
		if (!more)
			return; /* a shorter report */
		t->bytes = more;
		t->room = room;
	}
}

static void say_trace(text *t, const char *what, const trace *where)
{
	say(t, "%s\n", what);
	for (int i = 0; i < where->count; i++) {
		char line[256];
		pl_os_describe(where->frames[i], line, sizeof line);
		say(t, "    %s\n", line);
	}
}

/* From @caller on, so that our own functions are not in it. */
static void take_trace(trace *where, const void *caller) { where->count = pl_os_trace(where->frames, trace_depth, caller); }

static void thread_name(char *name)
{
	pl_thread *self = pl_self();
	if (self && self->name[0])
		memcpy(name, self->name, PL_NAME_BYTES);
	else
		snprintf(name, PL_NAME_BYTES, "thread %u", pl_os_tid());
	name[PL_NAME_BYTES - 1] = 0;
}

/* Not under the lock. */
static void deliver(uint32_t kind, uint32_t orders, const char *lock_class, const char *thread, text *t)
{
	pl_lockdep_report r = {kind, orders, lock_class, thread, t->bytes ? t->bytes : "lock-order validator: no memory for a report\n"};
	pthread_mutex_lock(&lock);
	pl_lockdep_listener to = listener;
	void *argument = listener_argument;
	pthread_mutex_unlock(&lock);
	if (to)
		to(&r, argument);
	else
		pl_os_write(2, r.text, strlen(r.text));
	free(t->bytes);
}

/* True the first time for a class. */
static bool first_time(uint64_t c, uint32_t kind, char *name)
{
	pthread_mutex_lock(&lock);
	class *of = &classes[index_of(c)];
	bool first = is_known(c) && !(of->said >> kind & 1);
	of->said |= first ? 1u << kind : 0;
	memcpy(name, of->name, name_bytes);
	pthread_mutex_unlock(&lock);
	return first;
}

static void report(uint32_t kind, uint64_t c, const trace *before, const void *caller)
{
	char name[name_bytes], thread[PL_NAME_BYTES];
	trace here;
	if (!first_time(c, kind, name))
		return;
	thread_name(thread);
	take_trace(&here, caller);
	text t = {0};
	switch (kind) {
	case PL_LOCKDEP_RECURSION: say(&t, "lock-order validator: %s acquires \"%s\", which it holds already.\n", thread, name); break;
	case PL_LOCKDEP_SAME_CLASS:
		say(&t, "lock-order validator: %s acquires a second lock of class \"%s\": if others do so in another order they wait for "
			"ever. Give them levels (pl_lockdep_set_class).\n", thread, name);
		break;
	case PL_LOCKDEP_NOT_HELD:
		say(&t, "lock-order validator: %s releases \"%s\", which it does not hold.\n", thread, name);
		break;
	default: say(&t, "lock-order validator: %s ends and holds \"%s\": nobody will release it.\n", thread, name);
	}
	if (before)
		say_trace(&t, "acquired at", before);
	if (kind != PL_LOCKDEP_HELD_AT_EXIT)
		say_trace(&t, kind == PL_LOCKDEP_NOT_HELD ? "released at" : "and now at", &here);
	deliver(kind, 0, name, thread, &t);
}

static void report_full(int err)
{
	static uint32_t said;
	char thread[PL_NAME_BYTES];
	if (pl_load_rlx(&said))
		return;
	pl_store_rlx(&said, 1);
	thread_name(thread);
	text t = {0};
	say(&t, err == -ENOSPC ? "lock-order validator: more than %d classes; from now on not every lock is seen. Give locks of one role one "
				"class (pl_lockdep_set_class), and forget those that are gone (pl_lockdep_forget).\n"
			      : "lock-order validator: no memory; not everything is seen (%d classes at most).\n", PL_LOCKDEP_CLASSES);
	deliver(PL_LOCKDEP_FULL, 0, "", thread, &t);
}

/* ---- the graph ---- */

static const order *order_of(uint32_t first, uint32_t second)
{
	for (const order *o = classes[first].orders; o; o = o->next)
		if (o->second == second)
			return o;
	return NULL;
}

/* Under the lock: the shortest chain from @from to @to, as predecessors; false if there is none. */
static bool find_path(uint32_t from, uint32_t to, uint16_t *before, uint16_t *queue)
{
	uint32_t read = 0, written = 0;
	memset(before, 0, known * sizeof *before);
	queue[written++] = (uint16_t)from;
	before[from] = (uint16_t)from;
	while (read < written) {
		uint32_t at = queue[read++];
		for (const order *o = classes[at].orders; o; o = o->next) {
			if (before[o->second])
				continue;
			before[o->second] = (uint16_t)at;
			if (o->second == to)
				return true;
			queue[written++] = (uint16_t)o->second;
		}
	}
	return false;
}

static void say_order(text *t, uint32_t first, const order *o)
{
	say(t, "\"%s\" while holding \"%s\", first by %s:\n", classes[o->second].name, classes[first].name, o->thread);
	say_trace(t, "  holding, acquired at", &o->held);
	say_trace(t, "  acquiring at", &o->acquired);
}

/* Under the lock. @return how many orders the circle has. */
static uint32_t say_circle(text *t, const order *closing, uint32_t first, uint32_t second, const uint16_t *before, uint16_t *chain)
{
	/* From `second` along the known orders to `first`; `closing` leads from `first` back to `second`. */
	uint32_t n = 0;
	for (uint32_t at = first; at != second; at = before[at])
		chain[n++] = (uint16_t)at;
	chain[n++] = (uint16_t)second;
	say(t, "lock-order validator: possible deadlock: %s acquires \"%s\" against an order seen before:", closing->thread,
	    classes[second].name);
	for (uint32_t i = n - 1; i > 0; i--)
		say(t, " \"%s\" before \"%s\";", classes[chain[i]].name, classes[chain[i - 1]].name);
	say(t, " \"%s\" before \"%s\". Acquire them in one order everywhere.\n", classes[first].name, classes[second].name);
	for (uint32_t i = n - 1; i > 0; i--) {
		const order *o = order_of(chain[i], chain[i - 1]);
		if (o)
			say_order(t, chain[i], o);
	}
	say_order(t, first, closing);
	return n;
}

static void add_order(const held *h, uint64_t to, const void *caller)
{
	uint32_t first = index_of(h->class), second = index_of(to);
	order *o = malloc(sizeof *o);
	uint16_t *work = malloc(2 * known * sizeof *work);
	if (!o || !work) {
		free(o), free(work);
		report_full(-ENOMEM);
		return;
	}
	o->second = second;
	o->held = h->where;
	thread_name(o->thread);
	take_trace(&o->acquired, caller);
	text t = {0};
	uint32_t circle = 0;
	char name[name_bytes], thread[PL_NAME_BYTES];
	pthread_mutex_lock(&lock);
	if (is_known(h->class) && is_known(to) && !is_after(first, second)) {
		if (find_path(second, first, work, work + known)) {
			circle = say_circle(&t, o, first, second, work, work + known);
			memcpy(name, classes[second].name, sizeof name);
			memcpy(thread, o->thread, sizeof thread);
		}
		o->next = classes[first].orders;
		classes[first].orders = o;
		pl_store_rlx(word_of(first, second), pl_load_rlx(word_of(first, second)) | 1u << second % 32);
		o = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(o), free(work);
	if (circle)
		deliver(PL_LOCKDEP_INVERSION, circle, name, thread, &t);
}

/* The lock's class; one of its own if it was given none. 0: it is not seen. */
static uint64_t class_of(const void *word)
{
	uint64_t c = look_up((uintptr_t)word);
	if (PL_LIKELY(c))
		return c;
	char name[name_bytes];
	snprintf(name, sizeof name, "lock at %p", word);
	pthread_mutex_lock(&lock);
	c = walk(bucket_of((uintptr_t)word), (uintptr_t)word);
	int err = is_known(c) ? 0 : add_class((uintptr_t)word, name, 0, &c);
	pthread_mutex_unlock(&lock);
	if (!err)
		return c;
	report_full(err);
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
		const held *h = &mine->locks[i];
		if (h->lock == word)
			report(PL_LOCKDEP_RECURSION, c, &h->where, __builtin_return_address(0));
		else if (h->class == c)
			report(PL_LOCKDEP_SAME_CLASS, c, &h->where, __builtin_return_address(0));
		else if (is_known(h->class) && !is_after(index_of(h->class), index_of(c)))
			add_order(h, c, __builtin_return_address(0));
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
		held *h = &l->locks[l->count++];
		h->lock = word;
		h->class = c;
		take_trace(&h->where, __builtin_return_address(0));
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
			report(PL_LOCKDEP_NOT_HELD, c, NULL, __builtin_return_address(0));
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
		report(PL_LOCKDEP_HELD_AT_EXIT, l->locks[i].class, &l->locks[i].where, NULL);
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
	char room[name_bytes];
	uintptr_t key = (uintptr_t)c + level;
	*out = walk(bucket_of(key), key);
	if (is_known(*out))
		return fresh ? -EEXIST : 0;
	return add_class(key, name_of(c, room, sizeof room), level, out);
}

int pl_lockdep_listen(pl_lockdep_listener to, void *argument)
{
	pthread_mutex_lock(&lock);
	listener = to;
	listener_argument = argument;
	pthread_mutex_unlock(&lock);
	return 0;
}

int pl_lockdep_register(const pl_lock_class *c)
{
	uint64_t unused;
	if (bad_class(c))
		return -EINVAL;
	PL_KEEP_ERRNO;
	pthread_once(&once, prepare);
	if (!classes)
		return -ENOMEM;
	pthread_mutex_lock(&lock);
	int err = find_or_add(c, 0, true, &unused);
	pthread_mutex_unlock(&lock);
	return err;
}

int pl_lockdep_set_class(const void *word, const pl_lock_class *c, uint32_t level)
{
	uint64_t stands_for;
	if (!word || bad_class(c) || level >= PL_LOCKDEP_LEVELS)
		return -EINVAL;
	PL_KEEP_ERRNO;
	pthread_once(&once, prepare);
	if (!classes)
		return -ENOMEM;
	pthread_mutex_lock(&lock);
	entry *before = entry_of((uintptr_t)word);
	if (before && is_known(before->stands_for) && classes[index_of(before->stands_for)].key == (uintptr_t)word)
		drop_class(index_of(before->stands_for)); /* it was one of its own until now */
	int err = find_or_add(c, level, false, &stands_for);
	if (!err)
		err = set_class((uintptr_t)word, stands_for);
	pthread_mutex_unlock(&lock);
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
	if (!classes)
		return -ENOENT;
	if (would_wait_for_itself())
		return -EDEADLK;
	uint32_t found = 0;
	for (uintptr_t key = (uintptr_t)c; key < (uintptr_t)c + PL_LOCKDEP_LEVELS; key++) {
		entry *gone = NULL;
		pthread_mutex_lock(&lock);
		found += unlink_entries(bucket_of(key), key, key + 1, &gone);
		pthread_mutex_unlock(&lock);
		free_entries(bucket_of(key), gone);
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
	if (!classes)
		return 0;
	if (would_wait_for_itself())
		return -EDEADLK;
	uint32_t found = 0;
	for (uint32_t b = 0; b < buckets; b++) {
		entry *gone = NULL;
		pthread_mutex_lock(&lock);
		found += unlink_entries(&table[b], from, from + bytes, &gone);
		pthread_mutex_unlock(&lock);
		free_entries(&table[b], gone);
	}
	return (int)found;
}
