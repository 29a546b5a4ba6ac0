/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64: how to wait for a word without sleeping. */
#ifndef PL_ARCH_X86_64_H
#define PL_ARCH_X86_64_H

#include <stdint.h>

static inline void pl_cpu_init(const char *forced) { (void)forced; }
static inline const char *pl_cpu_wait_name(void) { return "pause"; }
static inline const char *pl_cpu_relax_name(void) { return "pause"; }

static inline void pl_cpu_relax(void) { __builtin_ia32_pause(); }

/* Who watches may look at memory that has become something else: no race that matters, but TSan would report it. */
__attribute__((no_sanitize("thread"))) static inline uint32_t pl_cpu_wait_change(const uint32_t *word, uint32_t value, uint32_t ns, uint32_t relaxes_per_100ns)
{
	uint64_t relaxes = (uint64_t)ns * relaxes_per_100ns / 100 + 1;
	uint32_t seen;
	while ((seen = __atomic_load_n(word, __ATOMIC_RELAXED)) == value && relaxes--)
		pl_cpu_relax();
	return seen;
}

#endif
