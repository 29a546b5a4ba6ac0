/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Striped lock table: a few locks that stand for any number of objects, one of them for each address or key.
 *
 * It has max(2, the next power of two ≥ the CPUs) stripes, each on a cache line of its own, so that as many threads as
 * there are CPUs rarely meet; a lock of any kind lies at the start of each stripe. Two keys may share a stripe: hold one
 * key's lock, or two by the `lock2` form, which takes them in address order, once if they are the same.
 *
 * PL_LOCK_TABLE(name, type, lock, unlock) makes the functions for one kind of lock; the ones for the library's own exist:
 *
 *     pl_lock_table *table;
 *     pl_table_init(memory, pl_table_size(0), 0, &table);
 *     pl_table_wide_lock2(pl_self(), table, from->id, to->id);
 *     …
 *     pl_table_wide_unlock2(pl_self(), table, from->id, to->id);
 *
 * Sources: striped locks are folklore; hashing by Fibonacci numbers after Knuth, TAOCP 3, 6.4. At least two stripes, since
 * a hash of no bits would shift by the whole width of the key, which C leaves undefined.
 */
#ifndef PANALOCK_LOCKTABLE_H
#define PANALOCK_LOCKTABLE_H

#include <errno.h>
#include <panalock/mutex.h>
#include <panalock/qspinlock.h>
#include <panalock/rqspinlock.h>

PL_EXTERN_C_BEGIN

#define PL_TABLE_MAGIC 0x4c424154 /**< "TABL" */
#define PL_TABLE_MIN_STRIPES 2
#define PL_TABLE_MAX_STRIPES 65536

/** The head of a table; its stripes, PL_CACHE_LINE bytes each, follow. */
typedef struct pl_lock_table {
	uint32_t magic;
	uint32_t log; /**< Binary logarithm of the number of stripes. */
	uint8_t pad[56];
} pl_lock_table;

/** Stripes for so many CPUs (0: those of this machine): max(2, next power of two), at most PL_TABLE_MAX_STRIPES. */
PL_API uint32_t pl_table_stripes(uint32_t cpus);

/** Bytes of memory that a table for so many CPUs (0: those of this machine) takes. */
PL_API uint64_t pl_table_size(uint32_t cpus);

/** Makes a table of unlocked locks in memory aligned to PL_CACHE_LINE. @return 0; -EINVAL. */
PL_API int pl_table_init(void *memory, uint64_t bytes, uint32_t cpus, pl_lock_table **out);

/** Takes memory that holds a table for one. @return 0; -EBADMSG (there is none); -EINVAL. */
PL_API int pl_table_at(void *memory, uint64_t bytes, pl_lock_table **out);

/** The number of the stripe that stands for a key. Inline. */
static inline uint32_t pl_table_index(const pl_lock_table *table, uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> (64 - table->log));
}

/** The start of the stripe that stands for a key: a lock of whatever kind the table's users agree on. Inline. */
static inline void *pl_table_of(pl_lock_table *table, uint64_t key)
{
	return (char *)(table + 1) + (size_t)pl_table_index(table, key) * PL_CACHE_LINE;
}

/*
 * name_lock(self, table, key) and name_unlock(); name_lock2(self, table, a, b) and name_unlock2(). What they return is what
 * the lock returns, or -EINVAL for a null table; a lock2 that fails holds nothing.
 */
#define PL_LOCK_TABLE(name, type, lock, unlock)                                                                           \
	static inline int name##_lock(pl_thread *self, pl_lock_table *table, uint64_t key)                                \
	{                                                                                                                 \
		if (!table)                                                                                               \
			return -EINVAL;                                                                                   \
		return lock(self, (type *)pl_table_of(table, key));                                                       \
	}                                                                                                                 \
	static inline int name##_unlock(pl_thread *self, pl_lock_table *table, uint64_t key)                              \
	{                                                                                                                 \
		if (!table)                                                                                               \
			return -EINVAL;                                                                                   \
		return unlock(self, (type *)pl_table_of(table, key));                                                     \
	}                                                                                                                 \
	static inline int name##_lock2(pl_thread *self, pl_lock_table *table, uint64_t a, uint64_t b)                     \
	{                                                                                                                 \
		if (!table)                                                                                               \
			return -EINVAL;                                                                                   \
		type *x = (type *)pl_table_of(table, a), *y = (type *)pl_table_of(table, b);                              \
		type *first = x < y ? x : y, *second = x < y ? y : x;                                                     \
		int err = lock(self, first);                                                                              \
		if (err || first == second)                                                                               \
			return err;                                                                                       \
		err = lock(self, second);                                                                                 \
		if (err)                                                                                                  \
			(void)unlock(self, first);                                                                        \
		return err;                                                                                               \
	}                                                                                                                 \
	static inline int name##_unlock2(pl_thread *self, pl_lock_table *table, uint64_t a, uint64_t b)                   \
	{                                                                                                                 \
		if (!table)                                                                                               \
			return -EINVAL;                                                                                   \
		type *x = (type *)pl_table_of(table, a), *y = (type *)pl_table_of(table, b);                              \
		int err = unlock(self, x);                                                                                \
		int err2 = x == y ? 0 : unlock(self, y);                                                                  \
		return err ? err : err2;                                                                                  \
	}

PL_LOCK_TABLE(pl_table_word, pl_qspinlock, pl_qspin_lock, pl_qspin_unlock)
PL_LOCK_TABLE(pl_table_byte, pl_qspinlock_byte, pl_qspin_byte_lock, pl_qspin_byte_unlock)
PL_LOCK_TABLE(pl_table_wide, pl_qspinlock_wide, pl_qspin_wide_lock, pl_qspin_wide_unlock)
PL_LOCK_TABLE(pl_table_mutex, pl_mutex, pl_mutex_lock, pl_mutex_unlock)

PL_LOCK_TABLE(pl_table_rqspin, pl_rqspinlock, pl_rqspin_lock, pl_rqspin_unlock)

PL_EXTERN_C_END

#endif
