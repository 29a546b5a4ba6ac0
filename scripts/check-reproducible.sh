#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-reproducible.sh: same input, same bytes. Builds the libraries that ship twice, with fresh objects, in folders of
# different names and lengths, and compares.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

"$ROOT/scripts/setup.sh" build
use_jdk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for copy in a another-and-longer-name; do
	mkdir "$work/$copy"
	for part in pom.xml java-api/pom.xml bench/pom.xml native/pom.xml native/flags native/include native/src scripts; do
		mkdir -p "$work/$copy/$(dirname "$part")"
		cp -R "$ROOT/$part" "$work/$copy/$part"
	done
	(ROOT=$work/$copy && maven -q -pl native -Dnative.tests.skip=true compile)
done
count=0
for library in "$work"/a/native/target/classes/META-INF/native/*/libpanalock.so; do
	other=${library/$work\/a\//$work\/another-and-longer-name\/}
	cmp "$library" "$other" || die "two builds of one input differ"
	if grep -q "$work" "$library"; then
		die "$library contains the folder that it was built in"
	fi
	count=$((count + 1))
done
[ "$count" -ge 1 ] || die "check-reproducible: nothing was built"
say "reproducible: $count libraries, each built twice in different folders, byte for byte the same"
