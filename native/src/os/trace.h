/* SPDX-License-Identifier: Apache-2.0 */
/* Backtraces, where the C library has them: glibc. Elsewhere a trace is the caller alone. */
#ifndef PL_OS_TRACE_H
#define PL_OS_TRACE_H

#include <stddef.h>

/* Loads what the first backtrace would load. */
void pl_os_trace_prepare(void);

/* Return addresses from @caller outwards, at most @room; how many. Null: from the caller of this function on. */
int pl_os_trace(void **frames, int room, const void *caller);

/* Where that is, for people. */
void pl_os_describe(void *frame, char *line, size_t bytes);

#endif
