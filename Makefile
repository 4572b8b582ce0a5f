# A convenience above Meson, which does the work: `make` alone lists what there is to make.
.DEFAULT_GOAL := help
.PHONY: help setup build demo run test torture fuzz bench format clean

help:
	@echo 'make demo      see Belfry keep its promise: half a minute, a kill -9 in the middle'
	@echo 'make run       start a host with an example deployment'
	@echo 'make build     compile everything; the command is build/belfry'
	@echo 'make test      every test, also under the sanitizers'
	@echo 'make torture   the long tests'
	@echo 'make fuzz      a minute of new input for every parser (needs clang)'
	@echo 'make bench     the measurements of docs/performance.md'
	@echo 'make format    lay the C files out by .clang-format (version 14)'
	@echo 'make setup     install what building and testing need (apt, pip; the others do it too)'
	@echo 'make clean     remove the build folders'

setup:
	@tools/setup test

# Only what the command itself needs: quicker to install and to compile than the tests.
build/belfry: FORCE
	@tools/setup build
	@test -f build/build.ninja || meson setup build
	@ninja -C build belfry
.PHONY: FORCE
FORCE:

build: setup
	@test -f build/build.ninja || meson setup build
	@ninja -C build

demo: build/belfry
	@build/belfry demo

run: build/belfry
	@tools/run-example

test: setup
	@tools/run-tests

torture:
	@tools/setup bench
	@tools/run-tests torture

fuzz: setup
	@tools/run-fuzz

bench:
	@tools/setup bench
	@tools/run-bench

format:
	@tools/check-format --fix

clean:
	rm -rf build build-asan build-tsan build-release build-fuzz build-peers
