/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear latency buckets, after Tene's HdrHistogram. */
#include "bench.h"

uint32_t plb_bucket_of(uint64_t ns)
{
	if (ns < 2 * PLB_SUB)
		return (uint32_t)ns;
	uint32_t top = 63u - (uint32_t)__builtin_clzll(ns); /* at least PLB_SUB_BITS + 1 */
	if (top >= PLB_TOP)
		return PLB_BUCKETS - 1;
	uint32_t shift = top - PLB_SUB_BITS;
	return shift * PLB_SUB + (uint32_t)(ns >> shift);
}

uint64_t plb_bucket_floor(uint32_t bucket)
{
	if (bucket < 2 * PLB_SUB)
		return bucket;
	if (bucket >= PLB_BUCKETS)
		bucket = PLB_BUCKETS - 1;
	uint32_t shift = bucket / PLB_SUB - 1;
	return (uint64_t)(bucket - shift * PLB_SUB) << shift;
}
