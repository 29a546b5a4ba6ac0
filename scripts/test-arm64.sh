#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test-arm64.sh: the arm64 library on an x86-64 machine: what can be checked without running it, the whole C suite and the
# whole Java suite under an emulator, on CPUs with and without LSE atomics, and every method of waiting. What emulation
# does not show is covered by the disassembly and the litmus tests. docs/arm64.md says more.
#
# The emulator, arm64's JDK and cmocka are Debian packages, unpacked privately (scripts/unpack.sh). On an arm64 machine
# nothing is emulated, and there "make test" is the better choice.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

started=$SECONDS
export MAKEFLAGS=
# Emulated threads are slow and few CPUs are shared by many: the one knob for how much a test does.
export PANALOCK_TEST_PERCENT=${PANALOCK_TEST_PERCENT:-5}
# The kernel cannot start an arm64 program by itself here: C tests fork only, Java tests start children by this script.
export PANALOCK_TEST_NO_EXEC=1
export TEST_TIMEOUT=${TEST_TIMEOUT:-200}
WITHOUT_LSE=cortex-a57
WITH_LSE=neoverse-n1
EVERYTHING=max

step "arm64: library, symbols, disassembly"
"$ROOT/scripts/native-arm64.sh"
use_jdk

step "arm64: reproducible"
"$ROOT/scripts/check-reproducible.sh"

step "litmus"
"$ROOT/scripts/check-litmus.sh"

step "musl, both architectures"
"$ROOT/scripts/native-musl.sh"

step "emulator, arm64 JDK $MINIMUM_JDK and cmocka"
root=$("$ROOT/scripts/unpack.sh" arm64 trixie arm64 "openjdk-$MINIMUM_JDK-jre-headless" libc6 libgcc-s1 libstdc++6 zlib1g \
	libcmocka0 libcmocka-dev)
qemu=$("$ROOT/scripts/emulator.sh" aarch64)
jdk=$root/usr/lib/jvm/java-$MINIMUM_JDK-openjdk-arm64
[ -x "$jdk/bin/java" ] || die "test-arm64: no $jdk/bin/java"
say "$("$qemu" --version | head -1)"

# ---- C ----

# c_suite CPU METHOD [TEST...]: METHOD forces a way of waiting; "chosen" leaves it to the library.
c_suite() {
	local cpu=$1 method=$2
	shift 2
	local log=$ROOT/target/arm64/c-$cpu-$method.log
	step "C tests on $cpu, waiting: $method"
	[ "$method" = chosen ] || export PANALOCK_ARM64_WAIT=$method
	make --no-print-directory -C "$ROOT/native" VARIANT=aarch64 CMOCKA="$root" LAUNCHER="$qemu -cpu $cpu -L $root" \
		${1:+TESTS="$*"} check 2>&1 | tee "$log"
	unset PANALOCK_ARM64_WAIT
	[ "$method" = chosen ] || grep -q "waits by $method," "$log" || die "test-arm64: $method was not used"
}
mkdir -p "$ROOT/target/arm64"
make --no-print-directory -j"$(nproc)" -C "$ROOT/native" VARIANT=aarch64 CMOCKA="$root" tests
c_suite $WITHOUT_LSE chosen
grep -q 'LSE atomics: no' "$ROOT/target/arm64/c-$WITHOUT_LSE-chosen.log" || die "test-arm64: $WITHOUT_LSE has LSE atomics"
c_suite $WITH_LSE chosen
grep -q 'LSE atomics: yes' "$ROOT/target/arm64/c-$WITH_LSE-chosen.log" || die "test-arm64: $WITH_LSE has no LSE atomics"
for method in wfet wfe sb isb yield; do
	c_suite $EVERYTHING $method machine_test qspinlock_test
done

# ---- Java ----

# A folder that looks like a JDK to Maven's surefire, and to Java tests that start children.
launcher() {
	local cpu=$1
	local home=$ROOT/target/arm64/$cpu
	mkdir -p "$home/bin"
	cp "$jdk/release" "$home/release"
	cat >"$home/bin/java" <<-SCRIPT
		#!/bin/sh
		exec '$qemu' -cpu $cpu -L '$root' '$jdk/bin/java' -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \\
			-Djdk.lang.Process.launchMechanism=FORK -Dpanalock.emulated=true "\$@"
	SCRIPT
	chmod +x "$home/bin/java"
	say "$home/bin/java"
}
java_suite() {
	local cpu=$1 java reports=$ROOT/java-api/target/surefire-reports
	java=$(launcher "$cpu")
	step "Java tests on $cpu"
	rm -rf "$reports"
	PANALOCK_TEST_JAVA=$java maven -pl native,java-api -Dnative.tests.skip=true -Djvm="$java" test
	local count=0 report
	for report in "$reports"/TEST-*.xml; do
		grep -q '<property name="os.arch" value="aarch64"' "$report" || die "test-arm64: $report was not made on aarch64"
		count=$((count + 1))
	done
	[ "$count" -gt 0 ] || die "test-arm64: no Java test ran"
	say "$count reports, all of aarch64"
}
java_suite $WITHOUT_LSE
java_suite $WITH_LSE

step "the jar's command line on $WITH_LSE"
maven -q -DskipTests package
java=$(launcher $WITH_LSE)
jar=$ROOT/bench/target/panalock-bench.jar
"$java" --enable-native-access=ALL-UNNAMED -jar "$jar" info
(cd "$ROOT" && timeout -k 5 600 "$java" --enable-native-access=ALL-UNNAMED -jar "$jar" run --quick \
	--json target/arm64/quick.json)

step "arm64: all passed in $((SECONDS - started)) s"
