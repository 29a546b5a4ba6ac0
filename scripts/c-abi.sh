#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# c-abi.sh FILE|-: writes what the compiler knows about the public headers, one fact a line:
#
#     function NAME RESULT PARAMETER...
#     variable NAME TYPE
#     thread-local NAME         (of no use to Java: bindings.sh leaves them out)
#     struct NAME SIZE          (or union; also for a typedef of an unnamed one)
#     field STRUCT NAME OFFSET TYPE
#     constant NAME TYPE VALUE  (integers in hexadecimal, two's complement; strings to the end of the line)
#
# Types: void, bool, i1 i2 i4 i8, f4 f8, ptr, struct(SIZE), union(SIZE), array(COUNT,TYPE).
#
# No list is kept by hand: functions come from gcc -aux-info, types from DWARF, variables and macros from the preprocessor. The Java
# test BindingsAgreeTest compares the committed jextract output with this, so neither needs jextract. What jextract
# cannot express (bit-fields, variadic functions, long double) may not stand in a public header and fails here.
#
# CC=... selects the compiler. With ABI_TYPES_ONLY=1 constants are left out: nothing is run, so a cross compiler will do.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

out=${1:--}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$ROOT/native"

compile() { "$cc" -std=gnu11 -Iinclude -w "$@"; }
printf '#include <panalock.h>\n' >"$work/all.c"

# Functions declared (not defined) in a public header: "/* include/panalock/a.h:16:NC */ extern int pl_f (int);"
compile -fsyntax-only -aux-info "$work/aux" "$work/all.c"
sed -n 's,^/\* include/panalock[^ ]*:[0-9]*:NC \*/ extern ,,p' "$work/aux" >"$work/prototypes"
if grep -E '^[^(]*\(\*' "$work/prototypes"; then
	die "c-abi.sh: a function that returns a pointer to a function needs a typedef for it"
fi
sed -E 's/^[^(]*[ *]([A-Za-z_][A-Za-z0-9_]*) \(.*/\1/' "$work/prototypes" | sort -u >"$work/functions"
if grep -vE '^pl_[a-z0-9_]+$' "$work/functions" >"$work/odd"; then
	die "c-abi.sh: public functions are called pl_...: $(head -3 "$work/odd")"
fi

# Exported variables: "extern TYPE NAME;" in the preprocessed public headers.
compile -E "$work/all.c" | awk '
	/^# [0-9]+ "/ { ours = $3 ~ /^"include\/panalock/; next }
	ours { text = text " " $0 }
	END {
		gsub(/__attribute__ *\(\([^;]*\)\)/, " ", text)
		n = split(text, statement, /[;{}]/)
		for (i = 1; i <= n; i++)
			if (statement[i] ~ /^ *extern [^()"]*$/) {
				sub(/(\[[^]]*\])* *$/, "", statement[i])
				sub(/^.*[ *]/, "", statement[i])
				print statement[i]
			}
	}' | sort -u >"$work/all_variables"
compile -E "$work/all.c" | grep -oE '\bextern __thread [^;(]*' | sed -E 's/ *__attribute__.*//; s/.*[ *]//' |
	sort -u >"$work/thread_locals"
comm -23 "$work/all_variables" "$work/thread_locals" >"$work/variables"

# Types: a variable of each function's type, and every type that the headers mention, seen through DWARF.
{
	cat "$work/all.c"
	while read -r name; do
		printf '__typeof__(%s) *abi_function_%s;\n' "$name" "$name"
	done <"$work/functions"
	while read -r name; do
		printf '__typeof__(%s) *abi_variable_%s;\n' "$name" "$name"
	done <"$work/variables"
} >"$work/types.c"
compile -g -fno-eliminate-unused-debug-types -c -o "$work/types.o" "$work/types.c"
LC_ALL=C readelf --debug-dump=info "$work/types.o" >"$work/dwarf"

awk -f "$ROOT/scripts/c-abi.awk" "$work/dwarf" >"$work/abi" || die "c-abi.sh: the public headers cannot be expressed in Java, see above"

# Constants: object-like macros of the public headers whose value is a constant expression.
if [ -z "${ABI_TYPES_ONLY:-}" ]; then
	compile -E -dD "$work/all.c" | awk '
		/^# [0-9]+ "/ { file = $3; next }
		file ~ /^"include\/panalock/ && /^#define [A-Za-z_][A-Za-z0-9_]* ./ { print $2 }
	' | grep -v '^_' | sort -u >"$work/macros"
	{
		cat "$work/all.c"
		sed 's/.*/__auto_type abi_constant_& = (&);/' "$work/macros"
	} >"$work/check.c"
	compile -fsyntax-only -fmax-errors=0 -ftrack-macro-expansion=0 "$work/check.c" 2>"$work/errors" || true
	# Line 2 of check.c is the first macro.
	sed -n "s,^$work/check.c:\([0-9]*\):.*error:.*,\1,p" "$work/errors" | sort -un >"$work/not_constant"
	awk 'NR == FNR { no[$1]; next } !((FNR + 1) in no)' "$work/not_constant" "$work/macros" >"$work/constants"
	{
		cat "$work/all.c" "$ROOT/scripts/c-abi-show.h"
		printf 'int main(void)\n{\n'
		sed 's/.*/\tSHOW(&);/' "$work/constants"
		printf '\treturn 0;\n}\n'
	} >"$work/show.c"
	# Optimized and with holes: the headers' inline functions refer to a library that is not linked, and are not called.
	compile -O1 -no-pie -Wl,--unresolved-symbols=ignore-all -o "$work/show" "$work/show.c"
	"$work/show" >>"$work/abi"
fi

sed 's/^/thread-local /' "$work/thread_locals" >>"$work/abi"
sort -s -k1,2 "$work/abi" >"$work/sorted"
if [ "$out" = - ]; then
	cat "$work/sorted"
else
	mkdir -p "$(dirname "$out")"
	cmp -s "$work/sorted" "$out" || cp "$work/sorted" "$out"
fi
