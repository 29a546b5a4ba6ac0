/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * shazptr: simple hazard pointers. A reader says in one word of its thread slot what it is reading; whoever has made an
 * object unreachable waits until no slot names it, and may then free it. Reading costs two plain stores; waiting costs a
 * system call and a look at the slots that ever protected something.
 *
 * Worked example (a list whose elements are replaced):
 *
 *     // reader
 *     node *n;
 *     uint64_t guard;
 *     while ((err = pl_shazptr_try_protect(self, (void *const *)&list->first, (void **)&n, &guard)) == -EAGAIN)
 *         ;
 *     if (err == 0) {
 *         use(n);
 *         pl_shazptr_clear(self, guard);
 *     }
 *
 *     // writer
 *     node *old = replace_first(list);                            // unreachable for readers that come now
 *     pl_shazptr_synchronize(self, (uintptr_t)old, 0);            // no reader is left
 *     free(old);
 *     // or, without waiting:
 *     pl_shazptr_retire(self, &old->retired, (uintptr_t)old, free_node);
 *
 * What is protected is a *name*: any number from PL_HAZARD_FIRST_NAME up that readers and writers agree on. In a private
 * domain an object's name is its address; in a shared one it is pl_shazptr_name(), the same in every process. It can
 * also stand for more than one object, say for a hash bucket, of which readers then protect whole chains.
 *
 * Rules:
 *  - A reader protects first and looks for the object (again) afterwards: pl_shazptr_try_protect() does both. What it
 *    loaded before it protected may be freed already.
 *  - Guards of one thread end in the reverse order of their beginning. The outermost names what it protects. One inside
 *    it is a *wildcard*: it protects everything, as long as it lasts. Wildcards are numbered, and a writer waits only
 *    for those that began before it: readers that come later never delay it.
 *  - A writer first makes the object unreachable, then waits. It does not wait inside a guard of its own on that object,
 *    nor inside a nested one (-EDEADLK).
 *  - A thread that ends inside a guard no longer protects anything; nor does one that was killed, after a while.
 *
 * Signal handlers may protect and clear. docs/shazptr.md has the argument why this is correct.
 *
 * Sources: Michael, "Hazard Pointers" 2004; the kernel's proposed simple hazard pointers (one slot per CPU, wildcard);
 * asymmetric fences after Dice, Huang, Yang 2001 and membarrier(2); numbered wildcards are ours, after epochs.
 */
#ifndef PANALOCK_SHAZPTR_H
#define PANALOCK_SHAZPTR_H

#include <errno.h>
#include <panalock/atomic.h>
#include <panalock/qspinlock.h>
#include <panalock/thread.h>

PL_EXTERN_C_BEGIN

/* Values of `pl_thread.hazard`. Anything from PL_HAZARD_FIRST_NAME up is the name that the outermost guard protects. */
#define PL_HAZARD_UNLISTED   0 /**< This slot has never protected anything; writers do not look at it. */
#define PL_HAZARD_IDLE       1 /**< No guard. */
#define PL_HAZARD_FIRST_NAME 2

/* `pl_thread.wildcard` is 0 without a nested guard, else number << PL_WILDCARD_SHIFT | nesting, where the number is what
 * `pl_domain.hazard_epoch` was (plus one) when the outermost of the nested guards began. */
#define PL_WILDCARD_SHIFT   4
#define PL_WILDCARD_NESTING 15

/** The guard that a call could not give: its arguments were bad. */
#define PL_NO_GUARD UINT64_MAX

/** What has been retired and waits until no reader is left; part of the object, or beside it. */
typedef struct pl_shazptr_retired {
	struct pl_shazptr_retired *next;                      /**< The library's until `reclaim` is called, as all fields. */
	void (*reclaim)(struct pl_shazptr_retired *retired);
	pl_domain *domain;
	uint64_t name;
	uint64_t epoch;
	uint64_t blocked;
	uint64_t ticket;
} pl_shazptr_retired;

/** Retired objects that may wait at once in a process; one more makes pl_shazptr_retire() wait. */
#define PL_RETIRE_BACKLOG 4096

/** The name of an object in @p self's domain: its address in a private one, else pl_lock_key(). Call. @return 0: bad. */
PL_API uint64_t pl_shazptr_name(pl_thread *self, const void *object);

/**
 * Begins a guard: until pl_shazptr_clear(), what @p name stands for is not freed, if it is found reachable *after* this
 * call. Full fence between the announcement and what follows, its heavy half paid by the writers. Inline; never waits.
 * @return the guard, to be given to pl_shazptr_clear(); PL_NO_GUARD (exported form only: null, or not a name).
 */
PL_API uint64_t pl_shazptr_acquire(pl_thread *self, uint64_t name);

/**
 * Ends a guard, the last one that began. Release. Inline; never waits.
 * @return 0; exported form only: -EINVAL (null, or no guard); -EPERM (not the last one that began; nothing has changed).
 */
PL_API int pl_shazptr_clear(pl_thread *self, uint64_t guard);

/**
 * Protects what @p source points at, private domains only: reads it, begins a guard, and reads it again. Acquire: what
 * was written before the pointer was stored is seen. Inline; never waits.
 * @return 0 (@p object is protected by @p guard); -EAGAIN (it changed meanwhile: try again); -ENOENT (null); -EINVAL.
 */
PL_API int pl_shazptr_try_protect(pl_thread *self, void *const *source, void **object, uint64_t *guard);

#define PL_SHAZPTR_SKIP_SELF_SCAN 1 /**< Do not look at the slots: have the scan thread do it, for many callers at once. */

/**
 * Waits until every guard on @p name that may have begun before has ended. Full fence on every CPU that runs a thread of
 * this process (of any process that uses Panalock, in a shared domain). Looks itself, and if it would have to wait for
 * long lets the process's scan thread look, which serves all callers with one look. May block, as long as readers read.
 * @p self is any slot of the domain; @p flags PL_SHAZPTR_*.
 * @return 0; -EDEADLK (this thread's own guard, or a nested guard of its own, is in the way); -EINVAL.
 */
PL_API int pl_shazptr_synchronize(pl_thread *self, uint64_t name, uint32_t flags);

/**
 * Has @p reclaim called, on the scan thread, once no guard that may have begun before is left on @p name. @p retired is
 * the library's until then. Retired objects are looked at in batches: about a millisecond passes. `reclaim` may free the
 * memory of @p retired, retire and take locks that are never held while somebody waits for the scan thread. Memory is
 * bounded: while PL_RETIRE_BACKLOG objects of the process wait, this call waits for them. Else a call, sometimes a
 * system call.
 * @return 0; -EAGAIN (PL_RETIRE_BACKLOG wait, and this thread is inside a guard: not retired; end the guard and call
 *         again); -ENOMEM (no scan thread could be started: not retired); -EINVAL.
 */
PL_API int pl_shazptr_retire(pl_thread *self, pl_shazptr_retired *retired, uint64_t name,
			     void (*reclaim)(pl_shazptr_retired *retired));

/**
 * Waits until everything that was retired before this call in this process, in any domain, has been reclaimed. May block.
 * @return 0; -EDEADLK (inside a guard, or inside `reclaim`); -ENOMEM (no scan thread could be started); -EINVAL.
 */
PL_API int pl_shazptr_drain(pl_thread *self);

/** Whether a guard on @p name or a nested guard exists now: a hint. Linear in slots. @return 1 or 0; -EINVAL. */
PL_API int pl_shazptr_is_protected(pl_domain *domain, uint64_t name);

/* What the inline forms call when the fast path does not apply. Not for direct use. */
PL_API uint64_t pl_shazptr_acquire_slow(pl_thread *self, uint64_t name);
PL_API void pl_shazptr_clear_slow(pl_thread *self, uint64_t guard);

/* ---- Inline fast paths; the exported functions check their arguments and do the same. ---- */

/*
 * The announcement (G1) must be visible before the reader looks for the object. That is the store-buffer pattern: the
 * writer makes the object unreachable and then looks at the announcements. Both need a full fence. The reader leaves its
 * own out: the writer's membarrier (G5) runs one on the reader's CPU, at a moment between the writer's two steps. If the
 * announcement is before that moment, the writer sees it. If the look for the object is after it, the reader finds it
 * unreachable. There is no third case, since the announcement is before the look in program order; the compiler fence
 * keeps the compiler from swapping them. A process that cannot use membarrier fences here instead.
 */
static inline void pl_shazptr_announced(void)
{
	pl_compiler_fence();
	if (PL_UNLIKELY(pl_load_rlx(&pl_release_needs_fence)))
		pl_fence(); /* G3: full fence, pairs with P3 */
}

static inline uint64_t pl_shazptr_acquire_inline(pl_thread *self, uint64_t name)
{
	uint64_t guard = PL_HAZARD_IDLE; /* what the slot goes back to; a constant, so that nothing depends on the load */
	if (PL_LIKELY(pl_load64_rlx(&self->hazard) == PL_HAZARD_IDLE))
		pl_store64_rel(&self->hazard, name); /* G1: release, the end of the guard before (G2) stays before it; pairs with G4 */
	else
		guard = pl_shazptr_acquire_slow(self, name);
	pl_shazptr_announced();
	return guard;
}

static inline int pl_shazptr_clear_inline(pl_thread *self, uint64_t guard)
{
	if (PL_LIKELY(guard == PL_HAZARD_IDLE))
		pl_store64_rel(&self->hazard, PL_HAZARD_IDLE); /* G2: release, everything read inside the guard; pairs with G4 */
	else
		pl_shazptr_clear_slow(self, guard);
	return 0;
}

/* The same with a full fence always: for measurements, and for comparing. */
static inline uint64_t pl_shazptr_acquire_fenced_inline(pl_thread *self, uint64_t name)
{
	uint64_t guard = PL_HAZARD_IDLE;
	if (PL_LIKELY(pl_load64_rlx(&self->hazard) == PL_HAZARD_IDLE))
		pl_store64_rel(&self->hazard, name); /* G1 */
	else
		guard = pl_shazptr_acquire_slow(self, name);
	pl_fence(); /* G3 */
	return guard;
}

static inline int pl_shazptr_try_protect_inline(pl_thread *self, void *const *source, void **object, uint64_t *guard)
{
	void *seen = __atomic_load_n(source, __ATOMIC_RELAXED);
	*object = NULL;
	*guard = PL_NO_GUARD;
	if (PL_UNLIKELY(!seen))
		return -ENOENT;
	*guard = pl_shazptr_acquire_inline(self, (uintptr_t)seen);
	if (PL_UNLIKELY(__atomic_load_n(source, __ATOMIC_ACQUIRE) != seen)) { /* G6: acquire, behind G1; pairs with G5 and with the user's release of the pointer */
		pl_shazptr_clear_inline(self, *guard);
		*guard = PL_NO_GUARD;
		return -EAGAIN;
	}
	*object = seen;
	return 0;
}

PL_EXTERN_C_END

/* C callers get the inline forms under the plain names; define PL_NO_INLINE to call the library instead, and
 * PANALOCK_CHECKS to have the order of guards checked. */
#if !defined(PL_NO_INLINE) && !defined(PANALOCK_CHECKS)
#define pl_shazptr_acquire     pl_shazptr_acquire_inline
#define pl_shazptr_clear       pl_shazptr_clear_inline
#define pl_shazptr_try_protect pl_shazptr_try_protect_inline
#endif

#endif
