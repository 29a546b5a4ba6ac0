#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# shellcheck disable=SC2015,SC2016 # the quotes hold Markdown
#
# check-layout.sh: fails when a field's offset or a constant in docs/layout.md or docs/ringbuf.md differs from the headers.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

abi=$("$ROOT/scripts/c-abi.sh" -)
have=$(printf '%s\n' "$abi" | awk '$1 == "field" && $2 ~ /^pl_(domain|process|thread|overflow|node|bucket|waitq|qspinlock.*|osq|mutex|cond)$/ { print $2 "." $3, $4 }' | sort)
said=$(sed -n 's/^| `\(pl_[a-z_]*\.[a-z_]*\)` | \([0-9]*\) | [0-9]* |$/\1 \2/p' "$ROOT/docs/layout.md" | sort)
ring=$(printf '%s\n' "$abi" | awk '$1 == "field" && $2 ~ /^pl_ring_(header|consumer|producer|record)$/ { print $2 "." $3, $4 }' | sort)
said_ring=$(sed -n 's/^| `\(pl_ring_[a-z]*\.[a-z_0-9]*\)` | \([0-9]*\) | [0-9]* |.*$/\1 \2/p' "$ROOT/docs/ringbuf.md" | sort)
diff <(printf '%s\n' "$said_ring") <(printf '%s\n' "$ring") || die "docs/ringbuf.md (<) and the headers (>) disagree about offsets"
diff <(printf '%s\n' "$said") <(printf '%s\n' "$have") || die "docs/layout.md (<) and the headers (>) disagree about offsets"

# Rows "| bit | `PL_Q_X` |" and "| `PL_NODE_X` | value |".
while read -r name value; do
	actual=$(printf '%s\n' "$abi" | awk -v n="$name" '$1 == "constant" && $2 == n { print $4 }')
	[ -n "$actual" ] && [ $((actual)) -eq "$value" ] || die "docs/layout.md: $name is ${actual:-unknown}, not $value"
done < <(
	sed -n 's/^| \([0-9]*\) | `\(PL_Q_[A-Z_]*\)` .*/\2 \1/p' "$ROOT/docs/layout.md" | while read -r n bit; do echo "$n $((1 << bit))"; done
	sed -n 's/^| `\(PL_NODE_[A-Z]*\)` | \([0-9]*\) .*/\1 \2/p' "$ROOT/docs/layout.md"
	sed -n 's/.*Layout version \*\*\([0-9]*\)\*\*.*/PL_LAYOUT_VERSION \1/p' "$ROOT/docs/layout.md"
)
say "docs/layout.md and docs/ringbuf.md agree with the headers"
