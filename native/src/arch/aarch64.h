/* SPDX-License-Identifier: Apache-2.0 */
/* arm64: how to wait for a word without sleeping. The reasons are in aarch64.c and docs/arm64.md. */
#ifndef PL_ARCH_AARCH64_H
#define PL_ARCH_AARCH64_H

#include <stdint.h>

/* In this order: each method can do what those before it do. */
enum { PL_CPU_YIELD, PL_CPU_ISB, PL_CPU_SB, PL_CPU_WFE, PL_CPU_WFET };

/* Chosen once, by pl_cpu_init(). */
extern uint32_t pl_cpu_wait __attribute__((visibility("hidden")));  /* any of them */
extern uint32_t pl_cpu_pause __attribute__((visibility("hidden"))); /* one of the first three */

void pl_cpu_init(const char *forced);
const char *pl_cpu_wait_name(void);
const char *pl_cpu_relax_name(void);

static inline void pl_cpu_relax(void)
{
	switch (pl_cpu_pause) {
	case PL_CPU_ISB:
		__asm__ volatile("isb" ::: "memory");
		break;
	case PL_CPU_SB:
		__asm__ volatile(".inst 0xd50330ff /* sb */" ::: "memory");
		break;
	default:
		__asm__ volatile("yield" ::: "memory");
	}
}

uint32_t pl_cpu_wait_change(const uint32_t *word, uint32_t value, uint32_t ns, uint32_t relaxes_per_100ns);

#endif
