#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-litmus.sh              the litmus tests of native/litmus: those on the AArch64 model, those on C11's (RC11)
# check-litmus.sh --accesses   only that they stand for the accesses that the sources have; needs nothing but perl
#
# Every test must be Never, and Sometimes when one of its barriers is dropped. herd7 comes from PATH or, unpacked
# privately, from Debian (scripts/unpack.sh). Without it this fails: a check that is skipped is not a check.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
perl scripts/litmus.pl accesses
[ "${1:-}" != --accesses ] || exit 0

if have herd7; then
	herd() { herd7 "$@"; }
else
	herd_root=$("$ROOT/scripts/unpack.sh" herd forky "$(dpkg --print-architecture)" herdtools7 libc6 libgmp10)
	loader=$(echo "$herd_root"/usr/lib/*/ld-linux-*.so.?)
	# With its own C library, which is newer than most systems'.
	herd() {
		"$loader" --library-path "$(dirname "$loader")" "$herd_root/usr/bin/herd7" \
			-set-libdir "$herd_root/usr/share/herdtools7/herd" "$@"
	}
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
perl scripts/litmus.pl expand "$work" >"$work/list"

# run DIALECT OPTION...: all tests of that dialect, "NAME Never" or "NAME Sometimes" (or "Always"), one a line.
run() {
	local dialect=$1 files
	shift
	files=$(sed -n "s/^$dialect \(\S*\) .*/\1/p" "$work/list")
	[ -n "$files" ] || return 0
	# shellcheck disable=SC2086 # the names have no blanks
	herd "$@" $files >"$work/output" 2>"$work/errors" || {
		cat "$work/errors" >&2
		die "litmus: herd7 failed"
	}
	if [ -s "$work/errors" ]; then
		cat "$work/errors" >&2
		die "litmus: herd7 does not understand a test"
	fi
	sed -n 's/^Observation \(\S*\) \(\S*\) .*/\1 \2/p' "$work/output"
}
{
	run AArch64
	run mixed -variant mixed
	run C -model rc11.cat
} | sort >"$work/seen"
awk '{ print $3, $4 }' "$work/list" | sort >"$work/expected"
diff "$work/expected" "$work/seen" || die "litmus: expected (<) and seen (>) differ"
say "litmus: $(grep -c Never "$work/expected") tests Never, each of $(grep -c Sometimes "$work/expected") mutations Sometimes"
