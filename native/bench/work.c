/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

static double step_ns;

/* In portions of about 150 ns, so that entering and leaving the loop costs what it costs where the work is used. */
double plb_calibrate(void)
{
	enum { windows = 400, portions = 100, steps = 128 };
	double best = 1e9;
	uint64_t x = 1;
	for (int w = 0; w < windows; w++) {
		uint64_t from = plb_now();
		for (int p = 0; p < portions; p++)
			x = plb_steps(x, steps);
		double each = (double)(plb_now() - from) / (portions * steps);
		if (each < best)
			best = each;
	}
	__asm__ volatile("" ::"r"(x));
	step_ns = best;
	return best;
}

uint64_t plb_steps_for(uint64_t ns)
{
	if (ns && !(step_ns > 0))
		plb_calibrate();
	return ns ? (uint64_t)((double)ns / step_ns + 0.5) : 0;
}

uint64_t plb_work(uint64_t seed, uint64_t steps) { return plb_steps(seed, steps); }
