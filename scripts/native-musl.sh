#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# native-musl.sh: the library for musl (Alpine Linux and others), for x86_64 and aarch64, and a smoke test of each with
# musl's own loader, the foreign one under an emulator. These libraries are not in the jar; see docs/arm64.md.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$ROOT/scripts/setup.sh" arm64
use_jdk
export MAKEFLAGS=
for pair in amd64:x86_64 arm64:aarch64; do
	debian=${pair%:*} machine=${pair#*:}
	have "$machine-linux-gnu-gcc" || die "native-musl: no compiler $machine-linux-gnu-gcc"
	root=$("$ROOT/scripts/unpack.sh" "musl-$debian" trixie "$debian" musl musl-dev linux-libc-dev)
	make --no-print-directory -C "$ROOT/native" musl MUSL="$root" MUSL_ARCH="$machine"
	loader=()
	[ "$machine" = "$(uname -m)" ] || loader=("$("$ROOT/scripts/emulator.sh" "$machine")")
	timeout -k 5 60 "${loader[@]}" "$root/lib/ld-musl-$machine.so.1" "$ROOT/native/target/variants/musl-$machine/smoke"
done
