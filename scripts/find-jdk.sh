#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the home of a JDK that can build Panalock; exit code 1 if there is none.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
find_jdk || die "No JDK $MINIMUM_JDK or later found. Run scripts/setup.sh, or set JAVA_HOME."
