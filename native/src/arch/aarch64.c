/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arm64. WFE stops the core until an event. An exclusive load arms the monitor on its granule, and a store of another core
 * to it is such an event; a plain load arms nothing. The exclusive load is also the look at the word, so that no store
 * between the look and the WFE is missed: it clears the monitor, and the WFE falls through. SEVL and a first WFE before it
 * make sure that an old event does not end the wait.
 *
 * A store that never comes must not keep us: WFET ends at a given value of the counter, and the kernel's event stream
 * ends every WFE within 100 us. Without either we poll.
 */
#include "arch.h"

#if defined(__aarch64__)

#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

/* Bits of the kernel's hwcaps (its documented ABI); older C libraries do not name them all. */
enum { hwcap_evtstrm = 1 << 2, hwcap_sb = 1 << 29 };
static const unsigned long hwcap2_wfxt = 1ul << 31;

enum {
	wfe_worth_ns = 10000, /* shorter waits are polled: a WFE may last 100 us, until the event stream's next event */
	ns_per_s = 1000000000
};

static const char *const names[] = {
	[PL_CPU_YIELD] = "yield", [PL_CPU_ISB] = "isb", [PL_CPU_SB] = "sb", [PL_CPU_WFE] = "wfe", [PL_CPU_WFET] = "wfet",
};

uint32_t pl_cpu_wait = PL_CPU_ISB, pl_cpu_pause = PL_CPU_ISB;

const char *pl_cpu_wait_name(void) { return names[pl_cpu_wait]; }
const char *pl_cpu_relax_name(void) { return names[pl_cpu_pause]; }

/* `yield` does nothing on most cores; `isb` and, where there is one, the cheaper `sb` stall for tens of cycles, about what
 * `pause` does on x86. */
void pl_cpu_init(const char *forced)
{
	unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
	pl_cpu_pause = hwcap & hwcap_sb ? PL_CPU_SB : PL_CPU_ISB;
	pl_cpu_wait = hwcap2 & hwcap2_wfxt ? PL_CPU_WFET : hwcap & hwcap_evtstrm ? PL_CPU_WFE : pl_cpu_pause;
	for (uint32_t m = 0; forced && m < sizeof names / sizeof *names; m++) {
		if (strcmp(forced, names[m]) != 0)
			continue;
		pl_cpu_wait = m;
		if (m < PL_CPU_WFE)
			pl_cpu_pause = m;
	}
}

#if !defined(__GLIBC__)
/* libgcc's outline atomics ask the C library by this name, which musl's shared library keeps to itself. */
unsigned long __getauxval(unsigned long type);
unsigned long __getauxval(unsigned long type) { return getauxval(type); }
#endif

static inline uint64_t counter(void)
{
	uint64_t now;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now)::"memory");
	return now;
}

static inline uint64_t ticks(uint64_t ns)
{
	uint64_t per_s;
	__asm__("mrs %0, cntfrq_el0" : "=r"(per_s));
	return ns * per_s / ns_per_s;
}

static inline uint32_t look(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

/* Both: until the word differs from @value, or some other event. */
static inline void wait_event(const uint32_t *word, uint32_t value)
{
	uint32_t seen;
	__asm__ volatile("sevl\n\t"
			 "wfe\n\t"
			 "ldxr %w0, %1\n\t"
			 "cmp %w0, %w2\n\t"
			 "b.ne 1f\n\t"
			 "wfe\n"
			 "1:"
			 : "=&r"(seen)
			 : "Q"(*word), "r"(value)
			 : "cc", "memory");
}

static inline void wait_event_until(const uint32_t *word, uint32_t value, uint64_t until)
{
	register uint64_t x9 __asm__("x9") = until;
	uint32_t seen;
	__asm__ volatile("sevl\n\t"
			 "wfe\n\t"
			 "ldxr %w0, %1\n\t"
			 "cmp %w0, %w2\n\t"
			 "b.ne 1f\n\t"
			 ".inst 0xd5031009 /* wfet x9 */\n"
			 "1:"
			 : "=&r"(seen)
			 : "Q"(*word), "r"(value), "r"(x9)
			 : "cc", "memory");
}

/* The clock is read at every turn, so that the wait ends in time whatever a turn takes. */
uint32_t pl_cpu_wait_change(const uint32_t *word, uint32_t value, uint32_t ns, uint32_t relaxes_per_100ns)
{
	(void)relaxes_per_100ns;
	uint32_t seen = look(word);
	if (seen != value)
		return seen;
	uint64_t now = counter(), until = now + ticks(ns), worth = ticks(wfe_worth_ns);
	do {
		if (pl_cpu_wait == PL_CPU_WFET)
			wait_event_until(word, value, until);
		else if (pl_cpu_wait == PL_CPU_WFE && until - now >= worth)
			wait_event(word, value);
		else
			pl_cpu_relax();
		seen = look(word);
		now = counter();
	} while (seen == value && now < until);
	return seen;
}

#endif
