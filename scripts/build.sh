#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [MAVEN ARGUMENT...]: the library and all jars, without tests.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$ROOT/scripts/setup.sh" build
use_jdk
say "JDK $(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$JAVA_HOME/release") · $(gcc --version | head -1) · $(uname -m) · $(nproc) CPUs"
fresh_native_objects
maven -q -DskipTests package "$@"
say "built: $(panalock_jar) $ROOT/bench/target/panalock-bench.jar"
