# The door: every target calls a script or meson, so that each also works
# without make.  `make help` lists them.
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30
TESTS ?=
export PREFIX DESTDIR FUZZ_SECONDS

.PHONY: all run test test-all check bench fuzz install clean help
.NOTPARALLEL:

all:      ## build the program: build/cordon
	@tools/packages build
	@tools/build

run:      ## build, then let an agent loose in a cordon, on servers of its own
	@tools/packages run
	@tools/run

test:     ## build and run every test (TESTS="unit cli" for some of them)
	@tools/packages test
	@tools/build default asan
	@tests/run $(TESTS)

test-all: ## the same, the long suites and 30 s of each fuzz target
	@tools/packages test-all
	@tools/build default asan-all fuzz
	@tests/run --all $(TESTS)

check:    ## the rules of the house, without running the program
	@tools/packages test
	@tools/check-all

bench:    ## measure, and fail where a limit is passed
	@tools/packages bench
	@tools/bench

fuzz:     ## run each fuzz target for FUZZ_SECONDS
	@tools/packages test
	@tools/fuzz

install:  ## install under DESTDIR and PREFIX (/usr/local)
	@tools/packages build
	@tools/install

clean:    ## remove what was built
	rm -rf build build-asan build-clang build-fuzz

help:     ## this list
	@sed -n 's/^\([a-z-]*\): *## /  make \1	/p' Makefile | expand -t 18
