#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh PREFIX: libpanalock, its headers and panalock.pc, under $DESTDIR$PREFIX.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# A relative one would make a panalock.pc that is right in one directory only.
prefix=$(realpath -ms -- "${1:-/usr/local}")
to=${DESTDIR:-}$prefix
version=$(sed -n 's/^#define PL_VERSION_STRING "\(.*\)"/\1/p' "$ROOT/native/include/panalock/version.h")
[ -n "$version" ] || die "no PL_VERSION_STRING in native/include/panalock/version.h"

"$ROOT/scripts/setup.sh" build
use_jdk
export MAKEFLAGS=
make --no-print-directory -j"$(nproc)" -C "$ROOT/native" lib
library=$ROOT/native/target/variants/release/libpanalock.so

install -d "$to/lib/pkgconfig" "$to/include/panalock"
install -s -m 755 "$library" "$to/lib/libpanalock.so.$version"
ln -sf "libpanalock.so.$version" "$to/lib/libpanalock.so.0"
ln -sf libpanalock.so.0 "$to/lib/libpanalock.so"
install -m 644 "$ROOT/native/include/panalock.h" "$to/include/"
install -m 644 "$ROOT"/native/include/panalock/*.h "$to/include/panalock/"
cat >"$to/lib/pkgconfig/panalock.pc" <<-PC
	prefix=$prefix
	libdir=\${prefix}/lib
	includedir=\${prefix}/include

	Name: panalock
	Description: The Linux kernel's queued locks in user space
	Version: $version
	Cflags: -I\${includedir}
	Libs: -L\${libdir} -lpanalock
	Libs.private: -pthread
PC
say "installed libpanalock $version under $to"
