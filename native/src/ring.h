/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the ring buffer share. */
#ifndef PL_SRC_RING_H
#define PL_SRC_RING_H

#include <panalock/ringbuf.h>

/* pl_ring_record.owner: which process, and who that was; never 0. */
#define PL_RING_OWNER_SHIFT 26
static inline uint32_t pl_ring_owner_code(uint32_t process, uint32_t pid, uint64_t incarnation)
{
	uint64_t hash = (incarnation ^ (uint64_t)pid << 40) * 0x9e3779b97f4a7c15ull;
	uint32_t tag = (uint32_t)(hash >> (64 - PL_RING_OWNER_SHIFT));
	return process << PL_RING_OWNER_SHIFT | (tag ? tag : 1);
}

#endif
