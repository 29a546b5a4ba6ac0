#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bindings.sh          writes the Java bindings (io.panalock.internal.ffm) from native/include/panalock.h with jextract
# bindings.sh --check  only says whether the committed ones are what jextract would write; passes where there is none
#
# jextract comes from JEXTRACT=... or PATH (https://jdk.java.net/jextract/). Which symbols to include is asked of
# jextract itself: those whose header lies under native/include, so nothing of the C library leaks in.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

package=io.panalock.internal.ffm
target=java-api/src/main/java/${package//.//}
jextract=${JEXTRACT:-jextract}

if ! have "$jextract"; then
	if [ "${1:-}" = --check ]; then
		say "bindings: no jextract here, left to BindingsAgreeTest"
		exit 0
	fi
	die "jextract not found: put it on PATH or set JEXTRACT=/path/to/jextract (https://jdk.java.net/jextract/)"
fi

cd "$ROOT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {
	"$jextract" -I native/include "$@" native/include/panalock.h 2>"$work/messages" || {
		cat "$work/messages" >&2
		die "bindings: jextract failed"
	}
	# Opaque types (a struct that is only declared) are skipped, and that is meant; everything else is worth reading.
	grep -v -e 'max_align' -e 'type Declared(' "$work/messages" >&2 || true
}
run --dump-includes "$work/all"
grep -F "# header: $ROOT/native/include/panalock" "$work/all" | sed 's/ *#.*//' >"$work/includes"
# Thread-local variables: what they are to the thread that looks them up is of no use to others.
grep -hoE 'extern __thread [^;(]*' native/include/panalock/*.h | sed -E 's/ *__attribute__.*//; s/.*[ *]//' >"$work/thread_locals"
grep -vwFf "$work/thread_locals" "$work/includes" >"$work/kept" && mv "$work/kept" "$work/includes"
[ -s "$work/includes" ] || die "bindings: jextract found nothing under native/include"
run "@$work/includes" --target-package "$package" --output "$work/java"
new=$work/java/${package//.//}
# jextract leaves blanks at the ends of some lines.
sed -i 's/[ \t]*$//' "$new"/*.java

if [ "${1:-}" = --check ]; then
	diff -r "$target" "$new" >"$work/diff" || {
		head -40 "$work/diff"
		die "bindings: the committed ones are stale; run make bindings and commit the result"
	}
	say "bindings: up to date"
else
	rm -rf "$target"
	mkdir -p "$target"
	cp "$new"/*.java "$target"/
	say "bindings: $(wc -l <"$work/includes") symbols in $target"
fi
