/* SPDX-License-Identifier: Apache-2.0 */
/* arm64: how to wait for a word without sleeping. */
#ifndef PL_ARCH_AARCH64_H
#define PL_ARCH_AARCH64_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>

#define PL_CPU_RELAX_NAME "isb"

/* `yield` is a no-op on most cores; `isb` stalls for tens of cycles, about what `pause` does on x86. */
static inline void pl_cpu_relax(void) { __asm__ volatile("isb" ::: "memory"); }

/* WFE ends without a store to the word only when the kernel's event stream (100 us or less) is on. */
#define PL_HWCAP_EVTSTRM (1ul << 2)
static inline bool pl_cpu_has_event_stream(void) { return (getauxval(AT_HWCAP) & PL_HWCAP_EVTSTRM) != 0; }

/*
 * Wait until the word differs from @value, or about @relaxes relax instructions. Relaxed. The exclusive load arms the
 * monitor, so that a store by another core ends the WFE; a WFE counts as 1000 relaxes (the event stream's period), and
 * is used only for budgets that are longer than that.
 */
static inline uint32_t pl_cpu_wait_change(const uint32_t *word, uint32_t value, uint32_t relaxes)
{
	enum { wfe_costs = 1000 };
	uint32_t seen;
	while ((seen = __atomic_load_n(word, __ATOMIC_RELAXED)) == value && relaxes) {
		if (relaxes <= wfe_costs || !pl_cpu_has_event_stream()) {
			relaxes--;
			pl_cpu_relax();
			continue;
		}
		relaxes -= wfe_costs;
		__asm__ volatile("sevl\n\twfe\n\tldxr %w0, %1\n\tcmp %w0, %w2\n\tb.ne 1f\n\twfe\n1:"
				 : "=&r"(seen)
				 : "Q"(*word), "r"(value)
				 : "cc", "memory");
	}
	return seen;
}

#endif
