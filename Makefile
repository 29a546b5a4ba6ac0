# SPDX-License-Identifier: Apache-2.0
# Panalock: every task of a user and of a developer. "make" alone explains. The work is done by scripts/.

PREFIX ?= /usr/local
PERCENT ?= 100
ONLY ?=

.DEFAULT_GOAL := help
.PHONY: help build test test-arm64 native-arm64 native-musl bench bindings soak install clean

help: ## Show this text
	@echo 'Panalock: the Linux kernel'"'"'s queued locks for C and Java.'
	@echo
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'
	@echo
	@echo 'JDK 25 is taken from JAVA_HOME or found under /usr/lib/jvm. As root on Debian missing tools are installed'
	@echo '(PANALOCK_NO_INSTALL=1 forbids it); elsewhere the command to run is printed.'

build: ## Build the library and all jars, without tests
	@scripts/build.sh

test: ## Build and run every test: C, sanitizers, Java, packaging, examples, soak at 1 per cent
	@scripts/test.sh

test-arm64: ## Test the arm64 library on an x86-64 machine: C and Java suites under an emulator, litmus, disassembly
	@scripts/test-arm64.sh

native-arm64: ## Cross-compile the arm64 library into the jar's place and check what can be checked without running it
	@scripts/native-arm64.sh

native-musl: ## Build the library for musl, both architectures, with a smoke test
	@scripts/native-musl.sh

bench: ## Run the benchmarks and write the report; QUICK=1 for shorter windows
	@scripts/bench.sh $(if $(filter-out 0,$(QUICK)),--quick)

bindings: ## Regenerate the Java bindings with jextract (from PATH or JEXTRACT=...)
	@scripts/bindings.sh

soak: ## Run the long tests; PERCENT=10 a tenth of them, ONLY=G1,kill some (ONLY=? names all)
	@scripts/soak.sh $(PERCENT) '$(ONLY)'

install: ## Install library, headers and panalock.pc under PREFIX=/usr/local (DESTDIR is honoured)
	@DESTDIR='$(DESTDIR)' scripts/install.sh '$(PREFIX)'

clean: ## Delete everything that was built
	@rm -rf target native/target java-api/target bench/target
