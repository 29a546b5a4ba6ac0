/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about machine and library, and the targets for measuring calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <panalock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

int plb_membarrier(void)
{
	enum { query = 0 };
	long commands = syscall(SYS_membarrier, query, 0, 0);
	return commands < 0 ? -errno : (int)commands;
}

const char *plb_relax_name(void) { return pl_relax_method(); }

uint32_t plb_lock_bytes(uint32_t layout)
{
	switch (layout) {
	case PL_LAYOUT_WORD:
		return sizeof(pl_qspinlock);
	case PL_LAYOUT_BYTE:
		return sizeof(pl_qspinlock_byte);
	case PL_LAYOUT_WIDE:
		return sizeof(pl_qspinlock_wide);
	default:
		return 0;
	}
}

uint64_t plb_domain_bytes(uint32_t slots)
{
	pl_domain_options options = { .slots = slots };
	return pl_domain_size(&options);
}

void plb_blank(void) {}
int plb_int1(int a) { return a; }
int plb_int4(int a, int b, int c, int d) { return a + b + c + d; }
int plb_int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
	return a + b + c + d + e + f + g + h + i + j;
}
int plb_pointer(const int *p) { return *p; }
