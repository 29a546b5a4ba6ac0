#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# other-make.sh: prints the path of a GNU make that passes its jobserver on in the other way than this machine's: a FIFO since
# 4.4, descriptors before. PANALOCK_TEST_MAKE names one; else it comes from Debian, unpacked privately, with the C library
# that it needs.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# has_fifo MAKE: true if it can pass a FIFO on. (MAKEFLAGS of a make that runs us would be added.)
has_fifo() { MAKEFLAGS='' "$1" --help | grep -q -- --jobserver-style; }

if [ -n "${PANALOCK_TEST_MAKE:-}" ]; then
	have "$PANALOCK_TEST_MAKE" || die "other-make.sh: PANALOCK_TEST_MAKE=$PANALOCK_TEST_MAKE is no program"
	command -v "$PANALOCK_TEST_MAKE"
	exit 0
fi
suite=trixie
! has_fifo make || suite=bookworm
root=$("$ROOT/scripts/unpack.sh" "make-$suite" "$suite" "$(dpkg --print-architecture)" make libc6) ||
	die "other-make.sh: the tests want a make of another version than this machine's, and Debian $suite's cannot be had. Set PANALOCK_TEST_MAKE to one ($([ $suite = trixie ] && printf '4.4 or newer' || printf 'older than 4.4')), or PANALOCK_DEBIAN_MIRROR to a mirror."

loader=$(find "$root"/usr/lib* "$root"/lib* -maxdepth 2 -name 'ld-linux-*' 2>/dev/null | head -1)
libraries=$(dirname "$(find "$root/usr/lib" "$root/lib" -name libc.so.6 2>/dev/null | head -1)")
[ -x "$loader" ] || die "other-make.sh: no loader in $root"
cat >"$root/make.$$" <<SCRIPT
#!/bin/sh
exec '$loader' --argv0 "\$0" --library-path '$libraries' '$root/usr/bin/make' "\$@"
SCRIPT
chmod +x "$root/make.$$"
mv "$root/make.$$" "$root/make"
"$root/make" --version >/dev/null || die "other-make.sh: $root/make does not run"
say "$root/make"
