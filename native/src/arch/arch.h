/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU in one include: pl_cpu_relax(), pl_cpu_wait_change(), PL_CPU_RELAX_NAME. Nothing else knows the CPU. */
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
