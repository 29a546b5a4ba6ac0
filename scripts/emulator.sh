#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# emulator.sh MACHINE: prints the path of a qemu for programs of that machine (aarch64, x86_64): a new one from Debian,
# unpacked privately. Older ones cannot run WFET, and lose threads' programs that fork.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

root=$("$ROOT/scripts/unpack.sh" qemu trixie "$(dpkg --print-architecture)" qemu-user)
qemu=$root/usr/bin/qemu-$1
[ -x "$qemu" ] || die "emulator.sh: no emulator of $1 in $root"
say "$qemu"
