/* SPDX-License-Identifier: Apache-2.0 */
/* The targets for measuring calls: as little as possible in each. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "bench.h"

void plb_blank(void) {}
int plb_int1(int a) { return a; }
int plb_int4(int a, int b, int c, int d) { return a + b + c + d; }
int plb_int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
	return a + b + c + d + e + f + g + h + i + j;
}
int plb_pointer(const int *p) { return *p; }
double plb_mix(int64_t a, double b, int64_t c, double d) { return (double)(a + c) + b + d; }
int64_t plb_struct(plb_pair pair) { return pair.a + pair.b; }
int64_t plb_string(const char *text) { return (int64_t)strlen(text); }
int plb_errno(int value)
{
	errno = value;
	return -1;
}
int plb_upcall(int (*call)(int), int value) { return call(value) + 1; }
int plb_array(const int *array, int length) { return array[0] + array[length - 1]; }

void plb_sleep(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}
