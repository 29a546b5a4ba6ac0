#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh [OPTION...]: builds and runs the benchmarks' main job; options go to "panalock-bench.jar run".
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$ROOT/scripts/build.sh"
use_jdk
cd "$ROOT"
# JMH still uses what the flag allows; without it the JVM warns.
exec java --sun-misc-unsafe-memory-access=allow -jar bench/target/panalock-bench.jar run "$@"
