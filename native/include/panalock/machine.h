/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the library found out about this machine when it was loaded; for reports and tests.
 */
#ifndef PANALOCK_MACHINE_H
#define PANALOCK_MACHINE_H

#include <panalock/base.h>

PL_EXTERN_C_BEGIN

/**
 * How a spinning thread waits for a word to change, a constant zero-terminated string: "pause" on x86-64; on arm64 "wfet",
 * "wfe", or the same as pl_relax_method(). The environment variable PANALOCK_ARM64_WAIT, read when the library is loaded,
 * forces one of wfet, wfe, sb, isb, yield on arm64, whether the CPU has it or not; other values are ignored. Cost: call.
 */
PL_API const char *pl_wait_method(void);

/** What it does between two looks, where it polls, likewise: "pause"; "sb", "isb" or "yield"; "none". Cost: call. */
PL_API const char *pl_relax_method(void);

PL_EXTERN_C_END

#endif
