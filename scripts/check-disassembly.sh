#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-disassembly.sh LIBRARY: what emulators do not show about the arm64 library: slow paths wait in WFE or WFET armed by
# an exclusive load, fast paths call nothing but the outline atomic, atomic operations have the order of their names. Then
# the same checks on code that is wrong, which they must refuse.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

library=$1
prefix=aarch64-linux-gnu-
have ${prefix}gcc || prefix=
export OBJDUMP=${prefix}objdump
check() { perl "$ROOT/scripts/disassembly.pl" "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
	# From native/, where the flags' own paths begin.
	local so=$1
	shift
	(cd "$ROOT/native" && "${prefix}gcc" @flags/common @flags/aarch64 -Iinclude -shared -Wl,--allow-shlib-undefined "$@" \
		-o "$so" -x c -)
}

check "$library" waits
slow_paths=$("$OBJDUMP" -d "$library" | sed -n 's/^[0-9a-f]* <\(pl_[a-z_]*_lock_\(slow\|wait\|wait_slow\)\)>:$/\1/p')
# shellcheck disable=SC2086 # names
check "$library" reaches pl_cpu_wait_change pl_qspin_lock_slow pl_line_lock $slow_paths

# The library's own functions for the three layouts: release only, and without the debug checks that the others may call.
check "$library" fast pl_qspin_release=1 pl_qspin_byte_release=1 pl_qspin_wide_release=0

# What a C program gets from the headers.
compile "$work/fast.so" <<'C'
#include <panalock.h>
#define PATHS(prefix, type)                                                                                               \
	int prefix##_fast_try(type *l);                                                                                   \
	int prefix##_fast_try(type *l) { return prefix##_trylock_inline(NULL, l); }                                       \
	int prefix##_fast_lock(pl_thread *t, type *l);                                                                    \
	int prefix##_fast_lock(pl_thread *t, type *l) { return prefix##_lock_inline(t, l); }                              \
	int prefix##_fast_unlock(pl_thread *t, type *l);                                                                  \
	int prefix##_fast_unlock(pl_thread *t, type *l) { return prefix##_unlock_inline(t, l); }
PATHS(pl_qspin, pl_qspinlock)
PATHS(pl_qspin_byte, pl_qspinlock_byte)
PATHS(pl_qspin_wide, pl_qspinlock_wide)
int mutex_lock(pl_thread *t, pl_mutex *m);
int mutex_lock(pl_thread *t, pl_mutex *m) { return pl_mutex_lock_inline(t, m); }
int mutex_unlock(pl_thread *t, pl_mutex *m);
int mutex_unlock(pl_thread *t, pl_mutex *m) { return pl_mutex_unlock_inline(t, m); }
uint64_t guard(pl_thread *t, uint64_t name);
uint64_t guard(pl_thread *t, uint64_t name) { return pl_shazptr_acquire_inline(t, name); }
int unguard(pl_thread *t, uint64_t guard);
int unguard(pl_thread *t, uint64_t guard) { return pl_shazptr_clear_inline(t, guard); }
C
check "$work/fast.so" fast \
	pl_qspin_fast_try=1+pl_qspin_trylock_slow pl_qspin_fast_lock=1+pl_qspin_lock_slow pl_qspin_fast_unlock=1+pl_qspin_kick \
	pl_qspin_byte_fast_try=1+pl_qspin_byte_trylock_slow pl_qspin_byte_fast_lock=1+pl_qspin_byte_lock_slow pl_qspin_byte_fast_unlock=1+pl_qspin_kick \
	pl_qspin_wide_fast_try=1+pl_qspin_wide_trylock_slow pl_qspin_wide_fast_lock=1+pl_qspin_wide_lock_slow pl_qspin_wide_fast_unlock=0+pl_qspin_kick \
	mutex_lock=1+pl_mutex_lock_slow mutex_unlock=0+pl_mutex_unlock_slow+pl_mutex_kick \
	guard=0+pl_shazptr_acquire_slow unguard=0+pl_shazptr_clear_slow

# atomic.h, every function of it.
echo '#include <panalock/atomic.h>' | compile "$work/atomic.so" -fkeep-inline-functions
atomics=$(sed -n 's/^static inline .*\b\(pl_\w*\)(.*/\1/p' "$ROOT/native/include/panalock/atomic.h" | sort -u)
# shellcheck disable=SC2086 # names
check "$work/atomic.so" orders $atomics

# Wrong on purpose.
compile "$work/wrong.so" <<'C'
#include <panalock.h>
unsigned wait_for_plain_load(unsigned *p, unsigned value);
unsigned wait_for_plain_load(unsigned *p, unsigned value)
{
	unsigned seen;
	do
		__asm__ volatile("sevl\n\twfe\n\tldr %w0, %1\n\tcmp %w0, %w2\n\tb.ne 1f\n\twfe\n1:"
				 : "=&r"(seen) : "Q"(*p), "r"(value) : "cc", "memory");
	while (seen == value);
	return seen;
}
int other(pl_qspinlock *l);
int slow_on_the_way(pl_qspinlock *l);
int slow_on_the_way(pl_qspinlock *l) { return other(l) + pl_qspin_take(l); }
unsigned never_waits(unsigned *p);
unsigned never_waits(unsigned *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
unsigned pl_load_acq_(unsigned *p) __asm__("pl_load_acq");
unsigned pl_load_acq_(unsigned *p) { return pl_load_rlx(p); }
bool pl_cas_ar_(unsigned *p) __asm__("pl_cas_ar");
bool pl_cas_ar_(unsigned *p) { return pl_cas_acq(p, 0, 1); }
C
refuse() {
	local text=$1
	shift
	if check "$work/wrong.so" "$@" >"$work/said"; then
		die "check-disassembly: accepts code that is wrong ($*)"
	fi
	grep -q "$text" "$work/said" || {
		cat "$work/said"
		die "check-disassembly: refuses wrong code for another reason than \"$text\""
	}
}
refuse 'not an exclusive load' waits
refuse 'slow_on_the_way calls other' fast slow_on_the_way=1
refuse 'no way to its return' fast slow_on_the_way=1+other
refuse 'never comes to wait_for_plain_load' reaches wait_for_plain_load never_waits
refuse 'pl_load_acq does "ldr"' orders pl_load_acq
refuse 'pl_cas_ar does "__aarch64_cas4_acq"' orders pl_cas_ar
say "disassembly: as it should be; wrong code is refused"
