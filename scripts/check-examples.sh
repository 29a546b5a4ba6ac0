#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-examples.sh [FILE...]: takes the marked code blocks out of README.md and docs/*.md, compiles them without
# warnings and runs them. A marked block begins with one of
#
#     ```java example=Name        ```c example=name
#
# Java: a whole program (a class Name, or a compact source file with void main), or only statements: those are put into
# main(), imports in front, with io.panalock and java.base at hand. C: a whole program, or only statements, with
# lines that begin with # in front. "norun" after the name compiles only; "with=NAME" puts the C program of that name beside
# it as ./NAME. An example passes when it ends with exit code
# 0 within a minute.
#
# Run it after a build; it uses the jar and the library that the build made.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

use_jdk
jar=$(panalock_jar)
[ -n "$jar" ] || die "check-examples: no jar in java-api/target; run make build first"
library=$(dirname "$(find "$ROOT/native/target/classes" -path "*linux-$(uname -m)/libpanalock.so")")
[ "$library" != . ] || die "check-examples: no libpanalock.so for $(uname -m); run make build first"
limit=60

if [ $# -eq 0 ]; then
	cd "$ROOT"
	for file in README.md docs/*.md; do
		[ -f "$file" ] && set -- "$@" "$ROOT/$file"
	done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The library carries its soname; give the run-time linker that name.
ln -s "$library/libpanalock.so" "$work/libpanalock.so.0"

# One directory per block: $work/N/{source,language,name,flags}, where N counts blocks.
[ $# -eq 0 ] || awk -v work="$work" '
	!inside && /^ *```(java|c) .*example=/ {
		inside = 1
		n++
		dir = work "/" n
		system("mkdir -p " dir)
		line = $0
		sub(/^ *```/, "", line)
		words = split(line, word, " ")
		flags = ""
		for (i = 2; i <= words; i++) {
			if (word[i] ~ /^example=/) name = substr(word[i], 9)
			else flags = flags " " word[i]
		}
		if (name !~ /^[A-Za-z][A-Za-z0-9_]*$/) { print FILENAME ":" FNR ": example=" name " is no name" > "/dev/stderr"; exit 1 }
		print word[1], name, FILENAME ":" FNR flags > (dir "/block")
		close(dir "/block")
		printf "" > (dir "/source")
		next
	}
	inside && /^ *```/ { inside = 0; close(dir "/source"); next }
	inside { print > (dir "/source") }
	END { if (inside) { print "unclosed code block" > "/dev/stderr"; exit 1 } }
' "$@"

wrap_java() {
	if grep -qE '\bvoid main\(|^(public |final |sealed |abstract )*(class|record|interface|enum) ' source; then
		cat source
	else
		printf 'import io.panalock.*;\nimport module java.base;\n'
		grep -E '^ *import ' source || true
		printf 'void main() throws Exception {\n'
		grep -vE '^ *import ' source || true
		printf '}\n'
	fi
}
wrap_c() {
	if grep -qE '\bmain *\(' source; then
		cat source
	else
		grep -E '^ *#' source || true
		printf 'int main(void)\n{\n'
		grep -vE '^ *#' source || true
		printf 'return 0;\n}\n'
	fi
}

count=0
failed=()
for block in $(grep -ls '^c ' "$work"/*/block) $(grep -ls '^java ' "$work"/*/block); do
	read -r language name where flags <"$block"
	cd "$(dirname "$block")"
	status=ok
	if [ "$language" = java ]; then
		wrap_java >"$name.java"
		javac -Xlint:all,-restricted -Werror --release 25 -cp "$jar" -d out "$name.java" >log 2>&1 || status="does not compile"
		run=(java --enable-native-access=ALL-UNNAMED --illegal-native-access=deny -cp "$jar:out" "$name")
		# A compact source file's class is in no package; a whole program may name one.
		package=$(sed -n 's/^package \(.*\);/\1./p' "$name.java")
		run[${#run[@]} - 1]=$package$name
	else
		wrap_c >"$name.c"
		gcc -std=gnu11 -O1 -Wall -Wextra -Werror -pthread -I"$ROOT/native/include" -o program "$name.c" \
			-L"$library" -lpanalock >log 2>&1 || status="does not compile"
		run=(env LD_LIBRARY_PATH="$work" ./program)
	fi
	[ "$language" != c ] || [ ! -x program ] || ln -s "$PWD/program" "$work/program-$name"
	if [[ " $flags " =~ " with="([A-Za-z0-9_]+)" " ]]; then
		ln -s "$work/program-${BASH_REMATCH[1]}" "${BASH_REMATCH[1]}"
		run=(env LD_LIBRARY_PATH="$work" "${run[@]}")
	fi
	if [ "$status" = ok ] && [[ " $flags " != *" norun "* ]]; then
		code=0
		timeout -k 5 "$limit" "${run[@]}" >log 2>&1 </dev/null || code=$?
		[ "$code" = 0 ] || status="exit code $code"
	fi
	count=$((count + 1))
	if [ "$status" = ok ]; then
		say "example $name ($language, ${where#"$ROOT/"}): ok"
	else
		say "example $name ($language, ${where#"$ROOT/"}): $status"
		sed 's/^/    /' log
		failed+=("$name")
	fi
done
[ ${#failed[@]} -eq 0 ] || die "examples: ${#failed[@]} of $count FAILED: ${failed[*]}"
say "examples: $count passed"
