/* SPDX-License-Identifier: Apache-2.0 */
/* 10^8 guarded reads of memory that is replaced, poisoned and freed meanwhile. Argument: per cent of that. */
#include "hazard_hammer.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { whole = 100000000, campaigns = 5, stuck_s = 1800 };

int main(int argc, char **argv)
{
	uint64_t percent = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, reads = percent * (whole / 100) / campaigns;
	static const int readers[campaigns] = {1, 2, 3, 8, 16}, writers[campaigns] = {1, 1, 2, 2, 4};
	for (int i = 0; i < campaigns; i++) {
		watchdog("shazptr soak", stuck_s);
		uint64_t begin = now_ns();
		hazard_hammer(reads, readers[i], writers[i]);
		printf("%2d readers, %d writers: %llu guarded reads in %.1f s\n", readers[i], writers[i], (unsigned long long)reads,
		       (double)(now_ns() - begin) / 1e9);
		fflush(stdout);
	}
	puts("shazptr soak: passed");
	return 0;
}
