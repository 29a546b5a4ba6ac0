/* SPDX-License-Identifier: Apache-2.0 */
/* The clock and the calibrated work. */
#ifndef PLB_WORK_H
#define PLB_WORK_H

#include "bench.h"
#include <time.h>

static inline uint64_t plb_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One multiplication and one addition, each step waiting for the one before (Knuth's MMIX generator). */
static inline uint64_t plb_steps(uint64_t x, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x)); /* no closed form, no vectors */
	}
	return x;
}

/* Steps that take about @ns; needs plb_calibrate() once. */
uint64_t plb_steps_for(uint64_t ns);

#endif
