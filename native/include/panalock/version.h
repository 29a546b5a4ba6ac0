/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which Panalock this is. The number is the one in pom.xml; a Java test fails when the two differ.
 */
#ifndef PANALOCK_VERSION_H
#define PANALOCK_VERSION_H

#include <panalock/base.h>

/** Version of the headers that a program was compiled with. */
#define PL_VERSION_STRING "0.1.0"

PL_EXTERN_C_BEGIN

/** Version of the library that a program runs with, a constant zero-terminated string. Cost: call. */
PL_API const char *pl_version(void);

PL_EXTERN_C_END

#endif
