#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-headers.sh: every public header compiles on its own, in the strictest dialects that a user may choose, and as
# C++ where there is a C++ compiler.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$ROOT/native/include"
count=0
while read -r header; do
	for dialect in c11 gnu17; do
		printf '#include <%s>\n' "$header" |
			${CC:-gcc} -std=$dialect -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Werror -I. -fsyntax-only -x c -
	done
	if have g++; then
		printf '#include <%s>\n' "$header" | g++ -std=c++17 -Wall -Wextra -Werror -I. -fsyntax-only -x c++ -
	fi
	count=$((count + 1))
done < <(find . -name '*.h' | sed 's,^\./,,' | sort)
# A big-endian machine is refused by the compiler (bug row 14): the layouts overlay bytes on words.
if echo '#include <panalock.h>' | ${CC:-gcc} -std=gnu17 -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ -I. -fsyntax-only \
	-x c - 2>/dev/null; then
	die "public headers: a big-endian machine is not refused"
fi
# A lock that may not have been taken must be looked at, in both kinds of calls.
for define in -UPL_NO_INLINE -DPL_NO_INLINE; do
	for call in 'lock(0, &l)' 'trylock(0, &l)' 'lock_wait(0, &l, 0, 0)'; do
		for kind in '' _byte _wide; do
			printf '#include <panalock.h>\nvoid f(void);\nvoid f(void) { static pl_qspinlock%s l; pl_qspin%s_%s; }\n' "$kind" "$kind" "$call" |
				if ${CC:-gcc} -std=gnu17 -Wall -Werror "$define" -I. -c -o /dev/null -x c - 2>/dev/null; then
					die "public headers: nothing warns of a result of pl_qspin${kind}_$call that nobody looks at"
				fi
		done
	done
done
say "public headers: $count compile on their own"
