#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# soak.sh PERCENT: the long tests at PERCENT (1 to 100, or more) of their full length: the programs under
# native/test/soak, each given PERCENT as its argument, and the Java tests tagged "soak" (-Dpanalock.soak.percent).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

percent=${1:-100}
[[ $percent =~ ^[1-9][0-9]*$ ]] || die "PERCENT: \"$percent\" is not a whole number of 1 or more"
"$ROOT/scripts/setup.sh" build
use_jdk
export MAKEFLAGS=
make --no-print-directory -j"$(nproc)" -C "$ROOT/native" tests
make --no-print-directory -C "$ROOT/native" soak PERCENT="$percent"
fresh_native_objects
maven -Psoak -pl native,java-api -Dnative.tests.skip=true -Dsoak.percent="$percent" test
say "soak at $percent per cent: passed"
