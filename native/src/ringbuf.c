/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring buffer: reserving, committing, consuming, waiting. docs/ringbuf.md has the invariants; in short:
 *
 *   consumer <= position, pending <= position, position - pending < bytes, position - consumer < bytes (not in overwrite
 *   mode). Producers write only under the lock, and only memory behind `position` that is less than `bytes` from `pending`
 *   and from the consumer: so no position that a consumer makes up lets two reservations overlap (bug row 32).
 */
#include "domain.h"
#include "os/os.h"
#include "os/pthread.h"
#include "ring.h"

#include <errno.h>
#include <panalock/futex.h>
#include <panalock/mutex.h>
#include <panalock/qspinlock.h>
#include <panalock/rqspinlock.h>
#include <panalock/waitq.h>
#include <string.h>

enum {
	walk_batch = 64,  /* committed records passed at once, so that few reservations look at old headers */
	look_ns = 10000,  /* a waiting consumer looks for this long before it sleeps */
};

static uint64_t step_of(uint32_t bytes) { return ((uint64_t)bytes + PL_RING_RECORD_HEADER + 7) & ~7ull; }
static uint32_t length_of(uint32_t word) { return word & ~(PL_RING_BUSY | PL_RING_DISCARD); }

static pl_ring_record *record_at(const pl_ring *r, uint64_t position)
{
	return (pl_ring_record *)(void *)(r->data + (position & (r->bytes - 1)));
}

static bool shared(const pl_ring *r) { return r->domain->flags & PL_DOMAIN_SHARED; }

static pl_thread *slot_or_service(pl_thread *self, pl_ring *r) { return self ? self : pl_domain_service(r->domain); }

/* ---- the lock ---- */

/* The reservations that this thread is in, innermost first: more than one in a signal handler. */
typedef struct frame {
	const struct frame *outer;
	const pl_ring_header *ring;
} frame;
static __thread const frame *frames __attribute__((tls_model("initial-exec")));

/* True if the reservation at hand interrupted another one in the same ring. */
static bool nested(const pl_ring_header *ring)
{
	for (const frame *f = frames->outer; f; f = f->outer)
		if (f->ring == ring)
			return true;
	return false;
}

static int mutex_result(pthread_mutex_t *m, int err)
{
	/* The last owner died while it reserved. What it wrote lies behind `position`, which it would have stored last. */
	if (err == EOWNERDEAD)
		err = pthread_mutex_consistent(m);
	return -err;
}

static pl_rqspinlock *rq_lock(const pl_ring *r) { return (pl_rqspinlock *)(void *)r->header->lock; }

static int try_lock(pl_ring *r)
{
	if (r->lock_kind == PL_RING_LOCK_QSPIN)
		return pl_qspin_take((pl_qspinlock *)(void *)r->header->lock) ? 0 : -EBUSY;
	pthread_mutex_t *m = (pthread_mutex_t *)(void *)r->header->lock;
	return mutex_result(m, pthread_mutex_trylock(m));
}

/*
 * We are a signal handler and interrupted a reservation of our own thread in this ring. It may hold the lock, and then
 * waiting is hopeless; or it waits itself, and whoever holds the lock will soon be done with it (bug row 33).
 */
static int lock_nested(pl_ring *r)
{
	enum { looks = 200, distance_ns = 100 };
	for (int i = 0; i < looks; i++) {
		if (try_lock(r) == 0)
			return 0;
		pl_os_watch(r->header->lock, pl_load_rlx(r->header->lock), distance_ns);
	}
	return -EDEADLK;
}

/* What follows when the lock is not free. */
static int wait_for_lock(pl_thread *self, pl_ring *r, bool wait)
{
	if (!wait)
		return -EBUSY;
	if (nested(r->header))
		return lock_nested(r);
	if (r->lock_kind == PL_RING_LOCK_QSPIN)
		return pl_qspin_lock_slow(self, (pl_qspinlock *)(void *)r->header->lock);
	pthread_mutex_t *m = (pthread_mutex_t *)(void *)r->header->lock;
	return mutex_result(m, pthread_mutex_lock(m));
}

static int lock_mutex(pl_thread *self, pl_ring *r, bool wait)
{
	pthread_mutex_t *m = (pthread_mutex_t *)(void *)r->header->lock;
	int err = pthread_mutex_trylock(m);
	return err == EBUSY ? wait_for_lock(self, r, wait) : mutex_result(m, err);
}

/*
 * Reserves with the ring's lock held, one branch a lock, so that each has straight code. A handler that interrupts us
 * anywhere between the two marks finds out that we may hold the lock; rqspinlock's own table says so without ours.
 */
#define WITH_LOCK(take, release)                                                                                          \
	do {                                                                                                              \
		at = (take);                                                                                              \
		if (PL_LIKELY(!at)) {                                                                                     \
			at = reserve_locked(ring, bytes);                                                                 \
			release;                                                                                          \
		}                                                                                                         \
	} while (0)

/* ---- reserving ---- */

/* Moves `pending` over records that are committed, until a record that ends at @end fits. */
static int pass_committed(pl_ring *r, uint64_t position, uint64_t end)
{
	uint64_t at = r->producer->pending;
	int err = 0;
	for (int n = 0; at < position && (n < walk_batch || end - at > r->bytes - 1); n++) {
		uint32_t word = pl_load_acq(&record_at(r, at)->length); /* X2: its writer is done with the memory */
		if (word & PL_RING_BUSY)
			break;
		if (step_of(length_of(word)) > position - at) {
			err = -EBADMSG;
			break;
		}
		at += step_of(length_of(word));
	}
	pl_store64_rlx(&r->producer->pending, at);
	return err ? err : end - at > r->bytes - 1 ? -EAGAIN : 0;
}

/* Overwrite mode: gives up the oldest records. They are committed, since `pending` was checked before. */
static int give_up_oldest(pl_ring *r, uint64_t end)
{
	pl_ring_producer *p = r->producer;
	uint64_t at = p->oldest, consumed = pl_load64_acq(&r->consumer->position); /* X6 */
	while (end - at > r->bytes - 1) {
		uint32_t word = pl_load_rlx(&record_at(r, at)->length);
		if (step_of(length_of(word)) > p->pending - at)
			return -EBADMSG;
		if (at >= consumed && !(word & PL_RING_DISCARD))
			p->lost++;
		at += step_of(length_of(word));
	}
	pl_store64_rlx(&p->oldest, at);
	pl_fence(); /* X12: full fence, `oldest` before the new record's bytes; pairs with X13 */
	return 0;
}

/* The slow half: the cached positions say that there is no room. */
static __attribute__((noinline)) int make_room(pl_ring *r, uint64_t position, uint64_t end)
{
	pl_ring_producer *p = r->producer;
	if (!(r->flags & PL_RING_OVERWRITE) && end - p->consumed > r->bytes - 1) {
		uint64_t consumed = pl_load64_acq(&r->consumer->position); /* X6: acquire, pairs with X5 */
		if (consumed > position || end - consumed > r->bytes - 1)
			return -EAGAIN; /* full, or a position from nowhere */
		p->consumed = consumed;
	}
	/* Whatever the consumer says: open records are not to be touched (bug row 32). */
	if (end - p->pending > r->bytes - 1) {
		int err = pass_committed(r, position, end);
		if (err)
			return err;
	}
	return r->flags & PL_RING_OVERWRITE && end - p->oldest > r->bytes - 1 ? give_up_oldest(r, end) : 0;
}

static inline int64_t reserve_locked(pl_ring *r, uint32_t bytes)
{
	pl_ring_producer *p = r->producer;
	uint64_t position = pl_load64_rlx(&p->position), pad = 0, step = step_of(bytes);
	if (r->flags & PL_RING_PADDED) {
		uint64_t left = r->bytes - (position & (r->bytes - 1));
		pad = step > left ? left : 0;
	}
	uint64_t end = position + pad + step, limit = r->bytes - 1;
	uint64_t from = r->flags & PL_RING_OVERWRITE ? p->oldest : p->consumed;
	if (PL_UNLIKELY(end - from > limit || end - p->pending > limit)) {
		int err = make_room(r, position, end);
		if (err)
			return err;
	}
	pl_ring_record *record = record_at(r, position + pad);
	if (PL_UNLIKELY(pad)) {
		pl_ring_record *filler = record_at(r, position);
		pl_store_rlx(&filler->length, PL_RING_DISCARD | (uint32_t)(pad - PL_RING_RECORD_HEADER));
		pl_store_rlx(&filler->owner, 0);
	}
	pl_store_rlx(&record->length, PL_RING_BUSY | bytes);
	pl_store_rlx(&record->owner, r->owner);
	pl_store64_rel(&p->position, end); /* X3: release, the headers before the position that shows them; pairs with X4 */
	return (int64_t)((position + pad) & limit) + PL_RING_RECORD_HEADER;
}

static bool bad(const pl_ring *r) { return !r || (uintptr_t)r % _Alignof(pl_ring) || !r->header; }

int64_t pl_ring_reserve_locked(pl_ring *ring, uint32_t bytes)
{
	if (bad(ring))
		return -EINVAL;
	return bytes > ring->max_record ? -E2BIG : reserve_locked(ring, bytes);
}

/*
 * rqspinlock's own fast path, once around the whole: the lock's key is known, and between lock and unlock nothing can have
 * changed the entry that we made.
 */
static inline int64_t reserve_resilient(pl_thread *self, pl_ring *ring, uint32_t bytes)
{
	pl_rqspinlock *l = rq_lock(ring);
	int64_t at;
	if (PL_LIKELY(pl_rq_first(self) && !pl_rq_entry(self))) {
		pl_rq_set_entry(self, ring->lock_key);
		if (PL_LIKELY(pl_qspin_take(l))) {
			at = reserve_locked(ring, bytes);
			bool kick = pl_qspin_release_inline(l);
			pl_rq_set_entry(self, 0);
			if (PL_UNLIKELY(kick))
				pl_qspin_kick(self, l, PL_LAYOUT_WORD, 1);
			return at;
		}
		pl_rq_set_entry(self, 0);
	}
	WITH_LOCK(pl_rqspin_lock_slow(self, l), pl_rqspin_unlock_inline(self, l));
	return at;
}

static inline int64_t reserve(pl_thread *self, pl_ring *ring, uint32_t bytes, bool wait)
{
	int64_t at;
	if (PL_UNLIKELY(bad(ring)))
		return -EINVAL;
	if (PL_UNLIKELY(bytes > ring->max_record))
		return -E2BIG;
	if (ring->lock_kind == PL_RING_LOCK_RQSPIN) {
		if (PL_UNLIKELY(!self))
			return -EINVAL;
		return reserve_resilient(self, ring, bytes);
	}
	if (ring->lock_kind == PL_RING_LOCK_OSQ) {
		pl_mutex *m = (pl_mutex *)(void *)ring->header->lock;
		if (PL_UNLIKELY(!self))
			return -EINVAL;
		WITH_LOCK(pl_mutex_lock(self, m), pl_mutex_unlock(self, m));
		return at;
	}
	const frame here = {frames, ring->header};
	frames = &here;
	pl_compiler_fence(); /* X17: compiler fence: marked before the lock is tried; pairs with X18 */
	if (PL_LIKELY(ring->lock_kind == PL_RING_LOCK_QSPIN)) {
		pl_qspinlock *l = (pl_qspinlock *)(void *)ring->header->lock;
		WITH_LOCK(PL_LIKELY(pl_qspin_take(l)) ? 0 : wait_for_lock(self, ring, wait),
			  pl_qspin_unlock_inline(slot_or_service(self, ring), l));
	} else if (ring->lock_kind == PL_RING_LOCK_MUTEX) {
		WITH_LOCK(lock_mutex(self, ring, wait), pthread_mutex_unlock((pthread_mutex_t *)(void *)ring->header->lock));
	} else {
		at = -EINVAL; /* a run-time's own: see pl_ring_reserve_locked() */
	}
	pl_compiler_fence(); /* X18: compiler fence: unmarked after it was released; pairs with X17 */
	frames = here.outer;
	return at;
}

int64_t pl_ring_reserve_at(pl_thread *self, pl_ring *ring, uint32_t bytes) { return reserve(self, ring, bytes, self); }

int pl_ring_reserve(pl_thread *self, pl_ring *ring, uint32_t bytes, void **record)
{
	if (PL_UNLIKELY(!record))
		return -EINVAL;
	int64_t at = reserve(self, ring, bytes, true);
	if (PL_UNLIKELY(at < 0))
		return (int)at;
	*record = ring->data + at;
	return 0;
}

/* ---- committing ---- */

/*
 * The store-buffer pattern again (see WIDE in docs/ordering.md): we store the length and then look for a sleeper, the
 * consumer joins the line and then looks at the length. The consumer, who is about to sleep, pays for both sides.
 */
static inline bool someone_waits(const pl_ring *r)
{
	pl_compiler_fence(); /* X9: relaxed load of the line behind X1, pairs with X10 */
	if (PL_UNLIKELY(pl_load_rlx(&pl_release_needs_fence)))
		pl_fence(); /* X11: full fence, pairs with X10 */
	return PL_UNLIKELY(pl_load_rlx(&r->header->line.head));
}

/* @offset is the header's, in the data. */
static int finish(pl_ring *r, uint64_t offset, uint32_t discard, uint32_t flags)
{
	if (PL_UNLIKELY(offset >= r->bytes || offset % 8 || flags & ~(uint32_t)(PL_RING_NO_WAKEUP | PL_RING_FORCE_WAKEUP)))
		return -EINVAL;
	pl_ring_record *record = record_at(r, offset);
	uint32_t word = pl_load_rlx(&record->length);
	if (PL_UNLIKELY(!(word & PL_RING_BUSY)))
		return -EINVAL; /* twice, or never reserved */
	pl_store_rel(&record->length, length_of(word) | discard); /* X1: release, pairs with X2 */
	if (!someone_waits(r) || flags & PL_RING_NO_WAKEUP)
		return 0;
	if (flags & PL_RING_FORCE_WAKEUP || r->flags & PL_RING_OVERWRITE)
		return 1;
	/* A consumer that sleeps does so at the first open record; committing another is no news to it. */
	return offset == (pl_load64_rlx(&r->consumer->position) & (r->bytes - 1));
}

static int finish_and_wake(pl_thread *self, pl_ring *r, void *record, uint32_t discard, uint32_t flags)
{
	if (PL_UNLIKELY(bad(r)))
		return -EINVAL;
	int wake = finish(r, (uintptr_t)record - (uintptr_t)r->data - PL_RING_RECORD_HEADER, discard, flags);
	if (PL_UNLIKELY(wake > 0)) {
		pl_waitq_wake(slot_or_service(self, r), &r->header->line, PL_WAITQ_ALL);
		return 0;
	}
	return wake;
}

int pl_ring_commit(pl_thread *self, pl_ring *ring, void *record, uint32_t flags)
{
	return finish_and_wake(self, ring, record, 0, flags);
}

int pl_ring_discard(pl_thread *self, pl_ring *ring, void *record, uint32_t flags)
{
	return finish_and_wake(self, ring, record, PL_RING_DISCARD, flags);
}

int pl_ring_finish(pl_ring *ring, int64_t offset, uint32_t discard, uint32_t flags)
{
	if (bad(ring))
		return -EINVAL;
	return finish(ring, (uint64_t)offset - PL_RING_RECORD_HEADER, discard ? PL_RING_DISCARD : 0, flags);
}

int pl_ring_output(pl_thread *self, pl_ring *ring, const void *data, uint32_t bytes, uint32_t flags)
{
	void *record;
	if ((!data && bytes) || flags & ~(uint32_t)(PL_RING_NO_WAKEUP | PL_RING_FORCE_WAKEUP))
		return -EINVAL;
	int err = pl_ring_reserve(self, ring, bytes, &record);
	if (err)
		return err;
	if (bytes)
		memcpy(record, data, bytes);
	return pl_ring_commit(self, ring, record, flags);
}

/* ---- consuming ---- */

/*
 * Copies a record that producers may overwrite meanwhile; the caller looks afterwards whether they did. Such a race is
 * meant here, so ThreadSanitizer is not told of it.
 */
__attribute__((no_sanitize_thread)) static void copy_words(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += 8) {
		uint64_t word = __atomic_load_n((const uint64_t *)(const void *)(from + i), __ATOMIC_RELAXED);
		memcpy(to + i, &word, 8);
	}
}

__attribute__((no_sanitize_thread)) static uint32_t length_or_garbage(const pl_ring_record *record)
{
	return __atomic_load_n(&record->length, __ATOMIC_ACQUIRE); /* X2 */
}

/* What the consumer sees of a record. In overwrite mode it may be the middle of another by now: see still_there(). */
static uint32_t consumers_length(const pl_ring *r, const pl_ring_record *record)
{
	return r->flags & PL_RING_OVERWRITE ? length_or_garbage(record) : pl_load_acq(&record->length); /* X2: acquire, pairs with X1 */
}

/* True if what was read at this position before was not overwritten meanwhile. */
static bool still_there(const pl_ring *r, uint64_t at)
{
	if (!(r->flags & PL_RING_OVERWRITE))
		return true;
	pl_fence(); /* X13: full fence, the reads before the look at `oldest`; pairs with X12 */
	return pl_load64_rlx(&r->producer->oldest) <= at;
}

/* Where the consumer goes on: at its position, or at the first record that is whole. */
static uint64_t whole_from(const pl_ring *r, uint64_t at)
{
	if (!(r->flags & PL_RING_OVERWRITE))
		return at;
	uint64_t oldest = pl_load64_acq(&r->producer->oldest); /* X4: what is older is being overwritten */
	return at < oldest ? oldest : at;
}

/*
 * Looks for the record at *@at, skipping discarded ones: 1 and its bytes, 0 (none is ready), -EBADMSG. *@known is a position
 * of the producers that was seen before.
 */
static int look(pl_ring *r, uint64_t *at, uint64_t *known, void **data, uint32_t *bytes)
{
	bool overwrite = r->flags & PL_RING_OVERWRITE;
	for (;;) {
		*at = whole_from(r, *at);
		if (*at >= *known) {
			*known = pl_load64_acq(&r->producer->position); /* X4: acquire, pairs with X3 */
			if (*at >= *known)
				return *at > *known ? -EBADMSG : 0;
		}
		pl_ring_record *record = record_at(r, *at);
		uint32_t word = consumers_length(r, record);
		uint64_t step = step_of(length_of(word));
		bool whole = length_of(word) <= r->max_record || word & PL_RING_DISCARD;
		if (overwrite && !(word & PL_RING_BUSY) && whole && step <= r->bytes) {
			copy_words(r->copy, (uint8_t *)record, step);
			record = (pl_ring_record *)(void *)r->copy;
		}
		if (!still_there(r, *at))
			continue;
		if (word & PL_RING_BUSY)
			return 0;
		if (!whole || step > *known - *at)
			return -EBADMSG;
		if (!(word & PL_RING_DISCARD)) {
			*data = record + 1;
			*bytes = length_of(word);
			return 1;
		}
		*at += step;
	}
}

static void publish(pl_ring *r, uint64_t at)
{
	pl_store64_rel(&r->consumer->position, at); /* X5: release, our reads before the room is given back; pairs with X6 */
}

int64_t pl_ring_drain(pl_ring *ring, pl_ring_handler handler, void *context, uint64_t max)
{
	if (bad(ring) || !handler)
		return -EINVAL;
	if (!pl_cas_acq(&ring->consuming, 0, 1)) /* X14: acquire, pairs with X15 */
		return -EBUSY;
	uint64_t at = pl_load64_rlx(&ring->consumer->position), published = at, known = at, piece = ring->bytes / 16;
	int64_t count = 0, err = 0;
	void *data;
	uint32_t bytes;
	int found;
	while ((found = look(ring, &at, &known, &data, &bytes)) > 0) {
		int said = handler(context, data, bytes);
		at += step_of(bytes);
		count++;
		if (at - published >= piece) {
			publish(ring, at);
			published = at;
		}
		if (said < 0)
			err = said;
		if (said || (uint64_t)count == max)
			break;
	}
	if (at != published)
		publish(ring, at);
	pl_store_rel(&ring->consuming, 0); /* X15: release, pairs with X14 */
	return err ? err : found < 0 && !count ? found : count;
}

int pl_ring_next(pl_ring *ring, void **record, uint32_t *bytes)
{
	if (bad(ring) || !record || !bytes)
		return -EINVAL;
	uint64_t before = pl_load64_rlx(&ring->consumer->position), at = before, known = at;
	int found = look(ring, &at, &known, record, bytes);
	if (at != before)
		publish(ring, at); /* over what was discarded */
	ring->next = found > 0 ? at + step_of(*bytes) : 0;
	return found;
}

int pl_ring_done(pl_ring *ring)
{
	if (bad(ring) || !ring->next)
		return -EINVAL;
	publish(ring, ring->next);
	ring->next = 0;
	return 0;
}

uint64_t pl_ring_scan(const pl_ring *ring, uint64_t limit)
{
	if (bad(ring))
		return 0;
	uint64_t start = pl_load64_rlx(&ring->consumer->position), at = start;
	uint64_t position = pl_load64_acq(&ring->producer->position); /* X4 */
	while (at < position && at - start < limit) {
		uint32_t word = pl_load_acq(&record_at(ring, at)->length); /* X2 */
		uint64_t step = step_of(length_of(word));
		if (word & PL_RING_BUSY || step > position - at)
			break;
		at += step;
	}
	return at;
}

int pl_ring_advance(pl_ring *ring, uint64_t position)
{
	if (bad(ring) || position % 8 || position < pl_load64_rlx(&ring->consumer->position) ||
	    position > pl_load64_rlx(&ring->producer->position))
		return -EINVAL;
	publish(ring, position);
	return 0;
}

/* ---- waiting ---- */

/* Something at the consumer's position that is not open; else the word that will change: 32 bits of it are enough. */
static bool ready(const pl_ring *r, const uint32_t **word, uint32_t *value)
{
	uint64_t at = pl_load64_rlx(&r->consumer->position);
	do {
		at = whole_from(r, at);
		uint64_t position = pl_load64_acq(&r->producer->position); /* X4 */
		*word = (const uint32_t *)(const void *)&r->producer->position; /* its low half */
		*value = (uint32_t)position;
		if (at == position)
			return false;
		*word = &record_at(r, at)->length;
		*value = consumers_length(r, record_at(r, at));
	} while (!still_there(r, at));
	return !(*value & PL_RING_BUSY);
}

/* True when the consumer stands at an open record. */
static bool stands_at_open(const pl_ring *r)
{
	const uint32_t *word;
	uint32_t value;
	return !ready(r, &word, &value) && word != (const uint32_t *)(const void *)&r->producer->position;
}

/* Without a slot nobody can wake us: looks now and then. */
static int wait_without_slot(pl_ring *r, uint64_t until)
{
	enum { nap_ns = 500000 };
	uint32_t nobody = 0;
	const uint32_t *word;
	uint32_t value;
	for (uint64_t naps = 1; !ready(r, &word, &value); naps++) {
		if (pl_os_now() >= until)
			return -ETIMEDOUT;
		pl_futex_wait(&nobody, 0, nap_ns, 0);
		if (naps % (PL_RING_REAP_NS / nap_ns) == 0 && r->own_domain && stands_at_open(r))
			pl_ring_reap(r);
	}
	return 0;
}

int pl_ring_wait(pl_thread *self, pl_ring *ring, int64_t timeout_ns, uint32_t flags)
{
	const uint32_t *word;
	uint32_t value;
	if (bad(ring) || (self && self->index == 0) || flags & ~(uint32_t)PL_WAIT_INTERRUPTIBLE)
		return -EINVAL;
	if (ready(ring, &word, &value))
		return 0;
	if (timeout_ns == 0)
		return -ETIMEDOUT;
	uint64_t now = pl_os_now(), until = timeout_ns < 0 ? UINT64_MAX : now + (uint64_t)timeout_ns, looked = now + look_ns;
	do {
		pl_os_watch(word, value, look_ns);
		if (ready(ring, &word, &value))
			return 0;
	} while ((now = pl_os_now()) < looked && now < until);
	if (!self)
		return wait_without_slot(ring, until);
	pl_waitq *line = &ring->header->line;
	int place = pl_waitq_enter(self, line, 0);
	if (place < 0)
		return place;
	int err = 0;
	for (;;) {
		pl_os_heavy_fence(shared(ring)); /* X10: heavy fence, we in the line before the look; pairs with X9, X11 */
		if (ready(ring, &word, &value))
			break;
		uint64_t left = until - pl_os_now();
		if ((int64_t)left <= 0 && until != UINT64_MAX) {
			err = -ETIMEDOUT;
			break;
		}
		bool open = ring->own_domain && stands_at_open(ring);
		int64_t nap = until == UINT64_MAX ? PL_FOREVER : (int64_t)left;
		if (open && (nap < 0 || nap > PL_RING_REAP_NS))
			nap = PL_RING_REAP_NS;
		err = pl_waitq_sleep(self, line, place, nap, flags);
		if (err != -ETIMEDOUT)
			break; /* chosen: a record came, or pl_ring_wake() */
		err = 0;
		if (open)
			pl_ring_reap(ring);
	}
	pl_waitq_leave(self, line, place, 1);
	return err;
}

int pl_ring_wake(pl_thread *self, pl_ring *ring)
{
	return bad(ring) ? -EINVAL : pl_waitq_wake(slot_or_service(self, ring), &ring->header->line, PL_WAITQ_ALL);
}

/* ---- dead producers ---- */

static bool owner_is_dead(pl_ring *r, uint32_t owner)
{
	if (!owner || !r->own_domain)
		return false;
	uint32_t index = owner >> PL_RING_OWNER_SHIFT;
	pl_process *p = &r->domain->processes[index];
	uint32_t pid = pl_load_rlx(&p->pid);
	uint64_t incarnation = pl_load64_rlx(&p->incarnation);
	if (!pid || pl_ring_owner_code(index, pid, incarnation) != owner)
		return true; /* it has closed the ring, or another process has its entry now */
	uint64_t now = pl_os_incarnation(pid);
	return !now || !pl_os_same_incarnation(now, incarnation);
}

int pl_ring_reap(pl_ring *ring)
{
	if (bad(ring))
		return -EINVAL;
	int reaped = 0;
	uint64_t at = pl_load64_rlx(&ring->consumer->position);
	for (;;) {
		at = whole_from(ring, at);
		uint64_t position = pl_load64_acq(&ring->producer->position); /* X4 */
		if (at >= position)
			return reaped;
		pl_ring_record *record = record_at(ring, at);
		uint32_t word = consumers_length(ring, record);
		uint32_t owner = word & PL_RING_BUSY ? pl_load_rlx(&record->owner) : 0;
		if (!still_there(ring, at))
			continue;
		if (step_of(length_of(word)) > position - at)
			return -EBADMSG;
		/* X16: acquire and release: fails if it was committed after all; pairs with X2 */
		if (word & PL_RING_BUSY && owner_is_dead(ring, owner) &&
		    pl_cas_ar(&record->length, word, length_of(word) | PL_RING_DISCARD)) /* X16 */
			reaped++;
		at += step_of(length_of(word));
	}
}

uint64_t pl_ring_query(const pl_ring *ring, uint32_t what)
{
	if (bad(ring))
		return 0;
	uint64_t consumer = pl_load64_rlx(&ring->consumer->position);
	uint64_t producer = pl_load64_acq(&ring->producer->position); /* X4 */
	uint64_t oldest = pl_load64_rlx(&ring->producer->oldest);
	bool overwrite = ring->flags & PL_RING_OVERWRITE;
	switch (what) {
	case PL_RING_AVAILABLE: return producer - (overwrite && consumer < oldest ? oldest : consumer);
	case PL_RING_SIZE: return ring->bytes;
	case PL_RING_CONSUMER: return consumer;
	case PL_RING_PRODUCER: return producer;
	case PL_RING_OLDEST: return overwrite ? oldest : consumer;
	case PL_RING_LOST: return pl_load64_rlx(&ring->producer->lost);
	default: return 0;
	}
}
