/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock-order validator's parts: lockclass.c (which class a lock is of), lockgraph.c (which class came after which),
 * lockreport.c (what is said), lockdep.c (what threads hold; the public functions).
 *
 * Who may touch what:
 *   table     a hash of names: the address of a lock, or of a class plus the nesting level. An entry says which class the name
 *             stands for. Entries are linked and unlinked under `pl_dep_lock`; anybody walks a bucket inside a hazard guard on
 *             the bucket's address. Whoever has unlinked one waits for the guards on that bucket alone, then frees it.
 *   classes   by index, never freed; a class is known while its `generation` is odd. Written under the lock. An entry says
 *             index and generation: of another generation, it stands for a class that has been forgotten.
 *   after     a bit for each two classes: the second was waited for while the first was held. Set and cleared under the lock,
 *             read by anybody: a bit seen late costs one visit to the lock.
 *   orders    what reports tell about those bits; under the lock.
 *   mine      of its thread: what it holds. Signal handlers that come while `busy` do not touch it.
 *
 * Invariant: `after` has a bit iff some thread has waited, or could have had to wait, for a lock of the second class while it
 * held one of the first, and neither class has been forgotten since. An order that closes a circle is reported when it is
 * added, once.
 *
 * The lock is never held while somebody's listener runs, nor while anybody waits for guards.
 */
#ifndef PL_SRC_LOCKDEP_H
#define PL_SRC_LOCKDEP_H

#define PL_NO_INLINE
#include "domain.h"
#include "os/pthread.h"

#include <panalock/lockdep.h>

#define PL_DEP_SHARED __attribute__((visibility("hidden")))

enum {
	PL_DEP_FRAMES = 12,
	PL_DEP_NAME_BYTES = 56,
	PL_DEP_KNOWN = PL_LOCKDEP_CLASSES + 1, /* index 0 is none */
	PL_DEP_ROW_WORDS = PL_DEP_KNOWN / 32,
};

typedef struct {
	void *frames[PL_DEP_FRAMES];
	int count;
} pl_dep_trace;

typedef struct pl_dep_entry {
	struct pl_dep_entry *next, *gone; /* `gone`: of whoever has unlinked it */
	uintptr_t name;
	uint64_t stands_for; /* generation << 32 | index of a class */
} pl_dep_entry;

typedef struct pl_dep_order {
	struct pl_dep_order *next;
	uint32_t second;
	char thread[PL_NAME_BYTES];
	pl_dep_trace held, acquired;
} pl_dep_order;

typedef struct {
	uint32_t generation;  /* odd: known */
	uint32_t said;        /* bit of each kind that was reported: once is enough */
	uintptr_t key;        /* of the entry that owns it; a lock's when the class is that lock's own */
	pl_dep_order *orders; /* with this class as the first */
	char name[PL_DEP_NAME_BYTES];
} pl_dep_class;

/* A lock that a thread holds. */
typedef struct {
	const void *lock;
	uint64_t class;
	pl_dep_trace where;
} pl_dep_held;

extern pthread_mutex_t pl_dep_lock PL_DEP_SHARED;
extern pl_dep_class *pl_dep_classes PL_DEP_SHARED;               /* PL_DEP_KNOWN of them; null until prepared */
extern uint32_t (*pl_dep_after)[PL_DEP_ROW_WORDS] PL_DEP_SHARED; /* as many rows */

static inline uint32_t pl_dep_index(uint64_t c) { return (uint32_t)c; }
static inline bool pl_dep_is_known(uint64_t c)
{
	return c && pl_load_rlx(&pl_dep_classes[pl_dep_index(c)].generation) == (uint32_t)(c >> 32);
}
static inline bool pl_dep_is_after(uint32_t first, uint32_t second)
{
	return pl_load_rlx(&pl_dep_after[first][second / 32]) >> second % 32 & 1;
}

/* ---- lockclass.c ---- */

/* Where the entries with names of that hash begin; the next bucket, null after the last; from null, the first. */
pl_dep_entry **pl_dep_bucket(uintptr_t name);
pl_dep_entry **pl_dep_next_bucket(pl_dep_entry **bucket);
/* The class that a name stands for, 0 if none. */
uint64_t pl_dep_look_up(uintptr_t name);

/* All of these under the lock. */
uint64_t pl_dep_walk(pl_dep_entry **bucket, uintptr_t name); /* or inside a guard on the bucket */
pl_dep_entry *pl_dep_entry_of(uintptr_t name);
int pl_dep_set_class(uintptr_t name, uint64_t c);
int pl_dep_add_class(uintptr_t key, const char *name, uint32_t level, uint64_t *out);
void pl_dep_drop_class(uint32_t index);
/* Unlinks the entries whose names are in this range, onto a list, and forgets the classes that they own. */
uint32_t pl_dep_unlink(pl_dep_entry **bucket, uintptr_t from, uintptr_t to, pl_dep_entry **gone);

/* Not under the lock: waits for the bucket's guards. */
void pl_dep_free(pl_dep_entry **bucket, pl_dep_entry *gone);

/* ---- lockgraph.c ---- */

/* A lock of class @to is being acquired by a thread that holds @h. */
void pl_dep_add_order(const pl_dep_held *h, uint64_t to, const void *caller);
/* Under the lock: nothing comes before or after this class any more. Classes beyond @end were never used. */
void pl_dep_forget_orders(uint32_t index, uint32_t end);

/* ---- lockreport.c ---- */

typedef struct {
	char *bytes;
	size_t room, length;
} pl_dep_text;

__attribute__((format(printf, 2, 3))) void pl_dep_say(pl_dep_text *t, const char *format, ...);
void pl_dep_say_trace(pl_dep_text *t, const char *what, const pl_dep_trace *where);
/* From @caller on, so that our own functions are not in it. */
void pl_dep_take_trace(pl_dep_trace *where, const void *caller);
void pl_dep_thread_name(char name[PL_NAME_BYTES]);
/* Not under the lock. Frees the text. */
void pl_dep_deliver(uint32_t kind, uint32_t orders, const char *lock_class, const char *thread, pl_dep_text *t);
/* Of a kind other than an inversion, once for a class. */
void pl_dep_report(uint32_t kind, uint64_t c, const pl_dep_trace *before, const void *caller);
/* There is no room for a class: once. */
void pl_dep_report_full(int err);

#endif
