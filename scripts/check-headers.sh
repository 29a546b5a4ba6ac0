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
say "public headers: $count compile on their own"
