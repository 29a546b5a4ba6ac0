#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-symbols.sh LIBRARY: the library must load on any Linux with glibc 2.28 (2018) or later and export exactly its
# public functions. Checks: the newest GLIBC symbol version, the libraries needed, the exported names against the public
# headers, and that neither an executable stack nor text relocations are asked for.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

library=$1
newest_allowed=2.28
problems=0
problem() {
	say "$library: $*"
	problems=1
}

versions=$(readelf --dyn-syms -W "$library" | sed -n 's/.*@GLIBC_\([0-9][0-9.]*\).*/\1/p' | sort -Vu)
newest=$(printf '%s\n' "$versions" | tail -1)
if [ -n "$newest" ] && [ "$(printf '%s\n%s\n' "$newest" "$newest_allowed" | sort -V | tail -1)" != "$newest_allowed" ]; then
	problem "needs GLIBC_$newest, newer than $newest_allowed:"
	readelf --dyn-syms -W "$library" | awk -v max="$newest_allowed" '
		match($0, /@GLIBC_[0-9.]+/) {
			split(substr($0, RSTART + 7, RLENGTH - 7), v, "."); split(max, m, ".")
			if (v[1] + 0 > m[1] + 0 || (v[1] == m[1] && v[2] + 0 > m[2] + 0)) print "    " $8
		}'
fi

while read -r needed; do
	case $needed in
	libc.so.6 | libpthread.so.0 | ld-linux-*) ;;
	libc.so) ;; # musl's name for it
	*) problem "needs $needed" ;;
	esac
done < <(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')

exported=$(readelf --dyn-syms -W "$library" |
	awk '$7 != "UND" && ($5 == "GLOBAL" || $5 == "WEAK") && $4 != "NOTYPE" { sub(/@.*/, "", $8); print $8 }' | sort -u)
declared=$("$ROOT/scripts/c-abi.sh" - | awk '($1 == "function" || $1 == "variable" || $1 == "thread-local") { print $2 }' | sort -u)
extra=$(comm -23 <(printf '%s\n' "$exported") <(printf '%s\n' "$declared") | grep -vE '^(Java_io_panalock_|JNI_On(Load|Unload)$|_init$|_fini$)' || true)
missing=$(comm -13 <(printf '%s\n' "$exported") <(printf '%s\n' "$declared"))
[ -z "$extra" ] || problem "exports what no public header declares: ${extra//$'\n'/ }"
[ -z "$missing" ] || problem "lacks what the public headers declare: ${missing//$'\n'/ }"

readelf -lW "$library" | grep -q 'GNU_STACK.*RWE' && problem "asks for an executable stack"
readelf -d "$library" | grep -q TEXTREL && problem "has text relocations"

[ "$problems" = 0 ] || exit 1
say "$library: newest GLIBC symbol ${newest:-none}, exports as declared ($(printf '%s\n' "$declared" | wc -l))"
