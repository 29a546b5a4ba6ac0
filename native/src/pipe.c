/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token pipe. Readers and writers are two *sides* that do the same: wait until the pipe is ready for them, in turn,
 * transfer, and see to the next of either side.
 *
 * Everything in the pipe but `look` changes only under its mutex, and so do both lines: who joins has seen under the
 * mutex that the pipe is not ready, who makes it ready finds him in the line afterwards. So no wake-up is lost, and no
 * fence is needed. The mutex is a wait queue's lock: signals are blocked while it is held, and a killed holder is
 * inherited from. A transfer takes effect by one store, of `tail` or `head`, after the bytes.
 *
 * next:  who goes next on that side. Set by that thread for itself when nobody does and it is about to look; set for a
 *        sleeper by whoever chooses it; handed to `after`, or cleared, by its bearer when it transfers, sleeps or leaves;
 *        void when others of the side have found the pipe ready for PL_PIPE_PATIENCE_NS, or the first sleeper twice in a
 *        row at its watch timer: its bearer does not run. A void role costs order, never data.
 * after: an awake one that waits for its turn. Set and cleared by itself, but for the hand-over above.
 */
#include "arch/arch.h"
#include "context.h"
#include "line.h"

#include <panalock/pipe.h>
#include <panalock/qspinlock.h>
#include <string.h>

enum {
	record_header = 4, /* bytes: a record's length */
	hint_max = 8, /* of pl_pipe_side.look and .grace */
	short_look_ns = 2000, /* look for this long when looking has not been worth it */
	short_grace_ns = 2000, /* wait for somebody awake for this long when that has not been worth it */
	look_every_ns = 100,
	own_cpu_ns = 20000, /* one that does not come within this may wait for the CPU that we look on */
};

/* What a call is about. */
typedef struct {
	pl_pipe *pipe;
	pl_pipe_side *side, *other;
	bool writing;
	uint32_t bytes;
	void *memory;
} job;

/* One call under way. */
typedef struct {
	pl_thread *self;
	pl_domain *domain;
	pl_node *node;
	uint32_t number;
	uint32_t flags;
	uint64_t until;   /* monotonic ns; 0: never */
	bool in_line;
	bool crowded;     /* the one that went before us ran on our CPU when we let it */
	uint64_t patient; /* since when the pipe is ready but it is another's turn; 0: it is not */
	uint64_t looking; /* since when it is our turn and we look; 0: we do not */
	bool sees_to_side, sees_to_other; /* a sleeper there may have to be woken */
	uint32_t position[2]; /* tail and head when we left */
	uint32_t watched_head, watched_tail, watched_next; /* as the watch timer saw them last */
} visit;

/* Sleepers taken out of their line, to be woken when the mutex is free: two choices, each with a watch timer to set. */
typedef struct {
	uint32_t number[5], was[5], count;
} woken;

typedef enum { DONE, LOOK, SLEEP } step;

/* Exact under the mutex; else a hint, of any size when somebody transfers meanwhile. */
static uint32_t used(const pl_pipe *p) { return pl_load_rlx(&p->tail) - pl_load_rlx(&p->head); }

/* Without the mutex, but exact as of some moment, unless the pipe is too busy for it. */
static uint32_t used_at_once(const pl_pipe *p)
{
	enum { tries = 1000 };
	uint32_t head, seen;
	for (int i = 0;; i++) {
		head = pl_load_acq(&p->head); /* A1: acquire, pairs with A2; before the look at the tail */
		seen = pl_load_acq(&p->tail) - head; /* A1 */
		if (pl_load_rlx(&p->head) == head || i == tries)
			return seen;
	}
}

static unsigned char *data(pl_pipe *p) { return (unsigned char *)(p + 1); }

/* ---- bytes ---- */

static void put(pl_pipe *p, uint32_t at, const void *from, uint32_t bytes)
{
	uint32_t start = at & (p->capacity - 1), first = p->capacity - start < bytes ? p->capacity - start : bytes;
	memcpy(data(p) + start, from, first);
	memcpy(data(p), (const char *)from + first, bytes - first);
}

static void get(pl_pipe *p, uint32_t at, void *to, uint32_t bytes)
{
	uint32_t start = at & (p->capacity - 1), first = p->capacity - start < bytes ? p->capacity - start : bytes;
	memcpy(to, data(p) + start, first);
	memcpy((char *)to + first, data(p), bytes - first);
}

static uint32_t header_of(const pl_pipe *p) { return p->flags & PL_PIPE_RECORDS ? record_header : 0; }

static bool other_side_gone(const job *j) { return pl_load_rlx(&j->other->open) == 0; }

/* True when the job need not wait: it can be done, or the other side is gone. May be called without the mutex. */
static bool ready(const job *j)
{
	const pl_pipe *p = j->pipe;
	return other_side_gone(j) || (j->writing ? p->capacity - used(p) >= j->bytes + header_of(p) : used(p) > 0);
}

/* The pipe is ready: the result of the call. */
static int64_t transfer(const job *j)
{
	pl_pipe *p = j->pipe;
	uint32_t header = header_of(p);
	if (j->writing) {
		if (other_side_gone(j))
			return -EPIPE;
		put(p, p->tail, &j->bytes, header);
		put(p, p->tail + header, j->memory, j->bytes);
		pl_store_rel(&p->tail, p->tail + header + j->bytes); /* A2: release, pairs with A1 */
		return j->bytes;
	}
	uint32_t there = used(p), length = there < j->bytes ? there : j->bytes;
	if (there == 0)
		return 0; /* and no writer */
	if (header) {
		get(p, p->head, &length, header);
		if (there < header || length > there - header)
			return -EBADMSG;
		if (length > j->bytes)
			return -EMSGSIZE;
	}
	get(p, p->head + header, j->memory, length);
	pl_store_rel(&p->head, p->head + header + length); /* A2 */
	return length;
}

/* ---- turns; the mutex is held ---- */

static bool mine(const visit *v, const job *j) { return pl_load_rlx(&j->side->next) == v->number; }

static bool takes_turns(const job *j) { return !(j->pipe->flags & (PL_PIPE_WAKE_ALL | PL_PIPE_GREEDY)); }

static void set_next(pl_pipe_side *side, uint32_t number) { pl_store_rlx(&side->next, number); }

/* The turn passes to the awake one that waits for it, or to nobody. */
static void hand_on(pl_pipe_side *side)
{
	set_next(side, side->after);
	side->after = 0;
}

/* We take no part any more. */
static void give_up_turns(const visit *v, const job *j)
{
	if (j->side->after == v->number)
		j->side->after = 0;
	if (mine(v, j))
		hand_on(j->side);
}

static void add(woken *w, uint32_t number, uint32_t was)
{
	w->number[w->count] = number;
	w->was[w->count++] = was;
}

/* The first sleeper of a side goes next, if nobody does. */
static void choose_next(const visit *v, pl_pipe_side *side, woken *w)
{
	if (side->next || !pl_load_rlx(&side->line.head))
		return;
	pl_line_guard guard;
	pl_line_lock(&guard, v->self, &side->line);
	uint32_t number = side->line.head, watch_was;
	if (number) {
		uint64_t key = pl_node_at(v->domain, number)->key;
		set_next(side, number);
		add(w, number, pl_line_choose(&guard, number));
		uint32_t watch = pl_line_new_watch(&guard, key, number, &watch_was);
		if (watch)
			add(w, watch, watch_was);
	}
	pl_line_unlock(&guard);
}

/* True when somebody of that side could do something. Writers may need more room than there is: they look themselves. */
static bool has_work(const pl_pipe *p, const pl_pipe_side *side)
{
	return side == &p->reader ? used(p) > 0 || p->writer.open == 0 : used(p) < p->capacity || p->reader.open == 0;
}

static bool must_choose(const pl_pipe *p, const pl_pipe_side *side)
{
	return !pl_load_rlx(&side->next) && pl_load_rlx(&side->line.head) && has_work(p, side);
}

/*
 * A sleeper should be woken, which costs more than the grace. Without the mutex: true if somebody awake came instead.
 * Where that has not been so lately it is tried now and then only.
 */
static bool somebody_comes(const visit *v, const pl_pipe *p, pl_pipe_side *side)
{
	enum { probe_every = 32 };
	/* Whoever moves this position after us sees to what is left himself. */
	bool reading = side == &p->reader;
	const uint32_t *position = reading ? &p->head : &p->tail;
	uint32_t misses = pl_load_rlx(&side->misses);
	if (misses == hint_max && pl_load_rlx(&p->tail) / 4 % probe_every)
		return false;
	uint64_t until = pl_os_now() + (misses ? short_grace_ns : PL_PIPE_GRACE_NS);
	bool came;
	while (!(came = pl_load_rlx(position) != v->position[reading] || !must_choose(p, side)) && pl_os_now() < until)
		pl_cpu_relax();
	pl_store_rlx(&side->misses, came ? misses / 2 : misses < hint_max ? misses + 1 : misses);
	return came;
}

/* ---- the line of sleepers ---- */

/* Joins; the mutex is held and the pipe was not ready. */
static void join(visit *v, const job *j)
{
	pl_store_rlx(&v->node->kind, PL_NODE_AT_QUEUE);
	v->node->key = pl_key(v->domain, &j->side->line);
	v->node->arrival = pl_os_now();
	pl_line_guard guard;
	pl_line_lock(&guard, v->self, &j->side->line);
	pl_line_insert(&guard, v->number);
	pl_line_unlock(&guard);
	give_up_turns(v, j);
	v->watched_next = j->side->next;
	v->watched_head = j->pipe->head;
	v->watched_tail = j->pipe->tail;
	v->in_line = true;
}

/* Leaves it, if nobody took us out; the mutex is held. */
static void withdraw(visit *v, const job *j, woken *w)
{
	uint32_t watch = 0, watch_was = 0;
	pl_line_guard guard;
	pl_line_lock(&guard, v->self, &j->side->line);
	if (pl_node_in_line(v->node)) {
		pl_line_remove(&guard, v->number);
		watch = pl_line_new_watch(&guard, v->node->key, v->number, &watch_was);
	}
	pl_store_rlx(&v->node->state, PL_NODE_IDLE);
	pl_line_unlock(&guard);
	if (watch)
		add(w, watch, watch_was);
	v->in_line = false;
	v->patient = v->looking = 0;
}

static void sleep_in_line(const visit *v)
{
	uint64_t until = v->until;
	if (pl_load_rlx(&v->node->kind) & PL_NODE_WATCH) {
		uint64_t watch = pl_os_now() + PL_WATCH_NS;
		if (!until || watch < until)
			until = watch;
	}
	uint32_t state = pl_node_sleep(v->domain, v->node, until);
	if (state == PL_NODE_REARM || state == PL_NODE_INTERRUPTED)
		pl_cas_ar(&v->node->state, state, PL_NODE_SLEEPING); /* S6: acquire and release, pairs with S3 */
}

/* Wakes a whole line, one by one: a sleeper that joins again stands behind those who stood there when we came. */
static void wake_all(pl_thread *self, pl_waitq *line)
{
	pl_domain *domain = pl_thread_domain(self);
	uint64_t now = pl_os_now();
	for (;;) {
		pl_line_guard guard;
		pl_line_lock(&guard, self, line);
		uint32_t number = line->head, was = 0;
		if (number && pl_node_at(domain, number)->arrival <= now)
			was = pl_line_choose(&guard, number);
		else
			number = 0;
		pl_line_unlock(&guard);
		if (!number)
			return;
		pl_node_wake(domain, number, was);
	}
}

static void wake(const visit *v, const woken *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		pl_node_wake(v->domain, w->number[i], w->was[i]);
}

/* ---- looking ---- */

static bool interrupted(pl_thread *self)
{
	pl_fence(); /* I2: full fence, our node's state before the look at the flag; pairs with I1 */
	return pl_load_rlx(&self->interrupted) && pl_swap_ar(&self->interrupted, 0); /* I4: acquire, pairs with I3 */
}

/* Why the visit must end without a transfer, or 0. */
static int must_leave(const visit *v, uint64_t now)
{
	if (v->flags & PL_PIPE_NONBLOCK)
		return -EAGAIN;
	if (v->flags & PL_WAIT_INTERRUPTIBLE && interrupted(v->self))
		return -EINTR;
	return v->until && now >= v->until ? -ETIMEDOUT : 0;
}

/* How long it is worth to look before sleeping. `look` is a hint: races cost nothing. */
static uint32_t look_ns(const pl_pipe_side *side)
{
	return pl_load_rlx(&side->look) ? PL_PIPE_LOOK_NS : short_look_ns;
}

static void looked(pl_pipe_side *side, bool found)
{
	uint32_t look = pl_load_rlx(&side->look);
	pl_store_rlx(&side->look, found ? (look < hint_max ? look + 1 : look) : look / 2);
}

static void pause_between_looks(void)
{
	for (uint32_t n = look_every_ns * pl_os_relaxes_per_100ns / 100 + 1; n; n--)
		pl_cpu_relax();
}

/* Looks without the mutex until it makes sense to take it. */
static void look_on(visit *v, const job *j)
{
	uint32_t next = pl_load_rlx(&j->side->next);
	bool turn = next == v->number;
	uint64_t limit = pl_os_now() + (turn ? look_ns(j->side) : PL_PIPE_PATIENCE_NS);
	if (v->until && v->until < limit)
		limit = v->until;
	uint64_t start = pl_os_now();
	bool yielded = turn;
	while (pl_load_rlx(&j->side->next) == next && !(turn && ready(j))) {
		uint64_t now = pl_os_now();
		if (!yielded && now - start >= own_cpu_ns) {
			pl_os_yield();
			v->crowded = pl_load_rlx(&j->side->next) != next;
			yielded = true;
		}
		if (now >= limit || (v->flags & PL_WAIT_INTERRUPTIBLE && pl_load_rlx(&v->self->interrupted)))
			return;
		pause_between_looks();
	}
}

/* ---- one call ---- */

/* At the watch timer: true if the one that goes next has not moved since the last time, though it could. */
static bool bearer_is_stuck(visit *v, const job *j)
{
	uint32_t next = j->side->next, head = j->pipe->head, tail = j->pipe->tail;
	bool stuck = ready(j) && (!next || (next == v->watched_next && head == v->watched_head && tail == v->watched_tail));
	v->watched_next = next;
	v->watched_head = head;
	v->watched_tail = tail;
	return stuck;
}

/* Awake again, the mutex is held: true if we go on sleeping. */
static bool sleeps_on(visit *v, const job *j, woken *w)
{
	bool chosen = !pl_node_in_line(v->node);
	bool stuck = !chosen && bearer_is_stuck(v, j);
	bool leave = v->until && pl_os_now() >= v->until;
	bool called = v->flags & PL_WAIT_INTERRUPTIBLE && pl_load_rlx(&v->self->interrupted);
	if (!chosen && !stuck && !leave && !called)
		return true;
	if (stuck && takes_turns(j))
		set_next(j->side, v->number);
	withdraw(v, j, w);
	return false;
}

/* The pipe is ready but it is another's turn: true if we leave the data to it. */
static bool lets_another_go_first(visit *v, const job *j)
{
	pl_pipe_side *side = j->side;
	if (!takes_turns(j) || !side->next || mine(v, j) || v->flags & PL_PIPE_NONBLOCK || other_side_gone(j))
		return false;
	if (!side->after)
		side->after = v->number;
	return true;
}

/* It is not our turn, though the pipe is ready: true if we had better sleep. */
static bool sleeps_meanwhile(visit *v, const job *j)
{
	uint64_t now = pl_os_now();
	if (!v->patient)
		v->patient = now;
	return j->side->after != v->number || now - v->patient >= PL_PIPE_PATIENCE_NS;
}

/* The pipe is not ready: true if it is our turn, and worth to look; else we stand in the line. */
static bool looks(visit *v, const job *j)
{
	pl_pipe_side *side = j->side;
	uint64_t now = pl_os_now();
	bool others_sleep = pl_load_rlx(&side->line.head);
	v->patient = 0;
	if (takes_turns(j) && (!side->next || mine(v, j))) {
		bool tired = v->looking && now - v->looking >= look_ns(side);
		if (!tired && !(others_sleep && now - side->rotated >= PL_PIPE_SLICE_NS)) {
			if (!v->looking)
				v->looking = now;
			set_next(side, v->number);
			return true;
		}
		if (tired)
			looked(side, false);
	}
	bool gives_way = takes_turns(j) && others_sleep && now - side->rotated >= PL_PIPE_SLICE_NS;
	join(v, j);
	if (gives_way) {
		side->rotated = now;
	}
	return false;
}

/* The end of the visit, with or without a transfer: what others must be woken for is our business from here on. */
static step leave(visit *v, const job *j)
{
	give_up_turns(v, j);
	v->sees_to_side = must_choose(j->pipe, j->side);
	v->sees_to_other = must_choose(j->pipe, j->other);
	v->position[true] = j->pipe->head;
	v->position[false] = j->pipe->tail;
	return DONE;
}

static step decide(visit *v, const job *j, woken *w, int64_t *result)
{
	if (used(j->pipe) > j->pipe->capacity) {
		*result = -EBADMSG; /* a stranger has written here */
		if (v->in_line)
			withdraw(v, j, w);
		return leave(v, j);
	}
	if (v->in_line && sleeps_on(v, j, w))
		return SLEEP;
	/* Two awake on one CPU: one of them sleeps, so that its next wake-up finds a CPU that is free. */
	bool two_here = v->crowded && mine(v, j) && j->side->after;
	v->crowded = false;
	if (two_here) {
		join(v, j);
		return SLEEP;
	}
	if (ready(j)) {
		if (lets_another_go_first(v, j)) {
			if (v->until && pl_os_now() >= v->until) {
				*result = -ETIMEDOUT;
				return leave(v, j);
			}
			if (!sleeps_meanwhile(v, j))
				return LOOK;
			join(v, j);
			return SLEEP;
		}
		if (v->looking)
			looked(j->side, true);
		*result = transfer(j);
		return leave(v, j);
	}
	*result = must_leave(v, v->until ? pl_os_now() : 0);
	if (*result)
		return leave(v, j);
	return looks(v, j) ? LOOK : SLEEP;
}

/* After a transfer: a sleeper of either side goes next if there is work and nobody awake does it. */
static void see_to(const visit *v, const job *j, pl_pipe_side *side)
{
	if (!must_choose(j->pipe, side) || somebody_comes(v, j->pipe, side))
		return;
	woken w = {.count = 0};
	pl_line_guard mutex;
	pl_line_lock(&mutex, v->self, &j->pipe->mutex);
	if (must_choose(j->pipe, side))
		choose_next(v, side, &w);
	pl_line_unlock(&mutex);
	wake(v, &w);
}

static int64_t take_part(visit *v, const job *j)
{
	int64_t result = 0;
	for (;;) {
		woken w = {.count = 0};
		pl_line_guard mutex;
		pl_line_lock(&mutex, v->self, &j->pipe->mutex);
		step next = decide(v, j, &w, &result);
		pl_line_unlock(&mutex);
		wake(v, &w);
		if (next == DONE)
			break;
		if (next == LOOK)
			look_on(v, j);
		else
			sleep_in_line(v);
	}
	if (j->pipe->flags & PL_PIPE_WAKE_ALL) {
		if (result > 0)
			wake_all(v->self, &j->other->line);
	} else {
		if (v->sees_to_other)
			see_to(v, j, j->other);
		if (v->sees_to_side) /* passes on what is left, also a turn that was not used */
			see_to(v, j, j->side);
	}
	return result;
}

/* ---- checks ---- */

static bool bad(pl_thread *self, const pl_pipe *p)
{
	return !self || self->index == 0 || !p || (uintptr_t)p % _Alignof(pl_pipe) || p->magic != PL_PIPE_MAGIC;
}

static bool good_capacity(uint32_t c)
{
	return c >= PL_PIPE_MIN_CAPACITY && c <= PL_PIPE_MAX_CAPACITY && (c & (c - 1)) == 0;
}

static int64_t call(pl_thread *self, const job *j, uint32_t flags, int64_t timeout_ns)
{
	const pl_pipe *p = j->pipe;
	if (bad(self, p) || !j->memory || j->bytes == 0 || flags & ~(uint32_t)(PL_PIPE_NONBLOCK | PL_WAIT_INTERRUPTIBLE))
		return -EINVAL;
	if (!good_capacity(p->capacity))
		return -EBADMSG;
	if (j->writing && (j->bytes > p->capacity || j->bytes + header_of(p) > p->capacity))
		return -EMSGSIZE;
	int level = pl_context_enter(self);
	if (level < 0)
		return level;
	visit v = {.self = self,
		   .domain = pl_thread_domain(self),
		   .node = &self->nodes[level],
		   .number = pl_node_number(self, (uint32_t)level),
		   .flags = flags,
		   .until = timeout_ns < 0 ? 0 : pl_os_now() + (uint64_t)timeout_ns};
	int64_t result = take_part(&v, j);
	pl_context_leave(self, (uint32_t)level);
	return result;
}

/* ---- the calls ---- */

uint64_t pl_pipe_size(uint32_t capacity) { return good_capacity(capacity) ? sizeof(pl_pipe) + (uint64_t)capacity : 0; }

int pl_pipe_init(void *memory, uint64_t bytes, uint32_t capacity, uint32_t flags, pl_pipe **out)
{
	uint64_t size = pl_pipe_size(capacity);
	if (!memory || !out || (uintptr_t)memory % _Alignof(pl_pipe) || !size || bytes < size ||
	    flags & ~(uint32_t)(PL_PIPE_RECORDS | PL_PIPE_WAKE_ALL | PL_PIPE_GREEDY))
		return -EINVAL;
	pl_pipe *p = memory;
	*p = (pl_pipe){.flags = flags, .capacity = capacity};
	__atomic_store_n(&p->magic, PL_PIPE_MAGIC, __ATOMIC_RELEASE); /* D1 */
	*out = p;
	return 0;
}

int pl_pipe_at(void *memory, uint64_t bytes, pl_pipe **out)
{
	if (!memory || !out || (uintptr_t)memory % _Alignof(pl_pipe))
		return -EINVAL;
	pl_pipe *p = memory;
	if (bytes < sizeof *p || __atomic_load_n(&p->magic, __ATOMIC_ACQUIRE) != PL_PIPE_MAGIC || /* D2 */
	    !good_capacity(p->capacity) || bytes < pl_pipe_size(p->capacity) || used_at_once(p) > p->capacity)
		return -EBADMSG;
	*out = p;
	return 0;
}

static bool bad_ends(uint32_t ends) { return !ends || ends & ~(uint32_t)(PL_PIPE_READ | PL_PIPE_WRITE); }

int pl_pipe_open(pl_thread *self, pl_pipe *pipe, uint32_t ends)
{
	if (bad(self, pipe) || bad_ends(ends))
		return -EINVAL;
	pl_line_guard mutex;
	pl_line_lock(&mutex, self, &pipe->mutex);
	pl_store_rlx(&pipe->reader.open, pipe->reader.open + !!(ends & PL_PIPE_READ));
	pl_store_rlx(&pipe->writer.open, pipe->writer.open + !!(ends & PL_PIPE_WRITE));
	pl_line_unlock(&mutex);
	return 0;
}

int pl_pipe_close(pl_thread *self, pl_pipe *pipe, uint32_t ends)
{
	if (bad(self, pipe) || bad_ends(ends))
		return -EINVAL;
	uint32_t reading = !!(ends & PL_PIPE_READ), writing = !!(ends & PL_PIPE_WRITE);
	pl_line_guard mutex;
	pl_line_lock(&mutex, self, &pipe->mutex);
	bool open = pipe->reader.open >= reading && pipe->writer.open >= writing;
	if (open) {
		pl_store_rlx(&pipe->reader.open, pipe->reader.open - reading);
		pl_store_rlx(&pipe->writer.open, pipe->writer.open - writing);
	}
	bool readers_left = pipe->reader.open, writers_left = pipe->writer.open;
	pl_line_unlock(&mutex);
	if (!open)
		return -EBADF;
	if (reading && !readers_left)
		wake_all(self, &pipe->writer.line);
	if (writing && !writers_left)
		wake_all(self, &pipe->reader.line);
	return 0;
}

int64_t pl_pipe_read(pl_thread *self, pl_pipe *pipe, void *to, uint32_t bytes, uint32_t flags, int64_t timeout_ns)
{
	const job j = {pipe, pipe ? &pipe->reader : NULL, pipe ? &pipe->writer : NULL, false, bytes, to};
	return call(self, &j, flags, timeout_ns);
}

int64_t pl_pipe_write(pl_thread *self, pl_pipe *pipe, const void *from, uint32_t bytes, uint32_t flags, int64_t timeout_ns)
{
	const job j = {pipe, pipe ? &pipe->writer : NULL, pipe ? &pipe->reader : NULL, true, bytes, (void *)(uintptr_t)from};
	return call(self, &j, flags, timeout_ns);
}

int64_t pl_pipe_available(const pl_pipe *pipe) { return pipe ? (int64_t)used_at_once(pipe) : -EINVAL; }
