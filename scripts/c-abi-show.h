/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the program that c-abi.sh generates: prints a constant with its type. */
#include <stdbool.h>
#include <stdio.h>

static void show_bool(const char *name, bool v) { printf("constant %s bool %d\n", name, v); }
static void show_i1(const char *name, unsigned char v) { printf("constant %s i1 0x%02x\n", name, v); }
static void show_i2(const char *name, unsigned short v) { printf("constant %s i2 0x%04x\n", name, v); }
static void show_i4(const char *name, unsigned v) { printf("constant %s i4 0x%08x\n", name, v); }
static void show_i8(const char *name, unsigned long v) { printf("constant %s i8 0x%016lx\n", name, v); }
static void show_f4(const char *name, float v) { printf("constant %s f4 %a\n", name, (double)v); }
static void show_f8(const char *name, double v) { printf("constant %s f8 %a\n", name, v); }
static void show_string(const char *name, const char *v) { printf("constant %s string %s\n", name, v); }
/* Anything else, such as an initializer for a struct, is no constant for Java. */
static void show_nothing(const char *name, ...) { (void)name; }

#define SHOW(x) \
	_Generic((x), _Bool: show_bool, char: show_i1, signed char: show_i1, unsigned char: show_i1, \
		short: show_i2, unsigned short: show_i2, int: show_i4, unsigned: show_i4, \
		long: show_i8, unsigned long: show_i8, long long: show_i8, unsigned long long: show_i8, \
		float: show_f4, double: show_f8, char *: show_string, const char *: show_string, \
		default: show_nothing)(#x, (x))
