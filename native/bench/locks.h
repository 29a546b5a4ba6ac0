/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that are compared, one line each: X(name, flags, type, initialiser, lock, unlock). Whoever includes this
 * defines X and gets a specialised loop per lock. In the expressions `self` is the thread's slot, `l` the lock.
 *
 * "inline" is what a C program gets from the header, "exported" the same through the shared library.
 */
#ifndef PLB_LOCKS_H
#define PLB_LOCKS_H

#define PL_NO_INLINE /* plain names are the exported functions here, *_inline the others */
#include <panalock.h>
#include <pthread.h>

#include "bench.h"

/* What no lock can do without: one compare-and-swap, one store. Not for several threads. */
typedef struct plb_bare {
	uint32_t word;
} plb_bare;

#define PLB_SPIN_LOCK(try, wait) ((void)((try) || (wait)))

#define PLB_OURS (PLB_CONTENDED_OK | PLB_PANALOCK)

#define PLB_LOCKS(X)                                                                                                \
	X(word, PLB_OURS, pl_qspinlock, PL_QSPINLOCK_INIT, pl_qspin_lock_inline(self, l),                           \
	  pl_qspin_unlock_inline(self, l))                                                                          \
	X(byte, PLB_OURS, pl_qspinlock_byte, PL_QSPINLOCK_BYTE_INIT, pl_qspin_byte_lock_inline(self, l),            \
	  pl_qspin_byte_unlock_inline(self, l))                                                                     \
	X(wide, PLB_OURS, pl_qspinlock_wide, PL_QSPINLOCK_WIDE_INIT, pl_qspin_wide_lock_inline(self, l),            \
	  pl_qspin_wide_unlock_inline(self, l))                                                                     \
	X(word_exported, PLB_OURS, pl_qspinlock, PL_QSPINLOCK_INIT, pl_qspin_lock(self, l), pl_qspin_unlock(self, l)) \
	X(byte_exported, PLB_OURS, pl_qspinlock_byte, PL_QSPINLOCK_BYTE_INIT, pl_qspin_byte_lock(self, l),          \
	  pl_qspin_byte_unlock(self, l))                                                                            \
	X(wide_exported, PLB_OURS, pl_qspinlock_wide, PL_QSPINLOCK_WIDE_INIT, pl_qspin_wide_lock(self, l),          \
	  pl_qspin_wide_unlock(self, l))                                                                            \
	X(word_spin, PLB_OURS, pl_qspinlock, PL_QSPINLOCK_INIT,                                                     \
	  PLB_SPIN_LOCK(pl_qspin_trylock_inline(l), pl_qspin_lock_wait(self, l, PL_WAIT_SPIN, PL_FOREVER)),         \
	  pl_qspin_unlock_inline(self, l))                                                                          \
	X(byte_spin, PLB_OURS, pl_qspinlock_byte, PL_QSPINLOCK_BYTE_INIT,                                           \
	  PLB_SPIN_LOCK(pl_qspin_byte_trylock_inline(l), pl_qspin_byte_lock_wait(self, l, PL_WAIT_SPIN, PL_FOREVER)), \
	  pl_qspin_byte_unlock_inline(self, l))                                                                     \
	X(wide_spin, PLB_OURS, pl_qspinlock_wide, PL_QSPINLOCK_WIDE_INIT,                                           \
	  PLB_SPIN_LOCK(pl_qspin_wide_trylock_inline(l), pl_qspin_wide_lock_wait(self, l, PL_WAIT_SPIN, PL_FOREVER)), \
	  pl_qspin_wide_unlock_inline(self, l))                                                                     \
	X(pthread_mutex, PLB_CONTENDED_OK, pthread_mutex_t, PTHREAD_MUTEX_INITIALIZER, pthread_mutex_lock(l),       \
	  pthread_mutex_unlock(l))                                                                                  \
	X(pthread_spin, PLB_CONTENDED_OK, pthread_spinlock_t, PLB_PTHREAD_SPIN_INIT, pthread_spin_lock(l),          \
	  pthread_spin_unlock(l))                                                                                   \
	X(bare, 0, plb_bare, { 0 }, (void)pl_cas_acq(&l->word, 0, 1), pl_store_rel(&l->word, 0))

#if defined(__x86_64__) || defined(__i386__)
#define PLB_PTHREAD_SPIN_INIT 1 /* glibc: 1 is free on x86, 0 elsewhere */
#else
#define PLB_PTHREAD_SPIN_INIT 0
#endif

enum {
#define X(name, flags, type, init, lock, unlock) plb_lock_##name,
	PLB_LOCKS(X)
#undef X
	plb_locks
};

#endif
