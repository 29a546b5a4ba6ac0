#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# native-arm64.sh: the arm64 library as it goes into the jar, cross-compiled where the machine is no arm64 one, and what
# can be checked without running it: symbols, disassembly.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$ROOT/scripts/setup.sh" arm64
use_jdk
fresh_native_objects
maven -q -pl native -Dnative.tests.skip=true compile
library=$ROOT/native/target/classes/META-INF/native/linux-aarch64/libpanalock.so
[ -f "$library" ] || die "native-arm64: Maven built no $library"
"$ROOT/scripts/check-symbols.sh" "$library"
# The one that ships is stripped: the same sources with the same flags, and names.
make --no-print-directory -C "$ROOT/native" aarch64
"$ROOT/scripts/check-disassembly.sh" "$ROOT/native/target/variants/aarch64/libpanalock.so"
say "built: $library"
