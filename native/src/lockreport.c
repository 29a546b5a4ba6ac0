/* SPDX-License-Identifier: Apache-2.0 */
/* What the validator says, and to whom. */
#include "lockdep.h"

#include "os/os.h"
#include "os/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pl_lockdep_listener listener; /* under the lock */
static void *listener_argument;

int pl_lockdep_listen(pl_lockdep_listener to, void *argument)
{
	pthread_mutex_lock(&pl_dep_lock);
	listener = to;
	listener_argument = argument;
	pthread_mutex_unlock(&pl_dep_lock);
	return 0;
}

void pl_dep_say(pl_dep_text *t, const char *format, ...)
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

void pl_dep_say_trace(pl_dep_text *t, const char *what, const pl_dep_trace *where)
{
	pl_dep_say(t, "%s\n", what);
	for (int i = 0; i < where->count; i++) {
		char line[256];
		pl_os_describe(where->frames[i], line, sizeof line);
		pl_dep_say(t, "    %s\n", line);
	}
}

void pl_dep_take_trace(pl_dep_trace *where, const void *caller) { where->count = pl_os_trace(where->frames, PL_DEP_FRAMES, caller); }

void pl_dep_thread_name(char name[PL_NAME_BYTES])
{
	pl_thread *self = pl_self();
	if (self && self->name[0])
		memcpy(name, self->name, PL_NAME_BYTES);
	else
		snprintf(name, PL_NAME_BYTES, "thread %u", pl_os_tid());
	name[PL_NAME_BYTES - 1] = 0;
}

void pl_dep_deliver(uint32_t kind, uint32_t orders, const char *lock_class, const char *thread, pl_dep_text *t)
{
	pl_lockdep_report r = {kind, orders, lock_class, thread, t->bytes ? t->bytes : "lock-order validator: no memory for a report\n"};
	pthread_mutex_lock(&pl_dep_lock);
	pl_lockdep_listener to = listener;
	void *argument = listener_argument;
	pthread_mutex_unlock(&pl_dep_lock);
	if (to)
		to(&r, argument);
	else
		pl_os_write(2, r.text, strlen(r.text));
	free(t->bytes);
}

/* True the first time for a class. */
static bool first_time(uint64_t c, uint32_t kind, char *name)
{
	pthread_mutex_lock(&pl_dep_lock);
	pl_dep_class *of = &pl_dep_classes[pl_dep_index(c)];
	bool first = pl_dep_is_known(c) && !(of->said >> kind & 1);
	of->said |= first ? 1u << kind : 0;
	memcpy(name, of->name, PL_DEP_NAME_BYTES);
	pthread_mutex_unlock(&pl_dep_lock);
	return first;
}

void pl_dep_report(uint32_t kind, uint64_t c, const pl_dep_trace *before, const void *caller)
{
	char name[PL_DEP_NAME_BYTES], thread[PL_NAME_BYTES];
	pl_dep_trace here;
	if (!first_time(c, kind, name))
		return;
	pl_dep_thread_name(thread);
	pl_dep_take_trace(&here, caller);
	pl_dep_text t = {0};
	switch (kind) {
	case PL_LOCKDEP_RECURSION: pl_dep_say(&t, "lock-order validator: %s acquires \"%s\", which it holds already.\n", thread, name); break;
	case PL_LOCKDEP_SAME_CLASS:
		pl_dep_say(&t, "lock-order validator: %s acquires a second lock of class \"%s\": if others do so in another order they wait for "
			"ever. Give them levels (pl_lockdep_set_class).\n", thread, name);
		break;
	case PL_LOCKDEP_NOT_HELD:
		pl_dep_say(&t, "lock-order validator: %s releases \"%s\", which it does not hold.\n", thread, name);
		break;
	default: pl_dep_say(&t, "lock-order validator: %s ends and holds \"%s\": nobody will release it.\n", thread, name);
	}
	if (before)
		pl_dep_say_trace(&t, "acquired at", before);
	if (kind != PL_LOCKDEP_HELD_AT_EXIT)
		pl_dep_say_trace(&t, kind == PL_LOCKDEP_NOT_HELD ? "released at" : "and now at", &here);
	pl_dep_deliver(kind, 0, name, thread, &t);
}

void pl_dep_report_full(int err)
{
	static uint32_t said;
	char thread[PL_NAME_BYTES];
	if (pl_load_rlx(&said))
		return;
	pl_store_rlx(&said, 1);
	pl_dep_thread_name(thread);
	pl_dep_text t = {0};
	pl_dep_say(&t, err == -ENOSPC ? "lock-order validator: more than %d classes; from now on not every lock is seen. Give locks of one role one "
				"class (pl_lockdep_set_class), and forget those that are gone (pl_lockdep_forget).\n"
			      : "lock-order validator: no memory; not everything is seen (%d classes at most).\n", PL_LOCKDEP_CLASSES);
	pl_dep_deliver(PL_LOCKDEP_FULL, 0, "", thread, &t);
}
