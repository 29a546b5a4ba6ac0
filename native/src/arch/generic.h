/* SPDX-License-Identifier: Apache-2.0 */
/* Any other CPU: plain polling. */
#ifndef PL_ARCH_GENERIC_H
#define PL_ARCH_GENERIC_H

#include <stdint.h>

#define PL_CPU_RELAX_NAME "none"

static inline void pl_cpu_relax(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

static inline uint32_t pl_cpu_wait_change(const uint32_t *word, uint32_t value, uint32_t relaxes)
{
	uint32_t seen;
	while ((seen = __atomic_load_n(word, __ATOMIC_RELAXED)) == value && relaxes--)
		pl_cpu_relax();
	return seen;
}

#endif
