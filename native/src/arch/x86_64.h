/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: how to wait for a word without sleeping. */
#ifndef PL_ARCH_X86_64_H
#define PL_ARCH_X86_64_H

#include <stdint.h>

#define PL_CPU_RELAX_NAME "pause"

static inline void pl_cpu_relax(void) { __builtin_ia32_pause(); }

/* Pause for about @relaxes relax instructions or until the word differs from @value, whichever comes first. Relaxed. */
static inline uint32_t pl_cpu_wait_change(const uint32_t *word, uint32_t value, uint32_t relaxes)
{
	uint32_t seen;
	while ((seen = __atomic_load_n(word, __ATOMIC_RELAXED)) == value && relaxes--)
		pl_cpu_relax();
	return seen;
}

#endif
