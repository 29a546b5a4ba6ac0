/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutex, slow paths and conditions. docs/osq.md has the protocol in words.
 *
 * Who may change what:
 *   owner    0 -> a slot by whoever finds it 0 (compare-and-swap) and no HANDOFF but its own; back to 0 by that slot.
 *   HANDOFF  set by the one waiter that goes next; cleared by it when it owns the mutex or leaves. A pick-up that does not
 *            come within PL_RESERVATION_NS of a free mutex is void: any waiter clears the bit, its owner, should it come
 *            back, sets it anew. Taking is always a compare-and-swap, so a void hand-off costs fairness, never exclusion.
 *   SPINNER  set for one awake waiter that is responsible for the sleepers; cleared by it on acquiring, sleeping or leaving.
 *   WAITERS  set and cleared under the bucket's line lock: set iff a waiter for this mutex is in the line.
 *   tail     the spinners' queue, see spinners.h.
 *
 * No lost wake-up: a sleeper stands in the line and WAITERS is set before it looks (Y7) whether anybody is left who will wake
 * it: an owner, whose release looks at `state` after it has cleared `owner` (Y2, Y3), or a SPINNER or HANDOFF, who will be
 * owner or looks itself when it leaves. Store, then load, on both sides: the sleeper's heavy fence stands in for the
 * fence that the release lacks.
 *
 * Conditions: a waiter stands in the condition's own line, as at a wait queue. A signal moves it into the mutex's line and gives
 * it the mutex's key, under both lines' locks, the condition's taken first; so whoever holds the condition's knows where
 * a waiter stands. From then on it is a waiter like any other.
 */
#define PL_NO_INLINE /* this file defines the exported forms */
#include "context.h"
#include "heat.h"
#include "line.h"
#include "park.h"
#include "spinners.h"

#include <panalock/mutex.h>

enum {
	look_ns = 100,          /* distance of two looks at a word that others are busy with */
	brief_looks = 6,        /* looks of a newcomer before it queues or sleeps */
	confirm_looks = 8,      /* looks in a row that must find a hot mutex free before it counts as idle */
	sparse_ns = 16000,      /* longest distance of looks while spinning */
	check_ns = 1600,        /* distance of looks from which it is worth asking whether the owner sleeps */
	hopeless_ns = 100000,   /* spinning, always found held: sleep */
	alone_ns = PL_SLICE_NS + hopeless_ns, /* the same when nobody sleeps: a hand-off, had it been requested, would have come */
	queue_ns = 50000,       /* patience of spinners that are not the head: what two sleeps and wake-ups cost */
	watch_near = 16,        /* one of so many first waiters of each process has a watch timer */
	all_flags = PL_WAIT_INTERRUPTIBLE | PL_WAIT_RESUME | PL_WAIT_BLOCK | PL_WAIT_POLL,
};

enum { TAKEN = 0, SLEEP = 1 }; /* results beside negative errors */

typedef struct {
	pl_thread *self;
	pl_domain *domain;
	pl_mutex *mutex;
	pl_node *node;
	uint32_t number;
	uint32_t mine; /* `owner` when the mutex is ours */
	uint64_t key;
	uint64_t until; /* monotonic ns; 0: never */
	uint32_t flags;
	bool spinner;   /* SPINNER is ours */
	bool handoff;   /* HANDOFF is ours */
	uint64_t role;  /* when we began to compete, over all sleeps */
	uint64_t lying; /* since when the mutex lies free but handed off to somebody else; 0: it does not */
	uint64_t queued; /* when we began to queue for the spinners' head */
} wait;

static bool bad(const pl_mutex *mutex) { return !mutex || (uintptr_t)mutex % _Alignof(pl_mutex); }

static bool bad_self(const pl_thread *self) { return !self || self->index == 0; }

/* `state`, and of `owner` HELD and POISON. */
static uint32_t bits(const pl_mutex *m)
{
	uint32_t state = pl_load_rlx(&m->state) & ~PL_M_TAIL_MASK;
	return state | (pl_load_rlx(&m->owner) & (PL_M_HELD | PL_M_POISON));
}

static uint32_t set_bits(pl_mutex *m, uint32_t some)
{
	return pl_or_ar(&m->state, some); /* Y5: acquire and release, pairs with Y1, Y3, Y6 */
}

static uint32_t clear_bits(pl_mutex *m, uint32_t some)
{
	return pl_and_ar(&m->state, ~some); /* Y6: acquire and release, pairs with Y1, Y3, Y5 */
}

static uint32_t my_bits(const wait *w) { return (w->spinner ? PL_M_SPINNER : 0) | (w->handoff ? PL_M_HANDOFF : 0); }

static bool take(wait *w)
{
	if (!pl_cas_acq(&w->mutex->owner, 0, w->mine)) /* Y1 */
		return false;
	uint32_t mine = my_bits(w);
	if (mine)
		clear_bits(w->mutex, mine);
	return true;
}

/* Requests the mutex: true if HANDOFF is ours now. */
static bool request(wait *w) { return !(set_bits(w->mutex, PL_M_HANDOFF) & PL_M_HANDOFF); }

static int must_leave(const wait *w, uint32_t seen, uint64_t now)
{
	if (seen & PL_M_POISON)
		return -ESHUTDOWN;
	if (w->flags & PL_WAIT_INTERRUPTIBLE) {
		pl_fence(); /* I2: full fence, our node's state before the look at the flag; pairs with I1 */
		if (pl_load_rlx(&w->self->interrupted) && pl_swap_ar(&w->self->interrupted, 0)) /* I4: acquire, pairs with I3 */
			return -EINTR;
	}
	return w->until && now >= w->until ? -ETIMEDOUT : 0;
}

/* True if this waiter may take the mutex as it was seen; voids a hand-off that is not picked up. */
static bool may_take(wait *w, uint32_t seen, uint64_t now)
{
	if (seen & PL_M_HELD || !(seen & PL_M_HANDOFF) || w->handoff) {
		w->lying = 0;
		return !(seen & PL_M_HELD);
	}
	if (!w->lying)
		w->lying = now;
	else if (now - w->lying >= PL_RESERVATION_NS)
		clear_bits(w->mutex, PL_M_HANDOFF);
	return false;
}

/*
 * Whether the owner sleeps for another of our locks, queues or conditions: spinning is no use then. That is all we can know
 * for a price worth paying: see docs/osq.md for what else was tried.
 */
static bool owner_sleeps(const wait *w)
{
	uint32_t slot = pl_load_rlx(&w->mutex->owner) >> PL_M_OWNER_SHIFT;
	if (!slot || slot >= w->domain->slots)
		return false;
	const pl_thread *owner = pl_slot(w->domain, slot);
	uint32_t depth = pl_load_rlx(&owner->depth);
	if (!depth || depth > PL_NESTING)
		return false;
	uint32_t state = pl_load_rlx(&owner->nodes[depth - 1].state);
	return state == PL_NODE_SLEEPING || state == PL_NODE_PARKED;
}

static void delay(uint32_t ns)
{
	for (uint32_t n = ns / 100 * pl_os_relaxes_per_100ns + 1; n; n--)
		pl_cpu_relax();
}

/* ---- awake ---- */

/* A newcomer's few looks: most critical sections are over by then. */
static bool brief(wait *w)
{
	if (pl_is_hot(w->self))
		return false;
	for (int i = 0; i < brief_looks; i++) {
		uint32_t seen = bits(w->mutex);
		if (seen & (PL_M_HANDOFF | PL_M_POISON))
			return false;
		if (!(seen & PL_M_HELD) && take(w))
			return true;
		delay(look_ns);
	}
	return false;
}

/*
 * Competes without sleeping, as the head of the spinners or the first waiter after it was woken. An owner that takes the
 * mutex back to back is left alone until its slice is over, with few looks, for each look costs it a cache miss; a mutex
 * that proves idle is taken at once.
 *
 * Few looks hardly ever find such a mutex free, and who sleeps interrupts the owner (Y7's heavy fence). So one that waits
 * alone asks for the hand-off before it despairs. One of many does not: the mutex would lie free until it is awake again.
 * @return TAKEN; SLEEP (held for long, or its owner sleeps); or why to leave.
 */
static int compete(wait *w)
{
	pl_mutex *m = w->mutex;
	uint64_t now = pl_os_now(), free_seen = now;
	uint32_t gap = look_ns, confirmed = 0;
	if (!w->role)
		w->role = now;
	for (;;) {
		uint32_t seen = bits(m);
		int err = must_leave(w, seen, now);
		if (err)
			return err;
		if (w->handoff && !(seen & PL_M_HANDOFF))
			w->handoff = request(w); /* declared void while we did not run */
		bool idle = may_take(w, seen, now);
		if (!(seen & PL_M_HELD))
			free_seen = now;
		confirmed = idle ? confirmed + 1 : 0;
		uint32_t needed = w->handoff || !pl_is_hot(w->self) ? 1 : confirm_looks;
		if (idle && confirmed >= needed && take(w)) {
			if (needed > 1)
				w->self->heat = 0;
			return TAKEN;
		}
		bool block = w->flags & PL_WAIT_BLOCK;
		if (!w->handoff && (block || now - w->role >= PL_SLICE_NS))
			w->handoff = request(w);
		if (block || now - free_seen >= (seen & PL_M_WAITERS ? hopeless_ns : alone_ns) ||
		    (gap >= check_ns && seen & PL_M_HELD && owner_sleeps(w)))
			return SLEEP;
		if (w->handoff)
			gap = look_ns;
		else if (!confirmed)
			gap = gap * 2 > sparse_ns ? sparse_ns : gap * 2;
		if (w->handoff && !(w->flags & PL_WAIT_POLL))
			pl_os_watch(&m->owner, pl_load_rlx(&m->owner), gap);
		else
			delay(confirmed ? look_ns : gap);
		now = pl_os_now();
	}
}

static int leave_queue(void *of, uint64_t now)
{
	wait *w = of;
	uint32_t seen = bits(w->mutex);
	int err = must_leave(w, seen, now);
	if (err)
		return err;
	/* Others sleep already: they were first. */
	return seen & PL_M_WAITERS || now - w->queued >= queue_ns || owner_sleeps(w) ? -EAGAIN : 0;
}

/*
 * Optimistic spinning: one waiter at a time, the head of the spinners' queue, competes. Others stand behind it, for a
 * while, only where there is a third CPU for them to stand on, and nobody spins who would pass sleepers.
 * @return TAKEN; SLEEP; or why to leave.
 */
static int spin(wait *w)
{
	uint32_t seen = pl_load_rlx(&w->mutex->state);
	bool second = seen & PL_M_SPINNER || seen & PL_M_TAIL_MASK;
	if (seen & PL_M_WAITERS || (second && pl_os_cpus <= 2) || owner_sleeps(w))
		return SLEEP;
	pl_spinner s = {w->domain, &w->mutex->state, PL_M_TAIL_MASK, PL_M_TAIL_SHIFT, w->node, w->number};
	w->queued = pl_os_now();
	int result = pl_spinners_wait(&s, w->flags | PL_OSQ_RUNNING, leave_queue, w);
	if (result)
		return result == -EAGAIN ? SLEEP : result;
	if (!w->spinner)
		w->spinner = !(set_bits(w->mutex, PL_M_SPINNER) & PL_M_SPINNER);
	result = w->spinner ? compete(w) : SLEEP; /* a woken sleeper competes already: it was first */
	pl_spinners_unlock(&s);
	return result;
}

/* ---- asleep ---- */

/* After the removal of node @gone: sees to it that one of the first waiters of its crew has a watch timer. Not the very
 * first: then each release would wake two. As pl_line_new_watch() otherwise. */
static uint32_t new_watch(pl_line_guard *guard, uint64_t key, uint32_t gone, uint32_t *was)
{
	uint32_t crew = pl_node_crew(guard->domain, gone), last = 0;
	int near = watch_near;
	for (uint32_t n = pl_line_find(guard, 0, key); n && near; n = pl_line_find(guard, n, key)) {
		if (pl_node_crew(guard->domain, n) != crew)
			continue;
		if (pl_load_rlx(&pl_node_at(guard->domain, n)->kind) & PL_NODE_WATCH)
			return 0;
		last = n;
		near--;
	}
	return last ? pl_line_watch(guard, last, was) : 0;
}

/* After the removal of node @gone from the line, whose lock is held. */
static uint32_t line_changed(pl_line_guard *guard, pl_mutex *m, uint64_t key, uint32_t gone, uint32_t *was)
{
	if (pl_line_find(guard, 0, key))
		return new_watch(guard, key, gone, was);
	clear_bits(m, PL_M_WAITERS);
	return 0;
}

/* Leaves the line on the waiter's own account; false if it was chosen first (it is the spinner then). @promote: it becomes
 * the spinner. */
static bool withdraw(wait *w, bool promote)
{
	uint32_t watch = 0, was = 0;
	pl_line_guard guard;
	pl_line_lock(&guard, w->self, pl_line_of(w->domain, w->key));
	bool in_line = pl_node_in_line(w->node);
	if (in_line) {
		if (promote)
			set_bits(w->mutex, PL_M_SPINNER);
		pl_line_remove(&guard, w->number);
	}
	pl_store_rlx(&w->node->state, PL_NODE_IDLE);
	if (in_line)
		watch = line_changed(&guard, w->mutex, w->key, w->number, &was);
	pl_line_unlock(&guard);
	if (watch)
		pl_node_wake(w->domain, watch, was);
	w->spinner = promote || !in_line;
	return in_line;
}

/* Sleeps in the line until chosen or promoted: 0, and we are the spinner; or why to leave (we may be the spinner too). */
static int sleep_in_line(wait *w)
{
	for (;;) {
		uint64_t now = pl_os_now(), until = w->until;
		bool watching = pl_load_rlx(&w->node->kind) & (PL_NODE_WATCH | PL_NODE_RESERVED);
		uint64_t longest = watching ? PL_WATCH_NS : w->domain->flags & PL_DOMAIN_SHARED ? PL_RECHECK_NS : 0;
		if (longest && (!until || now + longest < until))
			until = now + longest;
		uint32_t state = pl_node_sleep(w->domain, w->node, until);
		if (state == PL_NODE_CHOSEN) {
			pl_store_rlx(&w->node->state, PL_NODE_IDLE);
			w->spinner = true;
			return 0;
		}
		if (state != PL_NODE_SLEEPING) /* to set the watch timer, or interrupted; fails if chosen meanwhile */
			pl_cas_ar(&w->node->state, state, PL_NODE_SLEEPING); /* S6 */
		uint32_t seen = bits(w->mutex);
		int err = must_leave(w, seen, pl_os_now());
		if (err) {
			withdraw(w, false);
			return err;
		}
		/* The watch timer: an owner will wake us when it releases; a spinner should not have taken this long. */
		if (state == PL_NODE_SLEEPING && watching && (!(seen & PL_M_HELD) || seen & PL_M_SPINNER)) {
			withdraw(w, true);
			return 0;
		}
	}
}

static int park(wait *w)
{
	pl_line_guard guard;
	pl_line_lock(&guard, w->self, pl_line_of(w->domain, w->key));
	pl_store_rlx(&w->node->kind, w->handoff ? PL_NODE_RESERVED : 0);
	pl_line_insert(&guard, w->number);
	set_bits(w->mutex, PL_M_WAITERS); /* Y7: set before the look below; pairs with Y2, Y3 */
	if (w->spinner)
		clear_bits(w->mutex, PL_M_SPINNER);
	w->spinner = false;
	pl_line_unlock(&guard);
	pl_os_heavy_fence(w->domain->flags & PL_DOMAIN_SHARED); /* Y7 */
	uint32_t responsible = PL_M_HELD | PL_M_SPINNER | (w->handoff ? 0 : PL_M_HANDOFF);
	uint32_t seen = bits(w->mutex);
	if (!(seen & responsible) || seen & PL_M_POISON) { /* nobody is left to wake us */
		withdraw(w, true);
		return 0;
	}
	/* An interruption from before the insertion has not touched our node: it sets the flag, then looks at the state (I1);
	 * we set the state, then look at the flag (I2). */
	int err = must_leave(w, seen, pl_os_now());
	if (err) {
		withdraw(w, false);
		return err;
	}
	return sleep_in_line(w);
}

/* Who is next: the one that requested the hand-off, else the first. */
static uint32_t next_in_line(pl_line_guard *guard, uint64_t key)
{
	uint32_t first = pl_line_find(guard, 0, key);
	for (uint32_t n = first; n; n = pl_line_find(guard, n, key))
		if (pl_load_rlx(&pl_node_at(guard->domain, n)->kind) & PL_NODE_RESERVED)
			return n;
	return first;
}

static uint64_t key_of(pl_domain *domain, const pl_mutex *m) { return pl_key(domain, m) | PL_LAYOUT_MUTEX; }

static int kick(pl_thread *self, pl_mutex *m, bool doorbell)
{
	pl_domain *domain = pl_thread_domain(self);
	uint64_t key = key_of(domain, m);
	uint32_t was = 0, watch = 0, watch_was = 0;
	pl_line_guard guard;
	pl_line_lock(&guard, self, pl_line_of(domain, key));
	/* The search for one that requested a hand-off is worth it only if there is one. */
	uint32_t number = pl_line_find(&guard, 0, key);
	if (number && pl_load_rlx(&m->state) & PL_M_HANDOFF)
		number = next_in_line(&guard, key);
	/* A waiter in the line is what keeps the mutex's memory alive: without one it must not be touched any more. */
	if (number) {
		if (set_bits(m, PL_M_SPINNER) & PL_M_SPINNER) {
			number = 0; /* another release was faster */
		} else {
			was = pl_line_choose(&guard, number);
			watch = line_changed(&guard, m, key, number, &watch_was);
		}
	}
	pl_line_unlock(&guard);
	if (watch)
		pl_node_wake(domain, watch, watch_was);
	if (!number)
		return 0;
	if (was == PL_NODE_PARKED && !doorbell && pl_node_slot(domain, number)->process == pl_domain_process(domain))
		return (int)number;
	pl_node_wake(domain, number, was);
	return 0;
}

int pl_mutex_kick(pl_thread *self, pl_mutex *mutex, int doorbell)
{
	return !self || bad(mutex) ? -EINVAL : kick(self, mutex, doorbell);
}

/* Gives up: takes our bits back and, if that leaves sleepers without anybody responsible, chooses the next. */
static void give_up(wait *w)
{
	uint32_t mine = my_bits(w);
	if (!mine)
		return;
	clear_bits(w->mutex, mine);
	pl_os_heavy_fence(w->domain->flags & PL_DOMAIN_SHARED); /* Y8: as Y7, pairs with Y2, Y3 */
	uint32_t seen = bits(w->mutex);
	if (!(seen & (PL_M_HELD | PL_M_HANDOFF)) && pl_q_must_kick(seen))
		kick(w->self, w->mutex, true);
}

/* Waits on until the mutex is ours: 0; or why not. @listed: our node is in the line already. */
static int wait_on(wait *w, bool listed)
{
	for (;;) {
		int result = listed ? sleep_in_line(w) : park(w);
		listed = false;
		if (result == 0)
			result = compete(w);
		if (result == TAKEN)
			return 0;
		if (result < 0) {
			give_up(w);
			return result;
		}
	}
}

static wait wait_of(pl_thread *self, pl_mutex *mutex, uint32_t level, uint32_t flags, int64_t timeout_ns)
{
	pl_domain *domain = pl_thread_domain(self);
	return (wait){.self = self,
		      .domain = domain,
		      .mutex = mutex,
		      .node = &self->nodes[level],
		      .number = pl_node_number(self, level),
		      .mine = pl_m_owned_by(self),
		      .key = key_of(domain, mutex),
		      .until = timeout_ns < 0 ? 0 : pl_os_now() + (uint64_t)timeout_ns,
		      .flags = flags};
}

static int lock_slow(pl_thread *self, pl_mutex *mutex, uint32_t flags, int64_t timeout_ns)
{
	if (bad_self(self) || bad(mutex) || flags & ~(uint32_t)all_flags)
		return -EINVAL;
	if ((pl_load_rlx(&mutex->owner) & ~PL_M_POISON) == pl_m_owned_by(self))
		return -EDEADLK;
	int level = pl_context_enter(self);
	if (level < 0)
		return level;
	wait w = wait_of(self, mutex, (uint32_t)level, flags, timeout_ns);
	pl_store64_rlx(&w.node->key, w.key);
	uint64_t now = pl_os_now();
	pl_warm(self, now);
	if (!(flags & PL_WAIT_RESUME))
		w.node->arrival = now;
	int result = SLEEP;
	if (!(flags & PL_WAIT_BLOCK))
		result = brief(&w) ? TAKEN : spin(&w);
	if (result < 0)
		give_up(&w);
	else if (result == SLEEP)
		result = wait_on(&w, false);
	pl_store64_rlx(&w.node->key, 0);
	pl_context_leave(self, (uint32_t)level);
	if (result == 0)
		self->acquired = pl_os_now();
	return result;
}

/* ---- exports ---- */

int pl_mutex_init(pl_mutex *mutex)
{
	if (bad(mutex))
		return -EINVAL;
	pl_store_rlx(&mutex->owner, 0);
	pl_store_rlx(&mutex->state, 0);
	return 0;
}

int pl_mutex_lock_slow(pl_thread *self, pl_mutex *mutex) { return lock_slow(self, mutex, 0, PL_FOREVER); }

int pl_mutex_lock(pl_thread *self, pl_mutex *mutex)
{
	return bad_self(self) || bad(mutex) ? -EINVAL : pl_mutex_lock_inline(self, mutex);
}

int pl_mutex_lock_wait(pl_thread *self, pl_mutex *mutex, uint32_t flags, int64_t timeout_ns)
{
	if (bad_self(self) || bad(mutex) || flags & ~(uint32_t)all_flags)
		return -EINVAL;
	return pl_mutex_trylock_inline(self, mutex) ? 0 : lock_slow(self, mutex, flags, timeout_ns);
}

int pl_mutex_trylock(pl_thread *self, pl_mutex *mutex)
{
	if (bad_self(self) || bad(mutex))
		return -EINVAL;
	if (pl_mutex_trylock_inline(self, mutex))
		return 0;
	return bits(mutex) & PL_M_POISON ? -ESHUTDOWN : -EBUSY;
}

/* Whether @self owns it; poison does not change that. */
static bool owns(const pl_thread *self, const pl_mutex *mutex)
{
	return (pl_load_rlx(&mutex->owner) & ~PL_M_POISON) == pl_m_owned_by(self);
}

int pl_mutex_release(pl_thread *self, pl_mutex *mutex)
{
	if (bad_self(self) || bad(mutex))
		return -EINVAL;
	return owns(self, mutex) ? pl_mutex_release_inline(mutex) : -EPERM;
}

int pl_mutex_unlock(pl_thread *self, pl_mutex *mutex)
{
	int result = pl_mutex_release(self, mutex);
	return result == 1 ? pl_mutex_kick(self, mutex, 1) : result;
}

int pl_mutex_unlock_slow(pl_thread *self, pl_mutex *mutex) { return pl_mutex_unlock(self, mutex); }

int pl_mutex_is_locked(const pl_mutex *mutex)
{
	if (bad(mutex))
		return -EINVAL;
	pl_fence(); /* K1: this thread's own lock before its look at another (bug row 3); pairs with itself */
	return (bits(mutex) & PL_M_HELD) != 0;
}

int pl_mutex_is_contended(const pl_mutex *mutex)
{
	return bad(mutex) ? -EINVAL : (pl_load_rlx(&mutex->state) & ~PL_M_POISON) != 0;
}

int pl_mutex_owner(const pl_mutex *mutex) { return bad(mutex) ? -EINVAL : (int)(pl_load_rlx(&mutex->owner) >> PL_M_OWNER_SHIFT); }

/* ---- conditions ---- */

static bool bad_cond(const pl_thread *self, const pl_cond *cond)
{
	return !cond || (uintptr_t)cond % _Alignof(pl_cond) ||
	       pl_line_is_bad(pl_thread_domain((pl_thread *)(uintptr_t)self), &cond->line);
}

int pl_cond_init(pl_cond *cond)
{
	if (!cond || (uintptr_t)cond % _Alignof(pl_cond))
		return -EINVAL;
	*cond = (pl_cond){{0}};
	return 0;
}

static bool moved(const wait *w) { return pl_load64_rlx(&w->node->key) == w->key; }

/* Takes the node out of the condition's line; false if a signal was faster. */
static bool leave_cond(wait *w, pl_cond *cond)
{
	pl_line_guard guard;
	pl_line_lock(&guard, w->self, &cond->line);
	bool here = !moved(w);
	if (here) {
		pl_line_remove(&guard, w->number);
		pl_store_rlx(&w->node->state, PL_NODE_IDLE);
	}
	pl_line_unlock(&guard);
	return here;
}

/* Sleeps in the condition's line until moved out of it: 0; or why to go. */
static int sleep_in_cond(wait *w, pl_cond *cond)
{
	for (;;) {
		if (moved(w))
			return 0;
		int err = must_leave(w, 0, pl_os_now());
		if (err && leave_cond(w, cond))
			return err;
		if (err) { /* a signal was faster; an interruption is kept for the next wait */
			if (err == -EINTR)
				pl_store_rel(&w->self->interrupted, 1); /* I3 */
			return 0;
		}
		uint32_t state = pl_node_sleep(w->domain, w->node, w->until);
		if (state == PL_NODE_CHOSEN)
			return 0; /* moved, and then some */
		if (state == PL_NODE_SLEEPING)
			continue; /* time is up */
		if (bits(w->mutex) & PL_M_POISON && leave_cond(w, cond))
			return -ESHUTDOWN;
		if (!moved(w)) /* roused or interrupted: look again; fails if moved and chosen meanwhile */
			pl_cas_ar(&w->node->state, state, PL_NODE_SLEEPING); /* S6 */
	}
}

int pl_cond_wait(pl_thread *self, pl_cond *cond, pl_mutex *mutex, uint32_t flags, int64_t timeout_ns)
{
	if (bad_self(self) || bad(mutex) || bad_cond(self, cond) || flags & ~(uint32_t)PL_WAIT_INTERRUPTIBLE)
		return -EINVAL;
	if (!owns(self, mutex))
		return -EPERM;
	int level = pl_context_enter(self);
	if (level < 0)
		return level;
	wait w = wait_of(self, mutex, (uint32_t)level, flags, timeout_ns);
	pl_store64_rlx(&w.node->key, pl_key(w.domain, &cond->line));
	pl_store_rlx(&w.node->kind, PL_NODE_AT_QUEUE);
	w.node->arrival = pl_os_now();
	pl_line_guard guard;
	pl_line_lock(&guard, self, &cond->line);
	pl_line_insert(&guard, w.number);
	pl_line_unlock(&guard);
	pl_mutex_unlock(self, mutex);

	int result = sleep_in_cond(&w, cond);
	w.flags = 0; /* the mutex is acquired in any case */
	w.until = 0;
	bool listed = moved(&w);
	if (!listed) {
		pl_store_rlx(&w.node->kind, 0);
		pl_store64_rlx(&w.node->key, w.key);
		w.node->arrival = pl_os_now();
	}
	int err = !listed && pl_mutex_trylock_inline(self, mutex) ? 0 : wait_on(&w, listed);
	pl_store64_rlx(&w.node->key, 0);
	pl_context_leave(self, (uint32_t)level);
	return err ? err : result;
}

static int signal_some(pl_thread *self, pl_cond *cond, pl_mutex *mutex, int count)
{
	if (bad_self(self) || bad(mutex) || bad_cond(self, cond))
		return -EINVAL;
	if (!owns(self, mutex))
		return -EPERM;
	pl_domain *domain = pl_thread_domain(self);
	uint64_t key = key_of(domain, mutex), now = pl_os_now();
	uint32_t first = 0, watch = 0, was = 0;
	int done = 0;
	pl_line_guard from, to;
	pl_line_lock(&from, self, &cond->line);
	if (cond->line.head) {
		pl_line_lock(&to, self, pl_line_of(domain, key));
		while (done < count && cond->line.head) {
			uint32_t n = cond->line.head;
			pl_node *node = pl_node_at(domain, n);
			pl_line_remove(&from, n);
			node->arrival = now;
			pl_store_rlx(&node->kind, 0);
			pl_store64_rlx(&node->key, key);
			pl_line_move_in(&to, n);
			first = first ? first : n;
			done++;
		}
		/* Y7: we own the mutex, and our release looks at `state` after this. A spinner may be killed before it acts: then
		 * somebody in the line must notice. */
		if (set_bits(mutex, PL_M_WAITERS) & PL_M_SPINNER)
			watch = new_watch(&to, key, first, &was);
		pl_line_unlock(&to);
	}
	pl_line_unlock(&from);
	if (watch)
		pl_node_wake(domain, watch, was);
	return done;
}

int pl_cond_signal(pl_thread *self, pl_cond *cond, pl_mutex *mutex) { return signal_some(self, cond, mutex, 1); }

int pl_cond_broadcast(pl_thread *self, pl_cond *cond, pl_mutex *mutex)
{
	return signal_some(self, cond, mutex, PL_WAITQ_ALL);
}
