/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * lockdep: the lock-order validator. It learns which *class* of lock is acquired while which is held, and the first time that
 * an acquisition closes a circle of such orders it reports all of them, each with the two places where it was seen: whether or
 * not a deadlock happened. Also recursion, a second lock of one class, locks held by a thread that ends, and an unlock of what
 * is not held.
 *
 * The switch is the compiler's: with -DPANALOCK_LOCKDEP the names pl_qspin_lock() etc. stand for forms that tell the
 * validator (the end of this header). Without it nothing of this is compiled in, so it costs nothing. Compile all code that
 * uses a lock alike: a release that is not seen leaves the lock held for the validator. Locks of other kinds are watched by
 * calling pl_lockdep_acquiring(), pl_lockdep_acquired() and pl_lockdep_releasing() around theirs.
 *
 * Worked example:
 *
 *     static const pl_lock_class accounts = PL_LOCK_CLASS_INIT("accounts"), orders = PL_LOCK_CLASS_INIT("orders");
 *     pl_lockdep_set_class(&a, &accounts, 0);
 *     pl_lockdep_set_class(&b, &orders, 0);
 *
 * A lock that was given no class is one of its own. A class is known by its address, not by its name. One that lives as long
 * as the program needs no registration; one in memory that is freed is registered and, before the memory is freed,
 * unregistered: then the validator forgets it and all orders that it was part of.
 *
 * What may run at once: everything. A look-up of a class or lock never waits: it is a guard on the hash bucket (shazptr.h), and
 * pl_lockdep_unregister() and pl_lockdep_forget() wait for the look-ups in that bucket alone. What a signal handler does while
 * the code below it is inside the validator is not seen; elsewhere the validator allocates memory, so in handlers that
 * interrupt malloc() do not use watched locks.
 *
 * Limits: PL_LOCKDEP_CLASSES classes, PL_LOCKDEP_HELD locks of one thread (more are not seen). Orders that a third lock, held
 * around both, keeps apart are reported too. A condition's wait gives its mutex back and takes it again unseen. Java code's
 * acquisitions are Java's to watch (io.panalock.Lockdep).
 *
 * Sources: the kernel's documentation of its validator (lockdep-design), for the rules; the graph is a plain one.
 */
#ifndef PANALOCK_LOCKDEP_H
#define PANALOCK_LOCKDEP_H

#include <panalock/mutex.h>
#include <panalock/qspinlock.h>
#include <panalock/rqspinlock.h>

PL_EXTERN_C_BEGIN

/** Classes that can be known at once, nesting levels and locks without a class included. */
#define PL_LOCKDEP_CLASSES 4095
/** Locks that one thread can hold with the validator seeing it. */
#define PL_LOCKDEP_HELD 48
/** Nesting levels of a class, see pl_lockdep_set_class(). */
#define PL_LOCKDEP_LEVELS 8

/** What locks of one role have in common. Its address is what counts; the name is for reports. */
typedef struct pl_lock_class {
	const char *name; /**< Read when the class is registered. Null: the address is said instead. */
} pl_lock_class;

#define PL_LOCK_CLASS_INIT(name) { name }

/* Kinds of reports. Each new circle is reported, the others once for each class. */
#define PL_LOCKDEP_INVERSION    1 /**< Locks are acquired in a circle of orders. */
#define PL_LOCKDEP_RECURSION    2 /**< A thread acquires a lock that it holds. */
#define PL_LOCKDEP_SAME_CLASS   3 /**< A thread acquires a lock while it holds another of its class, at the same level. */
#define PL_LOCKDEP_HELD_AT_EXIT 4 /**< A thread ends and holds a lock. */
#define PL_LOCKDEP_NOT_HELD     5 /**< A thread releases a lock that it does not hold. */
#define PL_LOCKDEP_FULL         6 /**< There is no room for another class, or no memory: not everything is seen from now on. */

/** What was found. Valid during the call of the listener only. */
typedef struct pl_lockdep_report {
	uint32_t kind;          /**< PL_LOCKDEP_*. */
	uint32_t orders;        /**< INVERSION: how many orders form the circle. */
	const char *lock_class; /**< Name of the class of the lock that is being acquired or released. */
	const char *thread;     /**< Who does it. */
	const char *text;       /**< For people: what is wrong, all chains with their backtraces. Lines. */
} pl_lockdep_report;

/** Is called with each report, by the thread that is about to do what is reported. It may lock: unseen. */
typedef void (*pl_lockdep_listener)(const pl_lockdep_report *report, void *argument);

/** Where reports go; null: to standard error, as at first. Call. @return 0. */
PL_API int pl_lockdep_listen(pl_lockdep_listener listener, void *argument);

/** Makes a class known. Call. @return 0; -EEXIST; -ENOSPC (PL_LOCKDEP_CLASSES are); -ENOMEM; -EINVAL. */
PL_API int pl_lockdep_register(const pl_lock_class *lock_class);

/**
 * Forgets a class, its levels, and every order that they are part of. No lock of it is held or used any more; those that were
 * are of a class of their own from now on. Waits for the look-ups in the class's hash buckets, for nobody else. May block.
 * @return 0; -ENOENT (not registered); -EDEADLK (inside nested hazard guards of this thread: nothing was done); -EINVAL.
 */
PL_API int pl_lockdep_unregister(const pl_lock_class *lock_class);

/**
 * Says what class a lock is of, before it is used; registers the class if need be. @p level, 0 to PL_LOCKDEP_LEVELS - 1: locks
 * of one class at different levels may be held at once, in an order that the program knows (parent before child).
 * @return 0; -ENOSPC, -ENOMEM; -EINVAL.
 */
PL_API int pl_lockdep_set_class(const void *lock, const pl_lock_class *lock_class, uint32_t level);

/** Forgets the locks in memory that is about to be used for something else. May block, as pl_lockdep_unregister().
 * @return how many there were; -EDEADLK, -EINVAL as there. */
PL_API int pl_lockdep_forget(const void *memory, size_t bytes);

/** Before an acquisition that may wait without a limit. Call. @return 0; -EINVAL. */
PL_API int pl_lockdep_acquiring(const void *lock);

/** After an acquisition, also by a try or with a time limit: these end by themselves, so they add no order towards what they
 * take, while what is acquired later is ordered behind it. Call; a backtrace. @return 0; -EINVAL. */
PL_API int pl_lockdep_acquired(const void *lock);

/** Before a release. Call. @return 0; -EPERM (this thread does not hold it, which was reported); -EINVAL. */
PL_API int pl_lockdep_releasing(const void *lock);

#ifdef PANALOCK_LOCKDEP

static inline int pl_lockdep_result(int result, const void *lock)
{
	if (result == 0)
		pl_lockdep_acquired(lock);
	return result;
}

/* A wait with a time limit ends by itself. */
static inline void pl_lockdep_waiting(const void *lock, int64_t timeout_ns)
{
	if (timeout_ns < 0)
		pl_lockdep_acquiring(lock);
}

#define PL_LOCKDEP_FORMS(prefix, type)                                                                                    \
	PL_MUST_CHECK static inline int prefix##_lock_watched(pl_thread *self, type *lock)                                 \
	{                                                                                                                 \
		pl_lockdep_acquiring(lock);                                                                               \
		return pl_lockdep_result(prefix##_lock(self, lock), lock);                                                \
	}                                                                                                                 \
	PL_MUST_CHECK static inline int prefix##_trylock_watched(pl_thread *self, type *lock)                              \
	{                                                                                                                 \
		return pl_lockdep_result(prefix##_trylock(self, lock), lock);                                             \
	}                                                                                                                 \
	static inline int prefix##_unlock_watched(pl_thread *self, type *lock)                                            \
	{                                                                                                                 \
		pl_lockdep_releasing(lock);                                                                               \
		return prefix##_unlock(self, lock);                                                                       \
	}
#define PL_LOCKDEP_WAIT_FORM(prefix, type)                                                                                \
	PL_MUST_CHECK static inline int prefix##_lock_wait_watched(pl_thread *self, type *lock, uint32_t flags, int64_t timeout_ns) \
	{                                                                                                                 \
		pl_lockdep_waiting(lock, timeout_ns);                                                                     \
		return pl_lockdep_result(prefix##_lock_wait(self, lock, flags, timeout_ns), lock);                        \
	}
#define PL_LOCKDEP_RQ_WAIT_FORM(prefix, type)                                                                             \
	PL_MUST_CHECK static inline int prefix##_lock_wait_watched(pl_thread *self, type *lock, uint32_t flags, int64_t timeout_ns, \
								   pl_deadlock *report)                           \
	{                                                                                                                 \
		pl_lockdep_waiting(lock, timeout_ns);                                                                     \
		return pl_lockdep_result(prefix##_lock_wait(self, lock, flags, timeout_ns, report), lock);                \
	}

PL_LOCKDEP_FORMS(pl_qspin, pl_qspinlock)
PL_LOCKDEP_FORMS(pl_qspin_byte, pl_qspinlock_byte)
PL_LOCKDEP_FORMS(pl_qspin_wide, pl_qspinlock_wide)
PL_LOCKDEP_WAIT_FORM(pl_qspin, pl_qspinlock)
PL_LOCKDEP_WAIT_FORM(pl_qspin_byte, pl_qspinlock_byte)
PL_LOCKDEP_WAIT_FORM(pl_qspin_wide, pl_qspinlock_wide)
PL_LOCKDEP_FORMS(pl_rqspin, pl_rqspinlock)
PL_LOCKDEP_FORMS(pl_rqspin_byte, pl_rqspinlock_byte)
PL_LOCKDEP_FORMS(pl_rqspin_wide, pl_rqspinlock_wide)
PL_LOCKDEP_RQ_WAIT_FORM(pl_rqspin, pl_rqspinlock)
PL_LOCKDEP_RQ_WAIT_FORM(pl_rqspin_byte, pl_rqspinlock_byte)
PL_LOCKDEP_RQ_WAIT_FORM(pl_rqspin_wide, pl_rqspinlock_wide)
PL_LOCKDEP_FORMS(pl_mutex, pl_mutex)
PL_LOCKDEP_WAIT_FORM(pl_mutex, pl_mutex)

#undef pl_qspin_lock
#undef pl_qspin_byte_lock
#undef pl_qspin_wide_lock
#undef pl_qspin_lock_wait
#undef pl_qspin_byte_lock_wait
#undef pl_qspin_wide_lock_wait
#undef pl_qspin_trylock
#undef pl_qspin_byte_trylock
#undef pl_qspin_wide_trylock
#undef pl_qspin_unlock
#undef pl_qspin_byte_unlock
#undef pl_qspin_wide_unlock
#define pl_qspin_lock           pl_qspin_lock_watched
#define pl_qspin_byte_lock      pl_qspin_byte_lock_watched
#define pl_qspin_wide_lock      pl_qspin_wide_lock_watched
#define pl_qspin_lock_wait      pl_qspin_lock_wait_watched
#define pl_qspin_byte_lock_wait pl_qspin_byte_lock_wait_watched
#define pl_qspin_wide_lock_wait pl_qspin_wide_lock_wait_watched
#define pl_qspin_trylock        pl_qspin_trylock_watched
#define pl_qspin_byte_trylock   pl_qspin_byte_trylock_watched
#define pl_qspin_wide_trylock   pl_qspin_wide_trylock_watched
#define pl_qspin_unlock         pl_qspin_unlock_watched
#define pl_qspin_byte_unlock    pl_qspin_byte_unlock_watched
#define pl_qspin_wide_unlock    pl_qspin_wide_unlock_watched

#undef pl_rqspin_lock
#undef pl_rqspin_unlock
#undef pl_rqspin_byte_lock
#undef pl_rqspin_byte_unlock
#undef pl_rqspin_wide_lock
#undef pl_rqspin_wide_unlock
#define pl_rqspin_lock           pl_rqspin_lock_watched
#define pl_rqspin_lock_wait      pl_rqspin_lock_wait_watched
#define pl_rqspin_trylock        pl_rqspin_trylock_watched
#define pl_rqspin_unlock         pl_rqspin_unlock_watched
#define pl_rqspin_byte_lock      pl_rqspin_byte_lock_watched
#define pl_rqspin_byte_lock_wait pl_rqspin_byte_lock_wait_watched
#define pl_rqspin_byte_trylock   pl_rqspin_byte_trylock_watched
#define pl_rqspin_byte_unlock    pl_rqspin_byte_unlock_watched
#define pl_rqspin_wide_lock      pl_rqspin_wide_lock_watched
#define pl_rqspin_wide_lock_wait pl_rqspin_wide_lock_wait_watched
#define pl_rqspin_wide_trylock   pl_rqspin_wide_trylock_watched
#define pl_rqspin_wide_unlock    pl_rqspin_wide_unlock_watched
#undef pl_mutex_lock
#undef pl_mutex_unlock
#define pl_mutex_lock      pl_mutex_lock_watched
#define pl_mutex_lock_wait pl_mutex_lock_wait_watched
#define pl_mutex_trylock   pl_mutex_trylock_watched
#define pl_mutex_unlock    pl_mutex_unlock_watched

#endif /* PANALOCK_LOCKDEP */

PL_EXTERN_C_END

#endif
