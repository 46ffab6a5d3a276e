SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: build release test check bench bench-curve bench-console fuzz crash screenshots clean

VERSION  ?= $(shell sed -n 's/^[[:space:]]release *= "\(.*\)"/\1/p' cmd/annals/version.go)
FUZZTIME ?= 30s
ROUNDS   ?= 25
ONLY     ?=
OUT      ?= screenshots
PASSAGES ?= 10000 100000 1000000

# The program, static.
build:
	CGO_ENABLED=0 go build -trimpath -o bin/annals ./cmd/annals

# Archives of the static program for Linux, macOS and Windows (amd64 and arm64),
# with checksums and bills of materials, in dist/; ONLY=host builds that of this
# machine alone, and ONLY=linux/arm64,windows/amd64 those.
release:
	rm -rf dist
	go run ./cmd/release -version '$(VERSION)' -out dist -only '$(ONLY)'

# All tests, after installing what they need.
test:
	scripts/test-deps
	scripts/test

# Everything that must be clean before a change goes in.
check:
	scripts/check

# Every benchmark; those with a yardstick print it beside their figure.
bench:
	scripts/test-deps
	scripts/bench

# Time of searches, memory and disk by the number of passages; a million takes a quarter
# of an hour and 3 GB in the folder for temporary files.
bench-curve:
	ANNALS_BENCH_CURVE="$(PASSAGES)" go test -tags failpoint -run='^$$' -bench=BenchmarkCurve -benchtime=300x -timeout=3h ./projections/searchindex/bleve

# Time to the first paint of the console's pages in Chromium, with 100,000 documents.
bench-console:
	scripts/test-deps
	BENCH='^BenchmarkConsole$$' BENCHTIME=1x scripts/bench ./cmd/annals/consoletest

# Every Fuzz function for FUZZTIME.
fuzz:
	FUZZTIME=$(FUZZTIME) scripts/fuzz

# Kill the program at random moments, ROUNDS times, and at every boundary
# between what it makes durable, and look for losses.
crash:
	ANNALS_CRASH_ROUNDS=$(ROUNDS) scripts/with-postgres go test -tags failpoint -count=1 -timeout=60m -v -run='^TestCrash' ./...

# Search by meaning, with a small model that the first run downloads.
test-embeddings:
	scripts/with-embeddings go test -tags failpoint -count=1 -timeout=5m -v -run='^TestHybridWithModel$$' ./queries/search

# Pictures of every page of the console, light and dark, in three widths, in the folder OUT.
screenshots:
	ANNALS_SCREENSHOTS="$(abspath $(OUT))" go test -tags failpoint -count=1 -timeout=20m -run='^TestScreenshots$$' ./cmd/annals/consoletest

clean:
	rm -rf bin dist
