# Two targets are all that a newcomer needs: demo (Go alone) and test. What they
# fetch comes from the Go module proxy, from Maven Central and from Debian, and for the
# examples in Python and Node from PyPI and npm; it is kept in the ignored folders .bin
# and .cache.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := $(CURDIR)/.bin

# Everything but tests with the race detector is built without cgo: one build
# variant for build, demo, unit, vet and the linters.
export CGO_ENABLED := 0

# The race detector needs a C compiler; where there is none the tests run without
# it, and say so. RACE= leaves it out on purpose: it is several times slower.
RACE ?= $(shell command -v "$$(go env CC)" >/dev/null && echo -race)
ifneq ($(RACE),)
test: export CGO_ENABLED := 1
endif

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 10s

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Show retryd at work; needs Go alone (ARGS=--keep leaves it running)
	@echo "building the demo; the first time this fetches and compiles its dependencies"
	@go build -o '$(BIN)/retryd-demo' ./cmd/retryd-demo
	@exec '$(BIN)/retryd-demo' $(ARGS)

.PHONY: build
build: ## Build the static binaries into dist/
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o dist/ ./cmd/...

# The tests below test/ start the daemon as a process of its own, which the test
# cache does not see: they always run.
.PHONY: test
test: tools promtool ## Run all tests, also against a real Kafka; needs a JDK 17+, Maven, systemd, prlimit
	go test $(RACE) -timeout 6m ./cmd/... ./internal/...
	go test $(RACE) -timeout 18m -count=1 ./test/... ./bench/...

# The daemon, the floors and the endpoint are processes of their own on this machine:
# let it be idle otherwise.
RECORDS ?= 100000
BENCH = exec '$(BIN)/bench' -scenario '$(SCENARIO)' -records '$(RECORDS)' -profiles '$(PROFILES)'

.PHONY: bench
bench: ## Measure retryd against bare loops on a real Kafka, and write docs/performance.md (SCENARIO=name runs one; PAIRS=10 RECORDS=100000; PROFILES=folder for CPU profiles); needs a JDK 17+, Maven
	@go build -o '$(BIN)/bench' ./bench
	@$(BENCH) -pairs '$(or $(PAIRS),10)'

.PHONY: bench-peers
bench-peers: ## Measure it against Spring Kafka and Parallel Consumer, and write docs/performance.md (SCENARIO=name runs one; PAIRS=3 RECORDS=100000); Maven fetches them
	@go build -o '$(BIN)/bench' ./bench
	@$(BENCH) -peers -pairs '$(or $(PAIRS),3)'

# Everything is in one process: let the machine have a processor or two for it.
.PHONY: outage
outage: ## Let the endpoint fail in every way for an hour, compressed to a minute, and show what that costs; needs Go alone (ARGS='-only 503' runs what has that in its name, ARGS=-kafka on Apache Kafka)
	@go build -o '$(BIN)/outage' ./test/outage
	@exec '$(BIN)/outage' $(ARGS)

.PHONY: unit
unit: ## Run the tests that need Go alone, without the race detector
	go test -timeout 10m ./cmd/... ./internal/...

# What is missing is said before anything is compiled.
.PHONY: tools
tools:
	@java=java; [[ -z "$${JAVA_HOME:-}" ]] || java="$$JAVA_HOME/bin/java"; \
	missing=0; need() { echo "make test: $$1" >&2; missing=1; }; \
	note() { if [[ -n '$(ALL_EXAMPLES)' ]]; then need "to be tested is $$1"; else echo "make test: not tested is $$1"; fi; }; \
	jdk='install a JDK of 17 or newer (Debian: apt-get install openjdk-17-jdk-headless), or let JAVA_HOME point at one'; \
	if ! command -v "$$java" >/dev/null; then \
		need "the tests run a real Kafka, and $$java was not found: $$jdk"; \
	elif ! printed=$$("$$java" -version 2>&1); then \
		need "$$java -version failed: $$jdk"; \
	elif ! [[ "$$printed" =~ version\ \"(1\.)?([0-9]+) ]]; then \
		need "no version in what $$java -version prints: $$jdk"; \
	elif (( BASH_REMATCH[2] < 17 )); then \
		need "$$java is Java $${BASH_REMATCH[2]}: $$jdk"; \
	fi; \
	command -v mvn >/dev/null || \
		need 'Maven fetches the jars of Kafka, and mvn was not found: install it (Debian: apt-get install maven)'; \
	command -v systemd-analyze >/dev/null || \
		need 'systemd-analyze checks the unit, and was not found: install systemd (Debian: apt-get install systemd); where there is none, as on macOS, run make unit, and make test on Linux'; \
	[[ -x '$(PROMTOOL)' ]] || command -v apt-get >/dev/null || \
		need 'promtool checks the metrics, and was not found: install Prometheus, which has it (macOS: brew install prometheus)'; \
	command -v prlimit >/dev/null || \
		need 'prlimit fills the disk of a broker, and was not found: install util-linux (Debian: apt-get install util-linux)'; \
	python3 -c 'import sys, pip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || \
		note 'the example in Python, which needs python3 of 3.10 or newer with pip (Debian: apt-get install python3-pip)'; \
	{ node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' && command -v npm; } >/dev/null 2>&1 || \
		note 'the example in Node, which needs node of 18 or newer with npm (Debian: apt-get install npm)'; \
	[[ -n '$(RACE)' ]] || echo 'make test: without the race detector, which needs a C compiler (Debian: apt-get install gcc libc6-dev)'; \
	exit $$missing

# Where PATH has no promtool, it is taken out of Debian's package: nothing is
# installed, and no Prometheus is started.
PROMTOOL_CACHED := $(CURDIR)/.cache/promtool
PROMTOOL := $(shell command -v promtool || echo '$(PROMTOOL_CACHED)')

.PHONY: promtool
promtool: $(PROMTOOL)

$(PROMTOOL_CACHED): | tools
	@echo "fetching promtool, which checks the metrics"
	@rm -rf '$@.d' && mkdir -p '$@.d' && cd '$@.d' && download=(apt-get download -qq -o APT::Sandbox::User=root prometheus) && \
	{ "$${download[@]}" || { apt-get update -qq && "$${download[@]}"; } || \
		{ echo 'make test: promtool was not found, and apt-get cannot download the package prometheus: install it (Debian: apt-get install prometheus)' >&2; exit 1; }; }
	@dpkg-deb --fsys-tarfile '$@.d'/prometheus_*.deb | tar -xO ./usr/bin/promtool >'$@'
	@chmod +x '$@' && rm -r '$@.d'

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Check format, modules, vet and the linters
	@unformatted=$$(gofmt -l bench cmd docs internal test); \
	[[ -z "$$unformatted" ]] || { printf 'run gofmt -w on\n%s\n' "$$unformatted" >&2; exit 1; }
	go mod tidy -diff
	go mod verify
	go vet ./...
	'$(GOLANGCI_LINT)' run ./...

# Tools are installed outside of go.mod, so that their dependencies are not ours.
# The version in the file's name makes another one a new install.
$(GOLANGCI_LINT):
	GOBIN='$(BIN)/install' go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv '$(BIN)/install/golangci-lint' '$@'
	rmdir '$(BIN)/install'

.PHONY: fuzz
fuzz: ## Fuzz every parser of foreign bytes, each for FUZZTIME (10s)
	@for file in $$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal test); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime '$(FUZZTIME)' -fuzzminimizetime 10x "./$${file%/*}"; \
		done; \
	done

.PHONY: clean
clean: ## Remove what was built, fetched and installed here
	rm -rf dist .bin .cache
