/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Domains: the memory in which Panalock's waiters meet. Every lock is used with one domain; all its users, in whatever
 * process or language, must name the same one. Most programs never mention it and use pl_domain_default().
 */
#ifndef PANALOCK_DOMAIN_H
#define PANALOCK_DOMAIN_H

#include <panalock/layout.h>

PL_EXTERN_C_BEGIN

/** How a domain is made; zero fields take their default. */
typedef struct pl_domain_options {
	uint32_t slots;      /**< Thread slots, PL_MIN_SLOTS..PL_MAX_SLOTS; default 1024. */
	uint32_t pool_locks; /**< Lock words in the pool, up to PL_MAX_POOL; default 1024. */
	uint32_t flags;      /**< PL_DOMAIN_CHECKS or 0. */
} pl_domain_options;

#define PL_DEFAULT_SLOTS 1024
#define PL_DEFAULT_POOL  1024

/** Bytes that a domain with these options needs (null: the defaults), or 0 when an option is out of range. */
PL_API uint64_t pl_domain_size(const pl_domain_options *options);

/**
 * Creates a domain in private anonymous memory, for the threads of this process.
 * @return 0; -EINVAL (option out of range); -ENOMEM.
 */
PL_API int pl_domain_create(const pl_domain_options *options, pl_domain **out);

/**
 * Creates a domain in a file or memfd that other processes open by descriptor or path. The file is grown to size; what
 * it held is overwritten. The descriptor may be closed afterwards.
 * @return 0; -EINVAL; -EEXIST (the file already holds a domain); -ENOMEM; or what ftruncate and mmap say.
 */
PL_API int pl_domain_create_fd(int fd, const pl_domain_options *options, pl_domain **out);

/**
 * Opens a domain that another process created. Everything that the header claims is checked before it is used.
 * @return 0; -EBADMSG (no domain there, or a damaged one); -EPROTO (a foreign layout version); -EACCES (not writable);
 *         -EUSERS (PL_PROCESSES processes have it open); -EXDEV (made in another PID namespace, whose processes cannot be
 *         told from ours); or what fstat and mmap say.
 */
PL_API int pl_domain_open_fd(int fd, pl_domain **out);

/** pl_domain_create_fd() on a new file that only the owner can read and write; -EEXIST when the path exists. */
PL_API int pl_domain_create_path(const char *path, const pl_domain_options *options, pl_domain **out);

/** pl_domain_open_fd() on a path. */
PL_API int pl_domain_open_path(const char *path, pl_domain **out);

/**
 * Initialises or validates a domain in memory that the caller mapped (page aligned, writable, @p bytes long) and keeps
 * mapped until after pl_domain_close(): for languages that bring their own mapping. @p flags may hold PL_DOMAIN_SHARED.
 * @return as pl_domain_create_fd() and pl_domain_open_fd().
 */
PL_API int pl_domain_create_at(void *memory, uint64_t bytes, const pl_domain_options *options, uint32_t flags,
			       pl_domain **out);
PL_API int pl_domain_open_at(void *memory, uint64_t bytes, pl_domain **out);

/**
 * Marks the domain closed: pool words are poisoned, so that every later acquisition of a pool lock fails with
 * -ESHUTDOWN, waiters included. The memory stays mapped. Idempotent.
 */
PL_API int pl_domain_poison(pl_domain *domain);

/**
 * Ends this process's use of a domain and unmaps it, unless the caller mapped it (*_at). The caller guarantees that no
 * thread uses it or a lock with it; what was retired in it (pl_shazptr_retire()) is reclaimed first, which in a shared one
 * may wait for readers of other processes. A private domain is poisoned first; a shared one lives on in other processes.
 * @return 0; -EINVAL (null, the default domain, or not a domain that is open).
 */
PL_API int pl_domain_close(pl_domain *domain);

/**
 * The process's own private domain, made on first use; null only when memory is exhausted. It has as many slots as the
 * environment variable PANALOCK_SLOTS says, PL_DEFAULT_SLOTS without; PANALOCK_CHECKS=1 makes it a PL_DOMAIN_CHECKS one.
 */
PL_API pl_domain *pl_domain_default(void);

/**
 * How pl_domain_default() will make the default domain; goes before the environment. Zero fields leave things as they are.
 * @return 0; -EINVAL (option out of range); -EBUSY (it exists already and is different).
 */
PL_API int pl_domain_default_options(const pl_domain_options *options);

/**
 * Frees what ended threads and killed processes left behind: their slots, their places in lines. The library does so itself
 * when slots run out, when a pool word is given back, and now and then while threads sleep at wait queues. A lock that a
 * killed process held stays held, and a slot that was killed in the queue of PL_WAIT_SPIN stays taken. System calls for
 * each slot in use. @param interval_ns skip it if it was done in vain so short a time ago; 0: do it in any case.
 * @return how many slots were freed; -EINVAL.
 */
PL_API int pl_domain_recover(pl_domain *domain, int64_t interval_ns);

/**
 * Takes a lock word from the domain's pool: 8 bytes, zero (unlocked in every layout), alone on its cache line.
 * @return 0; -ENOSPC (every word is taken); -ESHUTDOWN (closed domain); -EINVAL.
 */
PL_API int pl_domain_pool_take(pl_domain *domain, void **word);

/**
 * Which word of the pool this is, the same number in every process that has the domain open. Any address of the word will do.
 * @return the index; -EINVAL (not in this pool).
 */
PL_API int pl_domain_pool_index(pl_domain *domain, const void *word);

/**
 * The word with that index, for a process to which another has told it; the taker keeps it. Nothing is taken.
 * @return 0; -ENOENT (nobody has taken it); -EINVAL (no such index).
 */
PL_API int pl_domain_pool_at(pl_domain *domain, uint32_t index, void **word);

/**
 * Gives a pool word back. Nobody may use it any more: who tries to lock it, in whatever process, is refused with -ESHUTDOWN,
 * at least until it is taken again, which all other free words are before. A word that is given back twice may be somebody
 * else's by then. Release. Never waits.
 * @return 0; -EBUSY (still locked or waited for); -EINVAL (not a taken word of this pool).
 */
PL_API int pl_domain_pool_give(pl_domain *domain, void *word);

/**
 * Tells a shared domain about memory outside of it that processes share and where they keep locks: @p base is where
 * this process mapped it, @p region a number (1..PL_MAX_REGION) that all processes use for the same memory. A lock of a
 * shared domain in memory that was not attached works between the threads of one process only. Not for private domains.
 * @return 0; -EINVAL; -EEXIST (overlaps another attachment of this process); -ENOSPC (PL_REGIONS attached).
 */
PL_API int pl_domain_attach(pl_domain *domain, void *base, uint64_t bytes, uint32_t region);

/** Undoes pl_domain_attach(); no lock in the region is in use by this process. @return 0; -ENOENT; -EINVAL. */
PL_API int pl_domain_detach(pl_domain *domain, void *base);

PL_EXTERN_C_END

#endif
