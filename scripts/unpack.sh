#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# unpack.sh NAME SUITE ARCHITECTURE PACKAGE...: packages of another Debian suite or architecture, unpacked into a private
# folder, whose path is printed. Nothing is installed, and the system's own package lists are left alone.
#
# The folder, ~/.cache/panalock/NAME (PANALOCK_CACHE moves it), is made once; delete it to get newer versions. The mirror
# is the one that this machine's apt uses for Debian, or PANALOCK_DEBIAN_MIRROR. Signatures are checked against Debian's
# keyring. No dependencies are followed: the caller names what it needs. A suite that cannot be reached, or a package
# that is not there, is an error.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 4 ] || die "usage: unpack.sh NAME SUITE ARCHITECTURE PACKAGE..."
name=$1 suite=$2 architecture=$3
shift 3
cache=${PANALOCK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/panalock}
target=$cache/$name
wanted="$suite $architecture $*"

unpacked() { [ -f "$target/.unpacked" ] && [ "$(cat "$target/.unpacked")" = "$wanted" ]; }
if unpacked; then
	say "$target"
	exit 0
fi
if ! have apt-get || ! have dpkg-deb; then
	die "unpack.sh: $name comes from Debian packages, which needs apt-get and dpkg-deb"
fi
mkdir -p "$cache"
exec 9>"$cache/$name.lock"
flock 9
if unpacked; then
	say "$target"
	exit 0
fi

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || die "unpack.sh: $keyring is missing (package debian-archive-keyring)"

work=$cache/$name.new
rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/root" "$work/deb"

# The mirror is in this machine's own package lists. Where they have been deleted, as in containers, they are fetched anew,
# into our folder.
# shellcheck disable=SC2016 # apt's variables, not the shell's
debian_mirror() { apt-get "$@" indextargets --format '$(ORIGIN) $(LABEL) $(SITE)' | sed -n 's/^Debian Debian //p' | head -1; }
mirror=${PANALOCK_DEBIAN_MIRROR:-$(debian_mirror)}
if [ -z "$mirror" ]; then
	mkdir -p "$work/own/lists/partial" "$work/own/archives/partial"
	own=(-o Dir::State::Lists="$work/own/lists" -o Dir::Cache="$work/own" -o APT::Sandbox::User=root)
	apt-get "${own[@]}" update -q >"$work/log" 2>&1 || tail -5 "$work/log" >&2
	mirror=$(debian_mirror "${own[@]}")
fi
[ -n "$mirror" ] || die "unpack.sh: apt knows no Debian mirror here; set PANALOCK_DEBIAN_MIRROR to one"

printf 'deb [arch=%s signed-by=%s] %s %s main\n' "$architecture" "$keyring" "$mirror" "$suite" >"$work/apt/sources.list"
: >"$work/apt/status"
cat >"$work/apt/conf" <<-CONF
	APT::Architecture "$architecture";
	APT::Architectures { "$architecture"; };
	APT::Sandbox::User "root";
	Dir::Etc::SourceList "$work/apt/sources.list";
	Dir::Etc::SourceParts "/dev/null";
	Dir::State::Lists "$work/apt/lists";
	Dir::State::Status "$work/apt/status";
	Dir::Cache "$work/apt";
	Acquire::Languages "none";
	Acquire::Retries "3";
	APT::Update::Error-Mode "any";
CONF
export APT_CONFIG=$work/apt/conf
(
	apt-get update -q || die "unpack.sh: the package lists of Debian $suite ($architecture) cannot be had from $mirror"
	cd "$work/deb"
	apt-get download -q "$@" || die "unpack.sh: Debian $suite ($architecture) does not offer all of: $*"
) >"$work/log" 2>&1 || {
	tail -20 "$work/log" >&2
	exit 1
}
for package in "$work"/deb/*.deb; do
	dpkg-deb -x "$package" "$work/root"
done
# Absolute links would lead out of the folder into this machine's own files; make them relative.
while IFS= read -r link; do
	to=$(readlink "$link")
	ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$work/root$to")" "$link"
done < <(find "$work/root" -type l -lname '/*')
# Suites that ship everything under /usr leave these links to the base system.
for directory in lib lib64; do
	if [ -d "$work/root/usr/$directory" ] && [ ! -e "$work/root/$directory" ]; then
		ln -s "usr/$directory" "$work/root/$directory"
	fi
done
printf '%s' "$wanted" >"$work/root/.unpacked"
rm -rf "$target"
mv "$work/root" "$target"
rm -rf "$work"
say "$target"
