#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh: everything that "make test" promises, cheapest first where the order is free. Stops at the first failure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$ROOT/scripts/setup.sh" test
use_jdk
export MAKEFLAGS=
native() { make --no-print-directory -j"$(nproc)" -C "$ROOT/native" "$@"; }
started=$SECONDS

if have shellcheck; then
	step "scripts: shellcheck"
	(cd "$ROOT" && shellcheck -x -S warning scripts/*.sh .ci/run)
fi

step "workflows"
"$ROOT/scripts/check-workflow.sh"

step "public headers on their own"
native headers

step "library, C tests, Java tests, sources and javadoc (Maven)"
fresh_native_objects
maven -Prelease verify
for kind in '' -sources -javadoc; do
	ls "$ROOT"/java-api/target/panalock-[0-9]*"$kind".jar >/dev/null || die "no $kind jar"
done

step "library that ships: symbols"
for library in "$ROOT"/native/target/classes/META-INF/native/*/libpanalock.so; do
	"$ROOT/scripts/check-symbols.sh" "$library"
done

step "aarch64: compiles without warnings, symbols, same layout"
native aarch64
diff <("$ROOT/scripts/c-abi.sh" - | grep -v '^constant') \
	<(CC=aarch64-linux-gnu-gcc ABI_TYPES_ONLY=1 "$ROOT/scripts/c-abi.sh" - | grep -v '^constant') ||
	die "structs or functions differ between x86_64 and aarch64"

for variant in asan ubsan tsan; do
	step "C tests under $variant"
	native VARIANT=$variant tests
	native VARIANT=$variant check
done

step "bindings"
"$ROOT/scripts/bindings.sh" --check

step "docs: ordering with its litmus tests, layout"
(cd "$ROOT" && perl scripts/check-ordering.pl)
"$ROOT/scripts/check-layout.sh"

step "examples of README.md"
"$ROOT/scripts/check-examples.sh"

step "installed library with pkg-config"
"$ROOT/scripts/check-install.sh"

step "soak at 1 per cent"
"$ROOT/scripts/soak.sh" 1

step "all tests passed in $((SECONDS - started)) s"
