/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Weak: another C library does not have them. */
__attribute__((weak)) extern int backtrace(void **frames, int room);
__attribute__((weak)) extern char **backtrace_symbols(void *const *frames, int count);

enum { own_frames = 8 }; /* more than there are between us and the caller */

void pl_os_trace_prepare(void)
{
	void *frame;
	if (backtrace)
		backtrace(&frame, 1);
}

int pl_os_trace(void **frames, int room, const void *caller)
{
	enum { most = 32 };
	void *all[own_frames + most];
	int from = 0, count = 0;
	room = room < most ? room : most;
	if (backtrace)
		count = backtrace(all, own_frames + room);
	while (caller && from < count && from < own_frames && all[from] != caller)
		from++;
	if (caller && (from == count || from == own_frames)) { /* no unwinding through these frames */
		frames[0] = (void *)(size_t)caller;
		return 1;
	}
	count = count - from < room ? count - from : room;
	if (count > 0)
		memcpy(frames, all + from, (size_t)count * sizeof *frames);
	return count > 0 ? count : 0;
}

void pl_os_describe(void *frame, char *line, size_t bytes)
{
	char **names = backtrace_symbols ? backtrace_symbols(&frame, 1) : NULL;
	if (names)
		snprintf(line, bytes, "%s", names[0]);
	else
		snprintf(line, bytes, "%p", frame);
	free(names);
}
