#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-c-tests.sh [--arg WORD] VARIANT PROGRAM...: runs every program, each with a time limit, and fails if one fails.
# LAUNCHER="WORD..." in the environment goes in front of each (an emulator). Everything they print is shown. A test that was skipped counts as a failure: what is not run is not tested.
set -uo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

args=()
limit=${TEST_TIMEOUT:-600}
if [ "${1:-}" = --arg ]; then
	args=("$2")
	limit=${TEST_TIMEOUT:-7200}
	shift 2
fi
variant=$1
shift

# Any report of a sanitizer ends the program at once, with an exit code of its own.
export ASAN_OPTIONS=abort_on_error=0:exitcode=99:detect_stack_use_after_return=1:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99:${UBSAN_OPTIONS:-}
export TSAN_OPTIONS=halt_on_error=1:exitcode=99:second_deadlock_stack=1:${TSAN_OPTIONS:-}

read -ra launcher <<<"${LAUNCHER:-}"
if [ "$variant" = tsan ] && have setarch && setarch -R true 2>/dev/null; then
	# GCC 12's ThreadSanitizer cannot map its shadow memory where the kernel randomizes addresses by more than 28 bits.
	launcher=(setarch -R)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=()
ran=0
for program in "$@"; do
	[ -x "$program" ] || die "$program: not there"
	timeout -k 10 "$limit" "${launcher[@]}" "$program" "${args[@]}" 2>&1 | tee "$log"
	code=${PIPESTATUS[0]}
	if [ "$code" = 124 ] || [ "$code" = 137 ]; then
		say "$program: no end after $limit s"
	fi
	if [ "$code" = 0 ] && grep -q '\[  SKIPPED \]' "$log"; then
		say "$program: skipped tests count as failures"
		code=skipped
	fi
	[ "$code" = 0 ] || failed+=("$program ($code)")
	ran=$((ran + 1))
done
if [ ${#failed[@]} -gt 0 ]; then
	say "C programs, $variant: ${#failed[@]} of $ran FAILED: ${failed[*]}"
	exit 1
fi
say "C programs, $variant: $ran passed"
