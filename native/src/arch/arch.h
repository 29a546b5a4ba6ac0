/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU in one include; nothing else knows it.
 *
 *   pl_cpu_init(forced)     once, at load, before the others; @forced names a method of waiting, or is null
 *   pl_cpu_relax()          a short pause of a loop that looks at memory
 *   pl_cpu_wait_change(word, value, ns, relaxes_per_100ns)
 *                           waits until the word differs from @value or @ns nanoseconds have passed, whichever comes
 *                           first, even if nobody ever stores to the word; returns the word. Relaxed. At most 100 us
 *                           late. @relaxes_per_100ns: how many pl_cpu_relax() take 100 ns, for CPUs without a clock that
 *                           is worth reading.
 *   pl_cpu_wait_name(), pl_cpu_relax_name()
 *                           what the two use, for people
 */
#ifndef PL_ARCH_H
#define PL_ARCH_H

#if defined(__x86_64__)
#include "x86_64.h"
#elif defined(__aarch64__)
#include "aarch64.h"
#else
#include "generic.h"
#endif

#endif
