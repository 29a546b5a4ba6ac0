#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test-arm64.sh [checks|c|java|program]...: the arm64 library on an x86-64 machine (all parts, or these): what can be checked without running it, the whole C suite and the
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
# The kernel cannot start an arm64 program by itself here: C tests fork only.
export PANALOCK_TEST_NO_EXEC=1
export TEST_TIMEOUT=${TEST_TIMEOUT:-600}
WITHOUT_LSE=cortex-a57
WITH_LSE=neoverse-n1
EVERYTHING=max

checks() {
	step "arm64: library, symbols, disassembly"
	"$ROOT/scripts/native-arm64.sh"

	step "arm64: reproducible"
	"$ROOT/scripts/check-reproducible.sh"

	step "litmus"
	"$ROOT/scripts/check-litmus.sh"

	step "musl, both architectures"
	"$ROOT/scripts/native-musl.sh"
}

# c_suite CPU METHOD [TEST...]: METHOD forces a way of waiting; "chosen" leaves it to the library.
c_suite() {
	local cpu=$1 method=$2
	shift 2
	local log=$ROOT/target/arm64/c-$cpu-$method.log
	step "C tests on $cpu, waiting: $method"
	[ "$method" = chosen ] || export PANALOCK_ARM64_WAIT=$method
	QEMU_CPU=$cpu make --no-print-directory -C "$ROOT/native" VARIANT=aarch64 CMOCKA="$root" LAUNCHER="$qemu" \
		${1:+TESTS="$*"} check 2>&1 | tee "$log"
	unset PANALOCK_ARM64_WAIT
	[ "$method" = chosen ] || grep -q "waits by $method," "$log" || die "test-arm64: $method was not used"
}

c() {
	make --no-print-directory -j"$(nproc)" -C "$ROOT/native" VARIANT=aarch64 CMOCKA="$root" tests
	c_suite $WITHOUT_LSE chosen
	grep -q 'LSE atomics: no' "$ROOT/target/arm64/c-$WITHOUT_LSE-chosen.log" || die "test-arm64: $WITHOUT_LSE has LSE atomics"
	c_suite $WITH_LSE chosen
	grep -q 'LSE atomics: yes' "$ROOT/target/arm64/c-$WITH_LSE-chosen.log" || die "test-arm64: $WITH_LSE has no LSE atomics"
	c_suite $EVERYTHING wfet
	local method
	for method in wfe sb isb yield; do
		c_suite $EVERYTHING $method machine_test qspinlock_test
	done
}

# Not the model checks: they try interleavings of bytecode one after the other, which no CPU has a part in. Not what is
# tagged "hardware" either. Whatever else is left out is an error.
java_suite() {
	local cpu=$1 reports=$ROOT/java-api/target/surefire-reports
	step "Java tests on $cpu"
	rm -rf "$reports"
	QEMU_CPU=$cpu PANALOCK_TEST_JAVA=$java maven -pl native,java-api -Dnative.tests.skip=true -Djvm="$java" -DforkCount=2 \
		-Dtest.timeout=3600 -Dtest.excludedGroups='soak | pure | model | hardware' process-test-classes surefire:test surefire:test@without-library
	local count=0 report
	for report in "$reports"/TEST-*.xml; do
		grep -q '<property name="os.arch" value="aarch64"' "$report" || die "test-arm64: $report was not made on aarch64"
		grep -q '<skipped' "$report" && die "test-arm64: $report has a skipped test"
		count=$((count + 1))
	done
	[ "$count" -gt 0 ] || die "test-arm64: no Java test ran"
	say "$count reports, all of aarch64, nothing skipped"
}
java_suites() {
	java_suite $WITHOUT_LSE
	java_suite $WITH_LSE
}

program() {
	step "the jar that was built here, under the arm64 JVM"
	maven -q -DskipTests package
	local jar=$ROOT/bench/target/panalock-bench.jar
	cd "$ROOT/target/arm64"
	rm -f ./*.json ./*.html
	emulated() { PANALOCK_LAUNCHER=$qemu timeout -k 5 1500 "$java" --enable-native-access=ALL-UNNAMED -jar "$jar" "$@"; }
	local cpu
	# Recognised without being told.
	for cpu in $WITHOUT_LSE $WITH_LSE; do
		QEMU_CPU=$cpu emulated info | tee info.txt
		grep -qE '^emulated +yes' info.txt || die "test-arm64: $cpu is not recognised as emulated"
		grep -q "^library .*/META-INF/native/linux-aarch64/" info.txt || die "test-arm64: the library is not the jar's"
	done
	# What it prints are times, which mean nothing here.
	QEMU_CPU=$WITH_LSE emulated run --quick --json emulated.json >run.txt 2>&1 || {
		cat run.txt
		die "test-arm64: run --quick fails"
	}
	say "run --quick: $(grep -o '"experiment"' emulated.json | wc -l) measurements in emulated.json"

	step "one report over both machines"
	timeout -k 5 600 "$JAVA_HOME/bin/java" -jar "$jar" calls --quick --target blank --json here.json
	"$JAVA_HOME/bin/java" -jar "$jar" report here.json emulated.json --out both.html
	perl "$ROOT/scripts/check-emulated.pl" emulated.json here.json both.html
}

[ $# -gt 0 ] || set -- checks c java program
"$ROOT/scripts/setup.sh" arm64
use_jdk
mkdir -p "$ROOT/target/arm64"
step "emulator, arm64 JDK $MINIMUM_JDK and cmocka"
root=$("$ROOT/scripts/jdk-arm64.sh")
qemu=$("$ROOT/scripts/emulator.sh" aarch64)
java=$root/usr/lib/jvm/java-$MINIMUM_JDK-openjdk-arm64/bin/java
export QEMU_LD_PREFIX=$root
say "$("$qemu" --version | head -1)"

for part; do
	case $part in
	checks | c | program) $part ;;
	java) java_suites ;;
	*) die "test-arm64: \"$part\" is no part of it; there are checks, c, java, program" ;;
	esac
done
step "arm64: all passed in $((SECONDS - started)) s ($*)"
