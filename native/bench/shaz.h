/* SPDX-License-Identifier: Apache-2.0 */
/** @file Hazard pointers and those who they are measured against: read sections and grace periods. */
#ifndef PANALOCK_BENCH_SHAZ_H
#define PANALOCK_BENCH_SHAZ_H

#include "bench.h"

/** plb_grace.flags */
#define PLB_WILDCARD 1       /**< shazptr: readers nest, so that they show wildcards. */
#define PLB_SKIP_SELF_SCAN 2 /**< shazptr: the writer leaves the looking to the scan thread. */

/** Ways of reading and waiting, by index: a short name; null from the first index beyond the last. */
PLB_API const char *plb_reader_name(uint32_t way);

/** 1 if this machine has it (liburcu is looked for when this library is loaded). */
PLB_API int plb_reader_present(uint32_t way);

/**
 * @p sections empty read sections on the calling thread: nanoseconds.
 * @return 0; -EINVAL; -ENOSYS (not there); -ENOSPC (no thread slot).
 */
PLB_API int plb_sections(uint32_t way, uint64_t sections, uint64_t *elapsed_ns);

/** The same on @p threads threads at once for @p window_ns: nanoseconds a section, averaged over the threads. */
PLB_API int plb_sections_on(uint32_t way, uint32_t threads, uint64_t window_ns, double *ns);

/** What a writer waits for. */
typedef struct plb_grace {
	uint32_t way;
	uint32_t readers;  /**< Threads that read something else all the time. */
	uint32_t flags;
	uint32_t idle;     /**< Slots more that have once protected something (shazptr). */
	uint64_t hold_ns;  /**< Length of a read section; 0: empty. */
	uint64_t window_ns;
} plb_grace;

/**
 * One writer waits for readers, one time after another: @p samples get the nanoseconds of each wait, at most @p room.
 * @return 0 and the number in @p count; -EINVAL; -ENOSYS; -ENOSPC (no thread slot); -EAGAIN (threads could not be created).
 */
PLB_API int plb_grace_periods(const plb_grace *grace, uint64_t *samples, uint32_t room, uint32_t *count);

/**
 * A table of keys that readers look up all the time: @p keys are registered, and then unregistered one after the other, each
 * waiting for its readers before its memory is poisoned. Nanoseconds of the unregistering.
 */
PLB_API int plb_unregister(uint32_t way, uint32_t readers, uint32_t keys, uint64_t *elapsed_ns);

#endif
