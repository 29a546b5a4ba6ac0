/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of every lock and kind under up to 52 producers, 300,000 records each time. Argument: per cent of that. */
#include "ring_traffic.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

enum { whole = 300000, stuck_s = 1800 };

int main(int argc, char **argv)
{
	static const uint32_t locks[] = {PL_RING_LOCK_QSPIN, PL_RING_LOCK_RQSPIN, PL_RING_LOCK_MUTEX, PL_RING_LOCK_OSQ};
	static const uint32_t kinds[] = {0, PL_RING_PADDED, PL_RING_OVERWRITE, PL_RING_OVERWRITE | PL_RING_PADDED};
	static const int producers[] = {1, 2, 7, 52};
	static const uint64_t bytes[] = {4096, 16384, 524288};
	uint64_t percent = argc > 1 ? strtoull(argv[1], NULL, 10) : 100, rings = 0;
	watchdog("ring buffer soak", stuck_s);
	for (size_t l = 0; l < sizeof locks / sizeof *locks; l++)
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
			for (size_t n = 0; n < sizeof producers / sizeof *producers; n++)
				for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++, rings++)
					ring_traffic(producers[n], kinds[k], locks[l], bytes[b], whole * percent / 100);
	printf("ring buffer soak: passed, %llu rings\n", (unsigned long long)rings);
	return 0;
}
