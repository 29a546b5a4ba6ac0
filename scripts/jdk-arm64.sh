#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# jdk-arm64.sh: prints a folder with an arm64 JDK (run-time part), cmocka and their libraries, from Debian, unpacked privately.
# Its usr/lib/jvm/java-*-openjdk-arm64/bin/java is a script that this machine's kernel can start, so that whoever starts a
# child JVM finds it: the emulator, then the real one. QEMU_CPU says on which CPU.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

root=$("$ROOT/scripts/unpack.sh" arm64 trixie arm64 "openjdk-$MINIMUM_JDK-jre-headless" libc6 libgcc-s1 libstdc++6 zlib1g \
	libcmocka0 libcmocka-dev)
qemu=$("$ROOT/scripts/emulator.sh" aarch64)
bin=$root/usr/lib/jvm/java-$MINIMUM_JDK-openjdk-arm64/bin

exec 9>"$root.lock"
flock 9
[ -f "$bin/java.arm64" ] || mv "$bin/java" "$bin/java.arm64"
# HotSpot closes sockets with signal 62, which qemu needs to be told about. C1 only: emulated, C2's compilations cost more
# than they save. The emulator has no vfork.
cat >"$bin/java.new" <<SCRIPT
#!/bin/sh
export QEMU_LD_PREFIX='$root' QEMU_RTSIG_MAP='34 36 26,62 62 1'
exec '$qemu' '$bin/java.arm64' -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djdk.lang.Process.launchMechanism=FORK "\$@"
SCRIPT
chmod +x "$bin/java.new"
mv "$bin/java.new" "$bin/java"
say "$root"
