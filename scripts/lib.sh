# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the other scripts: source it. Messages, the repository's root, JDK 25.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
MINIMUM_JDK=25

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
die() {
	printf '%s\n' "$*" >&2
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# jdk_major DIR: the feature release of the JDK in DIR, by its "release" file; nothing if DIR is not a JDK.
jdk_major() {
	[ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return 0
	sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release"
}

# find_jdk: prints the JDK to use: JAVA_HOME if it is new enough, else the first that is, where JDKs usually are.
find_jdk() {
	local dir major
	for dir in "${JAVA_HOME:-}" /usr/lib/jvm/* /opt/*jdk* "${HOME:-/}"/.sdkman/candidates/java/* "${HOME:-/}"/.jdks/*; do
		[ -n "$dir" ] || continue
		major=$(jdk_major "$dir")
		if [ -n "$major" ] && [ "$major" -ge "$MINIMUM_JDK" ]; then
			(cd "$dir" && pwd -P)
			return 0
		fi
	done
	return 1
}

# use_jdk: exports JAVA_HOME and puts its programs first on PATH; explains itself where there is none.
use_jdk() {
	JAVA_HOME=$(find_jdk) || die "No JDK $MINIMUM_JDK or later found. Run scripts/setup.sh, or set JAVA_HOME."
	export JAVA_HOME PATH="$JAVA_HOME/bin:$PATH"
}

# maven ARGS...: Maven in the repository's root, quiet about downloads and about its own use of sun.misc.Unsafe, and
# without the escape sequences that it ends its output with even where colours are off.
maven() {
	local MAVEN_OPTS="${MAVEN_OPTS:-} --sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED"
	export MAVEN_OPTS
	(cd "$ROOT" && mvn --batch-mode --no-transfer-progress -Dstyle.color=never "$@" 2>&1 | sed -u $'s/\e\\[[0-9;]*m//g')
}

# fresh_native_objects: native-maven-plugin rebuilds for changed sources, not for changed flags; throw stale objects away.
fresh_native_objects() {
	local objs=$ROOT/native/target/objs input
	[ -d "$objs" ] || return 0
	for input in "$ROOT"/native/flags/* "$ROOT"/native/pom.xml "$ROOT"/bench/pom.xml; do
		if [ "$input" -nt "$objs" ]; then
			rm -rf "$objs" "$ROOT/native/target/classes" "$ROOT/bench/target/objs" "$ROOT/bench/target/classes/META-INF/native"
			return 0
		fi
	done
}

# panalock_jar: the jar for users (not the sources, not the javadoc).
panalock_jar() {
	find "$ROOT/java-api/target" -maxdepth 1 -name 'panalock-*.jar' ! -name '*-sources.jar' ! -name '*-javadoc.jar' ! -name '*-tests.jar'
}
