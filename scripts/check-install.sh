#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-install.sh: a program finds the installed library through pkg-config, compiles, links and runs.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$ROOT/scripts/install.sh" "$work/prefix"
cat >"$work/main.c" <<'C'
#include <panalock.h>
#include <stdio.h>
int main(void) { return puts(pl_version()) < 0; }
C
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
readelf -SW "$work/prefix/lib/libpanalock.so" | grep -q debug_info && die "the installed library has not been stripped"
(cd "$work" && "$ROOT/scripts/install.sh" relative)
[ "$(PKG_CONFIG_PATH=$work/relative/lib/pkgconfig pkg-config --variable=prefix panalock)" = "$work/relative" ] ||
	die "a relative PREFIX does not become an absolute one in panalock.pc"
# shellcheck disable=SC2046 # the words of pkg-config are meant to be split
gcc -std=c11 -Wall -Wextra -Werror -o "$work/main" "$work/main.c" $(pkg-config --cflags --libs panalock)
[ "$(LD_LIBRARY_PATH=$work/prefix/lib "$work/main")" = "$(pkg-config --modversion panalock)" ] ||
	die "the installed library and panalock.pc are of different versions"
say "pkg-config panalock: compiles, links, runs"
