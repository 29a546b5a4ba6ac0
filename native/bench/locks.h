/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that are compared, one line each: X(name, flags, type, initialiser, lock, unlock). Whoever includes this
 * defines X and gets a specialised loop per lock. In the expressions `self` is the thread's slot, `l` the lock, `node`
 * room for a queue node. Includers define _GNU_SOURCE.
 *
 * "inline" is what a C program gets from the header, "exported" the same through the shared library.
 */
#ifndef PLB_LOCKS_H
#define PLB_LOCKS_H

#define PL_NO_INLINE /* plain names are the exported functions here, *_inline the others */
#include <errno.h>
#include <panalock.h>
#include <pthread.h>
/* Concurrency Kit, where its headers are; they come for one architecture at a time. */
#if __has_include(<ck_spinlock.h>) && __has_include(<ck_md.h>)
#include <ck_md.h>
#if defined(__x86_64__) == defined(CK_MD_TSO)
#include <ck_spinlock.h>
#define PLB_CK PLB_CONTENDED_OK
#endif
#endif

#include "bench.h"

/* What no lock can do without: one compare-and-swap, one store. Not for several threads. */
typedef struct plb_bare {
	uint32_t word;
} plb_bare;

#ifdef PLB_CK
typedef ck_spinlock_fas_t plb_ck_fas;
typedef ck_spinlock_ticket_t plb_ck_ticket;
typedef ck_spinlock_mcs_context_t *plb_ck_mcs;
typedef ck_spinlock_mcs_context_t plb_node;
#define PLB_CK_CALL(call) call
#define PLB_CK_MCS_INIT NULL
#else
typedef plb_bare plb_ck_fas, plb_ck_ticket, plb_ck_mcs, plb_node;
#define PLB_CK_MCS_INIT { 0 }
#define PLB_CK PLB_ABSENT
#define PLB_CK_CALL(call) (void)l
#endif
#ifdef __GLIBC__
#define PLB_ADAPTIVE PLB_CONTENDED_OK
#define PLB_ADAPTIVE_INIT PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#else
#define PLB_ADAPTIVE PLB_ABSENT
#define PLB_ADAPTIVE_INIT PTHREAD_MUTEX_INITIALIZER
#endif

/* A program that does not get its lock must not go on. */
#define PLB_TAKE(call)                                                                                              \
	do {                                                                                                        \
		if (call)                                                                                           \
			__builtin_trap();                                                                           \
	} while (0)

/* The same for a lock with a limit, under a load that may take longer. */
#define PLB_TAKE_AT_LAST(call)                                                                                      \
	do {                                                                                                        \
		int err;                                                                                            \
		while ((err = (call)) == -ETIMEDOUT)                                                                \
			;                                                                                           \
		if (err)                                                                                            \
			__builtin_trap();                                                                           \
	} while (0)

#define PLB_OURS (PLB_CONTENDED_OK | PLB_PANALOCK)

#define PLB_LOCKS(X)                                                                                                \
	X(word, PLB_OURS, pl_qspinlock, PL_QSPINLOCK_INIT, PLB_TAKE(pl_qspin_lock_inline(self, l)),                           \
	  pl_qspin_unlock_inline(self, l))                                                                          \
	X(word_self, PLB_OURS, pl_qspinlock, PL_QSPINLOCK_INIT, PLB_TAKE(pl_qspin_lock_inline(pl_self_inline(), l)),  \
	  pl_qspin_unlock_inline(pl_self_inline(), l))                                                              \
	X(byte, PLB_OURS, pl_qspinlock_byte, PL_QSPINLOCK_BYTE_INIT, PLB_TAKE(pl_qspin_byte_lock_inline(self, l)),            \
	  pl_qspin_byte_unlock_inline(self, l))                                                                     \
	X(wide, PLB_OURS, pl_qspinlock_wide, PL_QSPINLOCK_WIDE_INIT, PLB_TAKE(pl_qspin_wide_lock_inline(self, l)),            \
	  pl_qspin_wide_unlock_inline(self, l))                                                                     \
	X(word_exported, PLB_OURS, pl_qspinlock, PL_QSPINLOCK_INIT, PLB_TAKE(pl_qspin_lock(self, l)), pl_qspin_unlock(self, l)) \
	X(byte_exported, PLB_OURS, pl_qspinlock_byte, PL_QSPINLOCK_BYTE_INIT, PLB_TAKE(pl_qspin_byte_lock(self, l)),          \
	  pl_qspin_byte_unlock(self, l))                                                                            \
	X(wide_exported, PLB_OURS, pl_qspinlock_wide, PL_QSPINLOCK_WIDE_INIT, PLB_TAKE(pl_qspin_wide_lock(self, l)),          \
	  pl_qspin_wide_unlock(self, l))                                                                            \
	X(word_spin, PLB_OURS, pl_qspinlock, PL_QSPINLOCK_INIT,                                                     \
	  PLB_TAKE(pl_qspin_lock_wait_inline(self, l, PL_WAIT_SPIN, PL_FOREVER)),         \
	  pl_qspin_unlock_inline(self, l))                                                                          \
	X(byte_spin, PLB_OURS, pl_qspinlock_byte, PL_QSPINLOCK_BYTE_INIT,                                           \
	  PLB_TAKE(pl_qspin_byte_lock_wait_inline(self, l, PL_WAIT_SPIN, PL_FOREVER)), \
	  pl_qspin_byte_unlock_inline(self, l))                                                                     \
	X(wide_spin, PLB_OURS, pl_qspinlock_wide, PL_QSPINLOCK_WIDE_INIT,                                           \
	  PLB_TAKE(pl_qspin_wide_lock_wait_inline(self, l, PL_WAIT_SPIN, PL_FOREVER)), \
	  pl_qspin_wide_unlock_inline(self, l))                                                                     \
	X(osq_mutex, PLB_OURS, pl_mutex, PL_MUTEX_INIT, PLB_TAKE(pl_mutex_lock_inline(self, l)), pl_mutex_unlock_inline(self, l)) \
	X(osq_mutex_poll, PLB_OURS, pl_mutex, PL_MUTEX_INIT,                                                        \
	  PLB_TAKE(!pl_mutex_trylock_inline(self, l) && pl_mutex_lock_wait(self, l, PL_WAIT_POLL, PL_FOREVER)),     \
	  pl_mutex_unlock_inline(self, l))                                                                          \
	X(osq_mutex_block, PLB_OURS, pl_mutex, PL_MUTEX_INIT,                                                       \
	  PLB_TAKE(!pl_mutex_trylock_inline(self, l) && pl_mutex_lock_wait(self, l, PL_WAIT_BLOCK, PL_FOREVER)),    \
	  pl_mutex_unlock_inline(self, l))                                                                          \
	X(rq_word, PLB_OURS, pl_rqspinlock, PL_RQSPINLOCK_INIT, PLB_TAKE_AT_LAST(pl_rqspin_lock_inline(self, l)),             \
	  pl_rqspin_unlock_inline(self, l))                                                                         \
	X(rq_wide, PLB_OURS, pl_rqspinlock_wide, PL_RQSPINLOCK_WIDE_INIT,                                       \
	  PLB_TAKE_AT_LAST(pl_rqspin_wide_lock_inline(self, l)),                                                    \
	  pl_rqspin_wide_unlock_inline(self, l))                                                                    \
	X(pthread_mutex, PLB_CONTENDED_OK, pthread_mutex_t, PTHREAD_MUTEX_INITIALIZER, pthread_mutex_lock(l),       \
	  pthread_mutex_unlock(l))                                                                                  \
	X(pthread_spin, PLB_CONTENDED_OK, pthread_spinlock_t, PLB_PTHREAD_SPIN_INIT, pthread_spin_lock(l),          \
	  pthread_spin_unlock(l))                                                                                   \
	X(pthread_adaptive, PLB_ADAPTIVE, pthread_mutex_t, PLB_ADAPTIVE_INIT, pthread_mutex_lock(l),                \
	  pthread_mutex_unlock(l))                                                                                  \
	X(ck_fas, PLB_CK, plb_ck_fas, { 0 }, PLB_CK_CALL(ck_spinlock_fas_lock(l)),                                  \
	  PLB_CK_CALL(ck_spinlock_fas_unlock(l)))                                                                   \
	X(ck_ticket, PLB_CK, plb_ck_ticket, { 0 }, PLB_CK_CALL(ck_spinlock_ticket_lock(l)),                         \
	  PLB_CK_CALL(ck_spinlock_ticket_unlock(l)))                                                                \
	X(ck_mcs, PLB_CK, plb_ck_mcs, PLB_CK_MCS_INIT, PLB_CK_CALL(ck_spinlock_mcs_lock(l, &node)),                           \
	  PLB_CK_CALL(ck_spinlock_mcs_unlock(l, &node)))                                                            \
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
