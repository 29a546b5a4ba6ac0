/* SPDX-License-Identifier: Apache-2.0 */
/* Parking: which bucket a lock's sleepers stand in. */
#ifndef PL_SRC_PARK_H
#define PL_SRC_PARK_H

#include "domain.h"

static inline uint32_t pl_bucket_of(uint64_t key)
{
	/* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product depend on every bit of the key. */
	return (uint32_t)((key & ~3ull) * 0x9e3779b97f4a7c15ull >> 56) % PL_BUCKETS; /* whatever the layout */
}

static inline pl_waitq *pl_line_of(pl_domain *domain, uint64_t key)
{
	pl_bucket *buckets = (pl_bucket *)(void *)((char *)domain + domain->buckets_offset);
	return &buckets[pl_bucket_of(key)].line;
}

#endif
