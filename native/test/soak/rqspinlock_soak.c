/* SPDX-License-Identifier: Apache-2.0 */
/* 10,000 random programs of rqspinlocks against the oracle. Argument: per cent of that. */
#include "oracle.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { whole = 10000, stuck_s = 1800 };

int main(int argc, char **argv)
{
	uint64_t percent = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	watchdog("rqspinlock soak", stuck_s);
	oracle_run((uint32_t)(percent * whole / 100));
	puts("rqspinlock soak: passed");
	return 0;
}
