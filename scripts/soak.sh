#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# soak.sh PERCENT [PARTS]: the long tests at PERCENT (1 to 100, or more) of their full length: the programs under
# native/test/soak, each given PERCENT as its argument, and the Java tests tagged "soak" (-Dpanalock.soak.percent).
# PARTS, with commas or blanks between them, are the only ones to run: a C program by its name without _soak.c, a Java test
# by its class, or one garbage collector of SoakTest.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

percent=${1:-100}
[[ $percent =~ ^[1-9][0-9]*$ ]] || die "PERCENT: \"$percent\" is not a whole number of 1 or more"

collectors=(Serial Parallel G1 Z)
programs=() classes=()
for file in "$ROOT"/native/test/soak/*_soak.c; do
	file=${file##*/}
	programs+=("${file%_soak.c}")
done
while read -r file; do
	file=${file##*/}
	classes+=("${file%.java}")
done < <(grep -rl --include='*.java' '@Tag("soak")' "$ROOT/java-api/src/test" | sort)

# one_of NAME ALL...: whether it is one of them.
one_of() {
	local name=$1 x
	shift
	for x; do [ "$x" != "$name" ] || return 0; done
	return 1
}

run_programs=() run_classes=() run_collectors=()
IFS=', ' read -ra parts <<<"${2:-}"
for part in "${parts[@]}"; do
	if one_of "$part" "${collectors[@]}"; then
		run_collectors+=("$part")
	elif one_of "$part" "${programs[@]}"; then
		run_programs+=("$part")
	elif one_of "$part" "${classes[@]}"; then
		run_classes+=("$part")
	else
		die "ONLY: \"$part\" is no part of the soak. These are, one or several with commas between: ${collectors[*]} (SoakTest" \
			"with that collector), ${programs[*]} (C), ${classes[*]} (Java)."
	fi
done
only=$((${#run_programs[@]} + ${#run_classes[@]} + ${#run_collectors[@]}))
[ "$only" -gt 0 ] || [ -z "${2:-}" ] || die "ONLY: \"$2\" names no part of the soak"

"$ROOT/scripts/setup.sh" build
use_jdk
export MAKEFLAGS=
java=(-Psoak -pl "native,java-api" -Dnative.tests.skip=true -Dsoak.percent="$percent")
if [ "$only" -eq 0 ]; then
	make --no-print-directory -j"$(nproc)" -C "$ROOT/native" tests
	make --no-print-directory -C "$ROOT/native" soak PERCENT="$percent"
elif [ ${#run_programs[@]} -gt 0 ]; then
	make --no-print-directory -C "$ROOT/native" soak PERCENT="$percent" SOAK="${run_programs[*]}"
fi
fresh_native_objects
if [ "$only" -eq 0 ]; then
	maven "${java[@]}" test
else
	java+=(-Dsurefire.failIfNoSpecifiedTests=false)
	if [ ${#run_collectors[@]} -gt 0 ] && ! one_of SoakTest "${run_classes[@]}"; then
		maven "${java[@]}" -Dsoak.collectors="$(tr ' ' ',' <<<"${run_collectors[*]}")" -Dtest=SoakTest test
	fi
	if [ ${#run_classes[@]} -gt 0 ]; then
		maven "${java[@]}" -Dtest="$(tr ' ' ',' <<<"${run_classes[*]}")" test
	fi
fi
say "soak at $percent per cent${2:+ of ${2}}: passed"
