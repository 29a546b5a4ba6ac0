#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh build|test|arm64: checks that the tools for this job are there. What is missing is installed with apt-get when this
# runs as root on a system that has it; otherwise the command to run is printed and the exit code is 1.
# PANALOCK_NO_INSTALL=1 never installs anything.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

job=${1:-build}
packages=()

# need PACKAGE COMMAND...: notes PACKAGE unless the command succeeds.
need() {
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || packages+=("$package")
}

# shellcheck disable=SC2317 # called through need()
has_header() { printf '%s\n' "$2" | "$1" -fsyntax-only -x c -; }
# A compiler or cmocka that is missing altogether makes the header checks fail as well, which is what we want.
# shellcheck disable=SC2317
has_cmocka() {
	has_header gcc '#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>'
}

# The report's test takes what CHROMIUM names, or one of these from PATH.
# shellcheck disable=SC2317
has_chromium() { [ -n "${CHROMIUM:-}" ] || have chromium || have chromium-browser || have google-chrome; }

need gcc have gcc
need libc6-dev has_header gcc '#include <stdio.h>'
need binutils have readelf
need maven have mvn
need libcmocka-dev has_cmocka
need procps have ps
# Maven builds the arm64 library too where its compiler is; half a compiler would fail there.
if [ "$job" != build ] || have aarch64-linux-gnu-gcc; then
	need gcc-aarch64-linux-gnu have aarch64-linux-gnu-gcc
	need libc6-dev-arm64-cross has_header aarch64-linux-gnu-gcc '#include <stdio.h>'
fi
if [ "$job" = test ]; then
	need pkg-config have pkg-config
	need chromium has_chromium
fi

# Measured by the benchmarks where it is; nobody has to have it.
optional=()
has_header gcc '#include <ck_spinlock.h>' >/dev/null 2>&1 || optional+=(libck-dev)
has_header gcc '#include <urcu/urcu-memb.h>' >/dev/null 2>&1 || optional+=(liburcu-dev)

jdk_missing=
find_jdk >/dev/null || jdk_missing=yes

can_install() { [ "$(id -u)" = 0 ] && have apt-get && [ -z "${PANALOCK_NO_INSTALL:-}" ]; }

install_optional() {
	[ ${#optional[@]} -gt 0 ] && can_install || return 0
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${optional[@]}" >/dev/null 2>&1 ||
		say "not to be had here, so the benchmarks go without: ${optional[*]}"
}

if [ ${#packages[@]} -eq 0 ] && [ -z "$jdk_missing" ]; then
	install_optional
	exit 0
fi

# A JDK from the distribution, if it has one that is new enough. Debian 13 does, Debian 12 does not.
jdk_package() {
	local package
	for package in openjdk-25-jdk-headless temurin-25-jdk; do
		if apt-cache show "$package" >/dev/null 2>&1; then
			printf '%s\n' "$package"
			return 0
		fi
	done
	return 1
}

explain_jdk() {
	cat >&2 <<-TEXT
	Panalock needs JDK $MINIMUM_JDK or later, and neither JAVA_HOME nor /usr/lib/jvm has one.
	This system's package lists have none either. Eclipse Temurin's repository does; as root:

	    apt-get install -y wget gpg
	    wget -qO- https://packages.adoptium.net/artifactory/api/gpg/key/public | gpg --dearmor >/etc/apt/trusted.gpg.d/adoptium.gpg
	    echo "deb https://packages.adoptium.net/artifactory/deb \$(. /etc/os-release; echo \$VERSION_CODENAME) main" >/etc/apt/sources.list.d/adoptium.list
	    apt-get update && apt-get install -y temurin-25-jdk

	Or unpack any JDK $MINIMUM_JDK and set JAVA_HOME to it.
	TEXT
}

if can_install; then
	step "installing what is missing: ${packages[*]:-} ${jdk_missing:+JDK $MINIMUM_JDK}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q
	if [ -n "$jdk_missing" ]; then
		if package=$(jdk_package); then
			packages+=("$package")
		fi
	fi
	if [ ${#packages[@]} -gt 0 ]; then
		apt-get install -q -y --no-install-recommends "${packages[@]}"
	fi
	find_jdk >/dev/null || {
		explain_jdk
		exit 1
	}
	install_optional
	exit 0
fi

if [ ${#packages[@]} -gt 0 ]; then
	say "Missing: ${packages[*]} (names of Debian packages). As root:" >&2
	say "    apt-get install -y ${packages[*]}" >&2
fi
if [ -n "$jdk_missing" ]; then
	if have apt-cache && package=$(jdk_package); then
		say "Missing: JDK $MINIMUM_JDK. As root:" >&2
		say "    apt-get install -y $package" >&2
	else
		explain_jdk
	fi
fi
exit 1
