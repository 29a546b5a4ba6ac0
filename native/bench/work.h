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

/*
 * A shift, an exclusive or and a multiplication, each step waiting for the one before. Shift and multiplication do not
 * commute, so no compiler, Java's included, can fold several steps into one.
 */
static inline uint64_t plb_steps(uint64_t x, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++) {
		x = (x ^ x >> 32) * 0x9fb21c651e98df25u + 1;
		__asm__ volatile("" : "+r"(x)); /* no vectors */
	}
	return x;
}

/* What a spinning thread does between two looks, so many times: as Thread.onSpinWait of the Java loops, and no work. */
static inline void plb_pauses(uint64_t pauses)
{
	for (uint64_t i = 0; i < pauses; i++) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#else
		__asm__ volatile("");
#endif
	}
}

/* Steps that take about @ns; needs plb_calibrate() once. */
uint64_t plb_steps_for(uint64_t ns);

#endif
