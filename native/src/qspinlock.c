/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qspinlock, slow paths. One algorithm for the three layouts: `view` hides where the bits live, and every function that
 * takes one is inlined into an exported function with a constant layout.
 *
 * Who may change what:
 *   LOCKED   set by whoever finds it clear and PENDING clear or its own (compare-and-swap), cleared by the holder.
 *   PENDING  set by the one waiter that goes next; cleared by it, together with setting LOCKED or when it leaves. While
 *            set, nobody else takes a free lock, except after PL_RESERVATION_NS of a free lock left lying: then the
 *            reservation is void, anyone clears it, and its owner, should it come back, sets it anew. Taking is always
 *            a compare-and-swap, so a void reservation costs fairness, never exclusion.
 *   STANDBY  set for one awake waiter that is responsible for the sleepers; cleared by it on acquiring, parking or
 *            leaving. Set wrongly (its owner was killed), it silences wake-ups until the first sleeper's watch timer.
 *   PARKED   set and cleared under the bucket's line lock: set iff a waiter for this lock is in the line.
 *   tail     MCS queue of untimed SPIN waiters.
 *
 * No lost wake-up: a sleeper stands in the line and PARKED is set before it looks (P1) whether anybody is left who will
 * wake it: an owner (whose release looks at the bits after it cleared LOCKED), a standby or a reserved waiter (who will
 * be owner, or looks itself when it leaves). In one word (WORD, BYTE) modification order decides who sees whom. In WIDE
 * the owner stores `owner` and then loads `queue` (U3, U4) while the sleeper sets `queue` and then loads `owner`: the
 * store-buffer pattern; the sleeper's heavy fence at P1 stands in for the fence that U3-U4 lacks.
 */
#define PL_NO_INLINE /* this file defines the exported forms */
#include "arch/arch.h"
#include "checks.h"
#include "context.h"
#include "heat.h"
#include "line.h"
#include "park.h"
#include "search.h"

#include <errno.h>
#include <panalock/qspinlock.h>

#define INLINE static inline __attribute__((always_inline))

enum {
	look_ns = 100,           /* distance of two looks at a word that others are busy with */
	brief_looks = 6,         /* looks of a newcomer before it stands by or parks */
	confirm_looks = 8,       /* looks in a row that must find a hot lock free before it counts as idle */
	sparse_ns = 16000,       /* longest distance of looks while standing by */
	spin_gap_ns = 800,       /* the same under SPIN */
	hopeless_ns = 100000,    /* standing by, always found held: park */
	spin_reserve_ns = 20000, /* SPIN, timed: reserve after this long */
	first_nap_ns = 50000,    /* without a slot: first sleep between two looks; doubles up to */
	last_nap_ns = 1000000,
	word_looks = 64,         /* a queued spinner looks at the lock's word once in so many sparse looks at its node */
	tail_tries = 64,         /* compare-and-swaps for a place in the queue before we wait beside it */
};

typedef struct {
	uint32_t *owner; /* word with LOCKED and POISON */
	uint32_t *queue; /* word with the other bits: the same one but in WIDE */
	int layout;
} view;

INLINE view view_of(void *lock, int layout)
{
	uint32_t *word = lock;
	return (view){word, layout == PL_LAYOUT_WIDE ? word + 1 : word, layout};
}

INLINE uint32_t bits(view v)
{
	uint32_t queue = pl_load_rlx(v.queue);
	return v.layout == PL_LAYOUT_WIDE ? queue | pl_load_rlx(v.owner) : queue;
}

INLINE uint32_t parked_bit(view v) { return v.layout == PL_LAYOUT_BYTE ? PL_Q_BYTE_PARKED : PL_Q_PARKED; }
INLINE uint32_t tail_mask(view v) { return v.layout == PL_LAYOUT_BYTE ? PL_Q_BYTE_TAIL_MASK : PL_Q_TAIL_MASK; }
INLINE int tail_shift(view v) { return v.layout == PL_LAYOUT_BYTE ? PL_Q_BYTE_TAIL_SHIFT : PL_Q_TAIL_SHIFT; }
INLINE uint32_t tail_of(view v, uint32_t seen) { return (seen & tail_mask(v)) >> tail_shift(v); }

/* True when nobody is responsible for the sleepers of a free lock with these bits. */
INLINE bool must_kick(view v, uint32_t seen) { return (seen & (parked_bit(v) | PL_Q_STANDBY)) == parked_bit(v); }

/* Both return the word before; one word's modification order decides who sees whom. */
INLINE uint32_t set_bits(view v, uint32_t some)
{
	return pl_or_ar(v.queue, some); /* B1: acquire and release, pairs with B2, L2, U4 */
}
INLINE uint32_t clear_bits(view v, uint32_t some)
{
	return pl_and_ar(v.queue, ~some); /* B2: acquire and release, pairs with B1, L2, U4 */
}

/* Takes a lock seen free, clearing @clear on the way. True when it is ours. */
INLINE bool take(view v, uint32_t seen, uint32_t clear)
{
	if (v.layout != PL_LAYOUT_WIDE)
		return pl_cas_acq(v.owner, seen, (seen & ~clear) | PL_Q_LOCKED); /* L2: acquire, pairs with U1, U2 */
	if (!pl_cas_acq(v.owner, 0, PL_Q_LOCKED)) /* L2: acquire, pairs with U3 */
		return false;
	if (clear)
		clear_bits(v, clear);
	return true;
}

/* Why nobody gets a lock with these bits, or 0. */
INLINE int dead(uint32_t seen)
{
	return PL_LIKELY(!(seen & PL_Q_DEAD)) ? 0 : seen & PL_Q_BROKEN ? -EBADFD : -ESHUTDOWN;
}

/* Reserves the lock: true if PENDING is ours now. */
INLINE bool reserve(view v)
{
	return !(set_bits(v, PL_Q_PENDING) & PL_Q_PENDING);
}

/*
 * What a waiter's node carries: the lock's key and, in its two low bits, the layout. A kick that comes late, when the
 * memory has become a lock of another layout, must not find that lock's waiters: it would set its bits in the wrong word.
 */
INLINE uint64_t line_key(pl_domain *domain, view v)
{
	return pl_key(domain, v.owner) | (uint64_t)v.layout;
}

/* ---- one wait ---- */

typedef struct {
	pl_thread *self;
	pl_domain *domain;
	pl_node *node; /* null: no nesting level left */
	uint32_t number;
	uint64_t key;
	uint64_t until; /* monotonic ns; 0: never */
	uint32_t flags;
	bool standby;    /* STANDBY is ours */
	bool reserved;   /* PENDING is ours */
	bool steal;      /* a context below this one waits for the same lock: never wait for it */
	uint64_t role;   /* when we began to stand by, over all sleeps */
	uint64_t lying;  /* since when the lock lies free but reserved by somebody else; 0: it does not */
	pl_search *search; /* rqspinlock: for deadlocks; else null */
} wait;

enum { TAKEN = 0, SLEEP = 1 }; /* results of compete() beside negative errors */

INLINE uint32_t my_bits(const wait *w)
{
	return (w->standby ? PL_Q_STANDBY : 0) | (w->reserved ? PL_Q_PENDING : 0);
}

static bool interrupted(pl_thread *self)
{
	pl_fence(); /* I2: full fence, our node's state before the look at the flag; pairs with I1 */
	return pl_load_rlx(&self->interrupted) && pl_swap_ar(&self->interrupted, 0); /* I4: acquire, pairs with I3 */
}

/* Why the wait must end without the lock, or 0. */
static int must_leave(const wait *w, uint32_t seen, uint64_t now)
{
	if (seen & PL_Q_DEAD)
		return dead(seen);
	if (w->flags & PL_WAIT_INTERRUPTIBLE && interrupted(w->self))
		return -EINTR;
	if (w->search && !(seen & PL_Q_LOCKED))
		pl_search_postpone(w->search, now);
	else if (w->search && pl_search_due(w->search, now))
		return -EDEADLK;
	return w->until && now >= w->until ? -ETIMEDOUT : 0;
}

/* take() by one whose wait others can see. */
INLINE bool end_wait(view v, const wait *w, uint32_t seen, uint32_t clear)
{
	if (PL_LIKELY(!w->search))
		return take(v, seen, clear);
	pl_search_pause(w->search);
	if (take(v, seen, clear))
		return true;
	pl_search_resume(w->search);
	return false;
}

/* True if this waiter may take the lock as it was seen; voids a reservation that lies idle. */
INLINE bool may_take(view v, wait *w, uint32_t seen, uint64_t now)
{
	if (seen & PL_Q_LOCKED || !(seen & PL_Q_PENDING) || w->reserved) {
		w->lying = 0;
		return !(seen & PL_Q_LOCKED);
	}
	if (w->steal)
		return true;
	if (!w->lying)
		w->lying = now;
	else if (now - w->lying >= PL_RESERVATION_NS)
		clear_bits(v, PL_Q_PENDING);
	return false;
}

static void delay(uint32_t ns)
{
	for (uint32_t n = ns / 100 * pl_os_relaxes_per_100ns + 1; n; n--)
		pl_cpu_relax();
}

/*
 * Competes for the lock without sleeping. An owner that takes the lock back to back is left alone until its slice is
 * over, with few looks, for each look costs it a cache miss; a lock that proves idle is taken at once.
 * @return TAKEN; SLEEP (spin-then-park only: the lock is held for long); or why to leave.
 */
INLINE int compete(view v, wait *w)
{
	bool spin = w->flags & PL_WAIT_SPIN;
	uint64_t now = pl_os_now(), free_seen = now;
	uint64_t patience = spin ? spin_reserve_ns : PL_SLICE_NS;
	uint32_t gap = look_ns, widest = spin ? spin_gap_ns : sparse_ns, confirmed = 0;
	if (!w->role)
		w->role = now;
	for (;;) {
		uint32_t seen = bits(v);
		int err = must_leave(w, seen, now);
		if (err)
			return err;
		if (w->reserved && !(seen & PL_Q_PENDING))
			w->reserved = reserve(v); /* declared void while we did not run */
		bool idle = may_take(v, w, seen, now);
		if (!(seen & PL_Q_LOCKED))
			free_seen = now;
		confirmed = idle ? confirmed + 1 : 0;
		uint32_t needed = w->reserved || !pl_is_hot(w->self) || spin ? 1 : confirm_looks;
		if (idle && confirmed >= needed && end_wait(v, w, seen, my_bits(w))) {
			if (needed > 1)
				w->self->heat = 0;
			return TAKEN;
		}
		if (!w->reserved && !w->steal && now - w->role >= patience)
			w->reserved = reserve(v);
		if (!spin && now - free_seen >= hopeless_ns)
			return SLEEP;
		if (w->reserved || w->steal)
			gap = look_ns;
		else if (!confirmed)
			gap = gap * 2 > widest ? widest : gap * 2;
		delay(confirmed ? look_ns : gap);
		now = pl_os_now();
	}
}

/* A newcomer's few looks: most critical sections are over by then. */
INLINE bool brief(view v, wait *w)
{
	if (pl_is_hot(w->self))
		return false;
	for (int i = 0; i < brief_looks; i++) {
		uint32_t seen = bits(v);
		if (seen & (PL_Q_PENDING | PL_Q_DEAD))
			return false;
		if (!(seen & PL_Q_LOCKED) && end_wait(v, w, seen, 0))
			return true;
		delay(look_ns);
	}
	return false;
}

/* ---- parking ---- */

/* Out of the line for good; the line's lock is held. */
INLINE void leave_line(view v, wait *w, pl_line_guard *guard, uint32_t *watch, uint32_t *watch_was)
{
	pl_line_remove(guard, w->number);
	pl_store_rlx(&w->node->state, PL_NODE_IDLE);
	if (!pl_line_find(guard, 0, w->key))
		clear_bits(v, parked_bit(v));
	else
		*watch = pl_line_new_watch(guard, w->key, w->number, watch_was);
}

/*
 * Leaves the line on the waiter's own account. True if it did; false if it was chosen first (it stands by then).
 * @promote: it becomes the standby.
 */
INLINE bool withdraw(view v, wait *w, bool promote)
{
	uint32_t watch = 0, watch_was = 0;
	pl_line_guard guard;
	pl_line_lock(&guard, w->self, pl_line_of(w->domain, w->key));
	bool in_line = pl_node_in_line(w->node);
	if (in_line) {
		if (promote)
			set_bits(v, PL_Q_STANDBY);
		leave_line(v, w, &guard, &watch, &watch_was);
	} else {
		pl_store_rlx(&w->node->state, PL_NODE_IDLE);
	}
	pl_line_unlock(&guard);
	if (watch)
		pl_node_wake(w->domain, watch, watch_was);
	w->standby = promote || !in_line;
	return in_line;
}

/* Sleeps until chosen (or promoted by the watch timer): 0, and we stand by; or why to leave (we may stand by then too). */
INLINE int park(view v, wait *w)
{
	pl_line_guard guard;
	pl_line_lock(&guard, w->self, pl_line_of(w->domain, w->key));
	w->node->kind = w->reserved ? PL_NODE_RESERVED : 0;
	pl_line_insert(&guard, w->number);
	set_bits(v, parked_bit(v)); /* P1: set before the look below; pairs with U1, U2, U4 */
	if (w->standby)
		clear_bits(v, PL_Q_STANDBY);
	w->standby = false;
	pl_line_unlock(&guard);

	if (v.layout == PL_LAYOUT_WIDE)
		pl_os_heavy_fence(w->domain->flags & PL_DOMAIN_SHARED); /* P1 */
	uint32_t responsible = PL_Q_LOCKED | PL_Q_STANDBY | (w->reserved ? 0 : PL_Q_PENDING);
	uint32_t seen = bits(v);
	if (!(seen & responsible) || seen & PL_Q_DEAD) { /* nobody is left to wake us */
		withdraw(v, w, true);
		return 0;
	}
	/* An interruption from before the insertion has not touched our node: it sets the flag, then looks at the state (I1);
	 * we set the state, then look at the flag (I2). */
	uint64_t now = pl_os_now();
	if (w->search)
		pl_search_hurry(w->search, now);
	int err = must_leave(w, seen, now);
	if (err) {
		withdraw(v, w, false);
		return err;
	}
	uint64_t watch_at = 0; /* 0: begins anew */
	for (;;) {
		uint64_t until = w->until;
		now = pl_os_now();
		bool watching = pl_load_rlx(&w->node->kind) & (PL_NODE_WATCH | PL_NODE_RESERVED);
		/* The one that watches, or stands by, may lie under a handler that waits for what we hold: then we watch too. */
		bool needed = w->search && w->search->at != UINT64_MAX;
		if (!watch_at && (watching || needed || w->domain->flags & PL_DOMAIN_SHARED))
			watch_at = now + (watching || needed ? PL_WATCH_NS : PL_RECHECK_NS);
		if (watch_at && (!until || watch_at < until))
			until = watch_at;
		if (w->search && (!until || w->search->at < until))
			until = w->search->at;
		uint32_t state = pl_node_sleep(w->domain, w->node, until);
		if (state == PL_NODE_CHOSEN) {
			pl_store_rlx(&w->node->state, PL_NODE_IDLE);
			w->standby = true;
			return 0;
		}
		if (state != PL_NODE_SLEEPING) /* to set the watch timer, or interrupted; fails if chosen meanwhile */
			pl_cas_ar(&w->node->state, state, PL_NODE_SLEEPING); /* S6: acquire and release, pairs with S3 */
		seen = bits(v);
		now = pl_os_now();
		err = must_leave(w, seen, now);
		if (err) {
			withdraw(v, w, false);
			return err;
		}
		/* The watch timer: an owner will wake us when it releases; a standby should not have taken this long. */
		bool helpless = !(seen & PL_Q_LOCKED) || (watching && seen & PL_Q_STANDBY);
		if (state == PL_NODE_SLEEPING && (watching || needed) && now >= watch_at && helpless) {
			withdraw(v, w, true);
			return 0;
		}
		if (state != PL_NODE_SLEEPING || now >= watch_at) /* not when it woke for a search */
			watch_at = 0;
	}
}

/* Which sleeper is next: one with a reservation, else the first. */
static uint32_t next_in_line(pl_line_guard *guard, uint64_t key)
{
	uint32_t first = pl_line_find(guard, 0, key);
	for (uint32_t n = first; n; n = pl_line_find(guard, n, key))
		if (pl_node_at(guard->domain, n)->kind & PL_NODE_RESERVED)
			return n;
	return first;
}

INLINE int kick(pl_thread *self, view v, bool doorbell)
{
	pl_domain *domain = pl_thread_domain(self);
	uint64_t key = line_key(domain, v);
	uint32_t was = 0, watch = 0, watch_was = 0;
	pl_line_guard guard;
	pl_line_lock(&guard, self, pl_line_of(domain, key));
	uint32_t number = next_in_line(&guard, key);
	/* A waiter in the line is what keeps the lock's memory alive: without one it must not be touched any more. */
	if (number) {
		if (set_bits(v, PL_Q_STANDBY) & PL_Q_STANDBY) {
			number = 0; /* another release was faster */
		} else {
			was = pl_line_choose(&guard, number);
			if (!pl_line_find(&guard, 0, key))
				clear_bits(v, parked_bit(v));
			else
				watch = pl_line_new_watch(&guard, key, number, &watch_was);
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

/* A caller without a slot: it uses the default domain. */
static pl_thread *self_or_service(pl_thread *self)
{
	return PL_LIKELY(self != NULL) ? self : pl_domain_service(pl_domain_default());
}

int pl_qspin_kick(pl_thread *self, void *lock, uint32_t layout, int doorbell)
{
	self = self_or_service(self);
	if (!self || !lock || layout > PL_LAYOUT_WIDE)
		return -EINVAL;
	return kick(self, view_of(lock, (int)layout), doorbell);
}

/* Gives up: takes our bits back and, if that leaves sleepers without anybody responsible, chooses the next. */
INLINE void give_up(view v, wait *w)
{
	uint32_t mine = my_bits(w);
	if (!mine)
		return;
	clear_bits(v, mine);
	if (v.layout == PL_LAYOUT_WIDE)
		pl_os_heavy_fence(w->domain->flags & PL_DOMAIN_SHARED); /* P2: as P1, pairs with U1, U2, U4 */
	/* Another's PENDING does not count: he may sleep, and kick() chooses him then. If he is awake, one is woken too many. */
	uint32_t seen = bits(v);
	if (!(seen & PL_Q_LOCKED) && must_kick(v, seen))
		kick(w->self, v, true);
}

INLINE int wait_parking(view v, wait *w)
{
	uint64_t now = pl_os_now();
	pl_warm(w->self, now);
	if (!(w->flags & PL_WAIT_RESUME))
		w->node->arrival = now;
	if (brief(v, w))
		return 0;
	for (;;) {
		uint32_t seen = bits(v);
		/* Nobody stands by and nobody sleeps before us: we stand by. */
		if (!w->standby && !(seen & (PL_Q_STANDBY | parked_bit(v))))
			w->standby = !(set_bits(v, PL_Q_STANDBY) & PL_Q_STANDBY);
		int result = w->standby ? compete(v, w) : SLEEP;
		if (result == SLEEP)
			result = park(v, w);
		else if (result == TAKEN)
			return 0;
		if (result < 0) {
			give_up(v, w);
			return result;
		}
	}
}

/* Timed, interruptible or deeply nested spinners stand beside the queue: they can leave at any moment. */
INLINE int wait_beside(view v, wait *w)
{
	int result = compete(v, w);
	if (result < 0)
		give_up(v, w);
	return result;
}

/* ---- without a slot ---- */

/* How many threads of this process wait so: the more they are, the longer each sleeps. Relaxed: a hint. */
static uint32_t slotless;

/* One look. TAKEN; SLEEP; or why to leave. @reserve_at: when to reserve the lock, for one moment. */
INLINE int look(view v, wait *w, uint64_t *reserve_at)
{
	uint64_t now = pl_os_now();
	uint32_t seen = bits(v);
	int result = must_leave(w, seen, now);
	if (result)
		return result;
	if (may_take(v, w, seen, now) && take(v, seen, 0))
		return TAKEN;
	if (now < *reserve_at || !reserve(v))
		return SLEEP;
	*reserve_at = now + (now - w->role); /* rarer and rarer, for a lock that is held for long */
	w->reserved = true;
	result = compete(v, w);
	if (result != TAKEN)
		give_up(v, w);
	w->reserved = false;
	return result;
}

/*
 * A caller without a slot has no node to stand in a line with. It sleeps for a time and looks, and is not woken. All such
 * waiters of a process together look no more often than one that has just come, however many they are. One that has waited
 * for a slice reserves the lock while it looks, so that an owner that takes it back to back cannot keep it out. At most one
 * of them does at a time, and not for longer than compete() finds the lock held. Under SPIN it yields instead of sleeping.
 */
INLINE int wait_slotless(view v, wait *w)
{
	uint64_t reserve_at = 0, nap = first_nap_ns;
	uint32_t never = 0;
	int result;
	w->role = pl_os_now();
	reserve_at = w->role + PL_SLICE_NS;
	__atomic_fetch_add(&slotless, 1, __ATOMIC_RELAXED);
	while ((result = look(v, w, &reserve_at)) == SLEEP) {
		if (w->flags & PL_WAIT_SPIN) {
			delay(spin_gap_ns);
			pl_os_yield();
			continue;
		}
		uint64_t share = (uint64_t)pl_load_rlx(&slotless) * first_nap_ns, now = pl_os_now();
		uint64_t length = share > nap ? share : nap;
		if (w->until && w->until - now < length)
			length = w->until > now ? w->until - now : 0;
		pl_futex_wait(&never, 0, (int64_t)length, 0); /* nobody wakes it: a sleep */
		nap = nap * 2 > last_nap_ns ? last_nap_ns : nap * 2;
	}
	__atomic_fetch_sub(&slotless, 1, __ATOMIC_RELAXED);
	return result;
}

/* ---- the queue of SPIN ---- */

/* Makes us the tail: the old tail's node number, or -1 after too many lost compare-and-swaps (bug row 4: bounded). */
INLINE int64_t swap_tail(view v, uint32_t number)
{
	if (v.layout == PL_LAYOUT_BYTE) /* Q1: acquire and release, pairs with itself (the next tail) */
		return __atomic_exchange_n((uint16_t *)(void *)v.queue + 1, (uint16_t)number, __ATOMIC_ACQ_REL);
	for (int i = 0; i < tail_tries; i++) {
		uint32_t seen = pl_load_rlx(v.queue);
		if (pl_cas_ar(v.queue, seen, (seen & ~PL_Q_TAIL_MASK) | number << PL_Q_TAIL_SHIFT)) /* Q1 */
			return tail_of(v, seen);
	}
	return -1;
}

/* Gives PENDING back, and the tail if it is @number. True if it was, or there was none: nobody queues behind us. */
INLINE bool leave_queue(view v, uint32_t number)
{
	for (;;) {
		uint32_t seen = pl_load_rlx(v.queue);
		bool last = tail_of(v, seen) == number;
		if (pl_cas_ar(v.queue, seen, seen & ~PL_Q_PENDING & ~(last ? tail_mask(v) : 0))) /* Q6: release, pairs with B1 and Q1 */
			return last;
	}
}

/* With PENDING ours: waits for the owner and takes the lock. 0; or, without it, why. PENDING stays ours. */
INLINE int take_reserved(view v)
{
	for (;;) {
		uint32_t seen = bits(v);
		if (seen & PL_Q_DEAD)
			return dead(seen);
		if (!(seen & PL_Q_PENDING) && !reserve(v)) { /* declared void while we did not run */
			pl_os_watch(v.queue, seen, look_ns);
		} else if (seen & PL_Q_LOCKED) {
			uint32_t busy = v.layout == PL_LAYOUT_WIDE ? PL_Q_LOCKED : seen;
			if (pl_os_watch(v.owner, busy, sparse_ns) == busy)
				pl_os_yield();
		} else if (take(v, seen, 0)) {
			return 0;
		}
	}
}

INLINE int wait_spinning(view v, wait *w)
{
	uint32_t seen = bits(v);
	if ((seen & ~(parked_bit(v) | PL_Q_STANDBY)) == PL_Q_PENDING) /* being handed over: look once more, not for ever */
		seen = pl_os_watch(v.queue, seen, look_ns);
	if (!(seen & PL_Q_PENDING) && !tail_of(v, seen)) {
		uint32_t old = set_bits(v, PL_Q_PENDING);
		if (!(old & PL_Q_PENDING) && !tail_of(v, old)) {
			int result = take_reserved(v);
			clear_bits(v, PL_Q_PENDING);
			return result;
		}
		if (!(old & PL_Q_PENDING))
			clear_bits(v, PL_Q_PENDING); /* others queue already: we set it, so we undo it */
	}

	pl_node *node = w->node;
	pl_store_rlx(&node->locked, 0);
	pl_store_rlx(&node->next, 0);
	seen = bits(v);
	/* Not queue where poison stands, nor behind a node that does not exist. */
	if (seen & PL_Q_DEAD)
		return dead(seen);
	if (tail_of(v, seen) && !pl_node_at(w->domain, tail_of(v, seen)))
		return -EBADFD;
	if (!(seen & (PL_Q_LOCKED | PL_Q_PENDING)) && !tail_of(v, seen) && take(v, seen, 0))
		return 0;
	pl_store_rlx(&node->kind, PL_NODE_QUEUED);
	int64_t before = swap_tail(v, w->number);
	if (before < 0) {
		pl_store_rlx(&node->kind, 0);
		return wait_beside(v, w);
	}
	if (before && pl_node_at(w->domain, (uint32_t)before)) {
		/* Q2: release, our node's initialisation before the link (bug rows 1, 2); pairs with Q4 */
		pl_store_rel(&pl_node_at(w->domain, (uint32_t)before)->next, w->number);
		for (uint32_t n = 1; !pl_load_acq(&node->locked); n++) { /* Q3: acquire, pairs with Q5 */
			if (n % word_looks == 0 && bits(v) & PL_Q_BROKEN)
				return -EBADFD;
			if (!pl_os_watch(&node->locked, 0, sparse_ns))
				pl_os_yield();
		}
	}
	/* Head of the queue. A broken word does not say who is its tail: all leave on their own account. */
	while (seen = bits(v), seen & PL_Q_PENDING || !reserve(v)) {
		if (seen & PL_Q_BROKEN)
			return -EBADFD;
		if (!may_take(v, w, seen, pl_os_now()))
			pl_os_watch(v.queue, seen, look_ns);
	}
	int result = take_reserved(v);
	if (result != -EBADFD && !leave_queue(v, w->number)) {
		uint32_t next;
		while (!(next = pl_load_acq(&node->next))) /* Q4: acquire, pairs with Q2 */
			pl_os_watch(&node->next, 0, look_ns);
		pl_store_rel(&pl_node_at(w->domain, next)->locked, 1); /* Q5: release, pairs with Q3 */
	}
	pl_store_rlx(&node->kind, 0);
	return result;
}

/* ---- entry ---- */

/* True if a context that this one interrupted waits for the same lock. */
static bool waits_below(const wait *w, uint32_t level)
{
	for (uint32_t i = 0; i < level; i++)
		if (w->self->nodes[i].key == w->key)
			return true;
	return false;
}

INLINE int lock_slow(pl_thread *self, void *lock, int layout, uint32_t flags, int64_t timeout_ns, pl_search *search)
{
	enum { all_flags = PL_WAIT_SPIN | PL_WAIT_INTERRUPTIBLE | PL_WAIT_RESUME };
	uintptr_t align = layout == PL_LAYOUT_WIDE ? sizeof(pl_qspinlock_wide) : sizeof(pl_qspinlock);
	if (!lock || (uintptr_t)lock % align || flags & ~(uint32_t)all_flags)
		return -EINVAL;
	self = self_or_service(self);
	if (!self)
		return -ENOMEM;
	view v = view_of(lock, layout);
	wait w = {.self = self, .domain = pl_thread_domain(self), .flags = flags};
	w.key = line_key(w.domain, v);
	if (timeout_ns >= 0)
		w.until = pl_os_now() + (uint64_t)timeout_ns;
	if (self->index == 0)
		return wait_slotless(v, &w);
	int result, level = pl_context_enter(self);
	bool nodeless = level < 0 || waits_below(&w, (uint32_t)level);
	if (nodeless && search) { /* such a wait is in no search: what the one try does not get is refused */
		uint32_t seen = bits(v);
		result = dead(seen);
		if (!result)
			result = !(seen & PL_Q_LOCKED) && take(v, seen, 0) ? 0 : -EDEADLK;
	} else if (nodeless) {
		w.steal = level >= 0;
		w.flags |= PL_WAIT_SPIN;
		result = wait_beside(v, &w);
	} else {
		w.node = &self->nodes[level];
		__atomic_store_n(&w.node->key, w.key, __ATOMIC_RELAXED);
		w.number = pl_node_number(self, (uint32_t)level);
		w.search = search;
		if (search)
			pl_search_begin(search, w.node, w.number, pl_os_now());
		if (!(flags & PL_WAIT_SPIN))
			result = wait_parking(v, &w);
		else if (w.until || search || flags & PL_WAIT_INTERRUPTIBLE)
			result = wait_beside(v, &w);
		else
			result = wait_spinning(v, &w);
		if (search)
			pl_search_end(search);
		__atomic_store_n(&w.node->key, 0, __ATOMIC_RELAXED); /* who searches for deadlocks reads it */
	}
	if (level >= 0)
		pl_context_leave(self, (uint32_t)level);
	if (result == 0)
		self->acquired = pl_os_now();
	return result;
}

/*
 * Tries that found a lock free but reserved: which and when. One that is found so again after PL_RESERVATION_NS, and was
 * not found otherwise between, was reserved by somebody who does not run any more. A small table for the whole process,
 * written without a lock: locks that share an entry, and tries that overlap, only make a reservation void later or sooner,
 * which costs a waiter its turn at worst.
 */
enum { remembered = 64 };
static struct {
	uintptr_t lock; /* 0: none */
	uint64_t since;
} reserved_tries[remembered];

static bool reserved_for_too_long(const void *lock, bool reserved)
{
	uintptr_t address = (uintptr_t)lock;
	size_t i = (size_t)((address * 0x9e3779b97f4a7c15ull) >> 58);
	bool known = __atomic_load_n(&reserved_tries[i].lock, __ATOMIC_RELAXED) == address;
	if (!reserved) {
		if (PL_UNLIKELY(known))
			__atomic_store_n(&reserved_tries[i].lock, 0, __ATOMIC_RELAXED);
		return false;
	}
	uint64_t now = pl_os_now();
	if (known)
		return (int64_t)(now - pl_load64_rlx(&reserved_tries[i].since)) >= PL_RESERVATION_NS;
	pl_store64_rlx(&reserved_tries[i].since, now);
	__atomic_store_n(&reserved_tries[i].lock, address, __ATOMIC_RELAXED);
	return false;
}

/* A try that did not find the lock free at once. */
INLINE int try_slow(view v)
{
	uint32_t seen = bits(v);
	int err = dead(seen);
	if (err)
		return err;
	if (reserved_for_too_long(v.owner, (seen & (PL_Q_LOCKED | PL_Q_PENDING)) == PL_Q_PENDING)) {
		clear_bits(v, PL_Q_PENDING);
		reserved_for_too_long(v.owner, false);
		seen = bits(v);
		if (!(seen & (PL_Q_LOCKED | PL_Q_PENDING | PL_Q_DEAD)) && take(v, seen, 0))
			return 0;
	}
	return -EBUSY;
}

int pl_q_wait(pl_thread *self, void *lock, int layout, uint32_t flags, int64_t timeout_ns, pl_search *search)
{
	switch (layout) {
	case PL_LAYOUT_WORD: return lock_slow(self, lock, PL_LAYOUT_WORD, flags, timeout_ns, search);
	case PL_LAYOUT_BYTE: return lock_slow(self, lock, PL_LAYOUT_BYTE, flags, timeout_ns, search);
	default: return lock_slow(self, lock, PL_LAYOUT_WIDE, flags, timeout_ns, search);
	}
}

/* ---- exports: each function three times, once per layout ---- */

INLINE int lock_checked(pl_thread *self, void *lock, int layout, uint32_t flags, int64_t timeout_ns)
{
	if (PL_LIKELY(!pl_checked(self)))
		return lock_slow(self, lock, layout, flags, timeout_ns, NULL);
	int err = lock ? pl_check_lock(self, lock) : -EINVAL;
	if (!err)
		err = lock_slow(self, lock, layout, flags, timeout_ns, NULL);
	if (!err)
		pl_check_locked(self, lock);
	return err;
}

#define PL_DEFINE(prefix, type, LAYOUT)                                                                                   \
	static bool prefix##_bad(const type *lock) { return !lock || (uintptr_t)lock % _Alignof(type); }                   \
                                                                                                                          \
	int prefix##_init(type *lock)                                                                                     \
	{                                                                                                                 \
		if (prefix##_bad(lock))                                                                                   \
			return -EINVAL;                                                                                   \
		*lock = (type){0};                                                                                        \
		return 0;                                                                                                 \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_lock_slow(pl_thread *self, type *lock) { return lock_slow(self, lock, LAYOUT, 0, PL_FOREVER, NULL); }       \
                                                                                                                          \
	int prefix##_lock(pl_thread *self, type *lock)                                                                    \
	{                                                                                                                 \
		if (PL_UNLIKELY(prefix##_bad(lock)))                                                                      \
			return -EINVAL;                                                                                   \
		if (pl_checked(self))                                                                                     \
			return lock_checked(self, lock, LAYOUT, 0, PL_FOREVER);                                           \
		return prefix##_lock_inline(self, lock);                                                                  \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_lock_wait_slow(pl_thread *self, type *lock, uint32_t flags, int64_t timeout_ns)                      \
	{                                                                                                                 \
		return lock_slow(self, lock, LAYOUT, flags, timeout_ns, NULL);                                            \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_lock_wait(pl_thread *self, type *lock, uint32_t flags, int64_t timeout_ns)                           \
	{                                                                                                                 \
		if (PL_UNLIKELY(prefix##_bad(lock)))                                                                      \
			return -EINVAL;                                                                                   \
		if (pl_checked(self))                                                                                     \
			return lock_checked(self, lock, LAYOUT, flags, timeout_ns);                                       \
		return prefix##_lock_wait_inline(self, lock, flags, timeout_ns);                                          \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_trylock_slow(pl_thread *self, type *lock)                                                            \
	{                                                                                                                 \
		(void)self;                                                                                               \
		if (PL_UNLIKELY(prefix##_bad(lock)))                                                                      \
			return -EINVAL;                                                                                   \
		return try_slow(view_of(lock, LAYOUT));                                                                   \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_trylock(pl_thread *self, type *lock)                                                                 \
	{                                                                                                                 \
		if (PL_UNLIKELY(prefix##_bad(lock)))                                                                      \
			return -EINVAL;                                                                                   \
		int err = prefix##_trylock_inline(self, lock);                                                            \
		if (!err && pl_checked(self))                                                                             \
			pl_check_locked(self, lock);                                                                      \
		return err;                                                                                               \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_unlock(pl_thread *self, type *lock)                                                                  \
	{                                                                                                                 \
		if (PL_UNLIKELY(prefix##_bad(lock)))                                                                      \
			return -EINVAL;                                                                                   \
		if (pl_checked(self)) {                                                                                   \
			int err = pl_check_unlock(self, lock);                                                            \
			if (err)                                                                                          \
				return err;                                                                               \
		}                                                                                                         \
		return prefix##_unlock_inline(self, lock);                                                                \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_is_locked(const type *lock)                                                                          \
	{                                                                                                                 \
		if (prefix##_bad(lock))                                                                                   \
			return -EINVAL;                                                                                   \
		pl_fence(); /* K1: this thread's own lock before its look at another (bug row 3); pairs with itself */    \
		return (bits(view_of((void *)(uintptr_t)lock, LAYOUT)) & PL_Q_LOCKED) != 0;                               \
	}                                                                                                                 \
                                                                                                                          \
	int prefix##_is_contended(const type *lock)                                                                       \
	{                                                                                                                 \
		if (prefix##_bad(lock))                                                                                   \
			return -EINVAL;                                                                                   \
		return (bits(view_of((void *)(uintptr_t)lock, LAYOUT)) & ~(PL_Q_LOCKED | PL_Q_DEAD)) != 0;              \
	}

PL_DEFINE(pl_qspin, pl_qspinlock, PL_LAYOUT_WORD)
PL_DEFINE(pl_qspin_byte, pl_qspinlock_byte, PL_LAYOUT_BYTE)
PL_DEFINE(pl_qspin_wide, pl_qspinlock_wide, PL_LAYOUT_WIDE)
