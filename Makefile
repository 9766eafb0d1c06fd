SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BINARY := linkledger
VERSION = $(shell git describe --always --dirty 2>/dev/null || echo unknown)
GOLANGCI_LINT_VERSION := 2.15.0
GOLANGCI_LINT := .tools/bin/golangci-lint
MISSPELL_VERSION := 0.8.0
GOVULNCHECK_VERSION := 1.9.0
GOVULNCHECK := .tools/bin/govulncheck

# The folder of PostgreSQL's binaries, or nothing where the program finds them by
# itself. Installs them where they are missing.
WITH_POSTGRES = bin=$$(.ci/postgres); export LINKLEDGER_POSTGRES_BIN=$$bin;

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The folder of a PostgreSQL of another major version, for the tests of upgrades.
WITH_OTHER_POSTGRES = other=$$(.ci/otherpostgres); export TEST_OTHER_POSTGRES_BIN=$$other;

.PHONY: run
run: build ## Install what is missing, build, and run everything on this machine
	@$(WITH_POSTGRES) exec ./linkledger dev

.PHONY: build
build: go ## Build the static binary ./linkledger
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BINARY) ./cmd/linkledger

# The race detector needs a C compiler, which a fresh machine may lack. It waits a second at the end
# of each package unless told otherwise. The tag compresses as the program does, which is built
# without C. The linter includes go vet.
GO_TEST = TMPDIR=$$(.ci/tempdir) GORACE=atexit_sleep_ms=0 \
	go test $$race -tags pebblegozstd -vet=off -p 3 -parallel 4 -timeout 25m

# Their tests run the program, which make test builds before, once for all. As long as the program is
# the same, its file stays, and go test keeps the results.
PROGRAM_PACKAGES := ./e2e/... ./cmd/linkledger-bench/...
PROGRAM := $(CURDIR)/.tools/program/linkledger

.PHONY: test
test: go ## Run all tests, with the race detector where a C compiler is found
	@.ci/chromium
	@.ci/pgbouncer
	@.ci/proxies
	@$(WITH_POSTGRES) $(WITH_OTHER_POSTGRES) race=-race; \
	command -v $$(go env CC) >/dev/null || { race=; echo 'no C compiler: testing without the race detector' >&2; }; \
	export TEST_BRANCHES=$$PWD/.tools/branches; mkdir -p "$$TEST_BRANCHES"; \
	$(GO_TEST) $$(go list ./... | grep -vxF "$$(go list $(PROGRAM_PACKAGES))"); \
	go run ./httpapi/branchtest/missedtest "$$TEST_BRANCHES"; \
	CGO_ENABLED=0 go build -trimpath -o $(PROGRAM).new ./cmd/linkledger; \
	cmp -s $(PROGRAM).new $(PROGRAM) || cp $(PROGRAM).new $(PROGRAM); \
	export TEST_PROGRAM=$(PROGRAM); $(GO_TEST) -p 2 $(PROGRAM_PACKAGES)

# The packages whose tests hold what PostgreSQL itself does.
POSTGRES_PACKAGES := ./internal/pgserver/... ./internal/datafolder ./projections/connection ./projections/keystore/... \
	./projections/readmodel/...

.PHONY: test-other
test-other: go ## Run the tests of what PostgreSQL itself does with another major version of it
	@.ci/pgbouncer
	@$(WITH_POSTGRES) LINKLEDGER_POSTGRES_BIN=$$(.ci/otherpostgres); \
	TEST_OTHER_POSTGRES_BIN=$$(.ci/otherpostgres); export TEST_OTHER_POSTGRES_BIN; race=-race; \
	command -v $$(go env CC) >/dev/null || race=; \
	$(GO_TEST) $(POSTGRES_PACKAGES)

.PHONY: short
short: go ## Run the quick tests, which start no process, for the loop of an edit
	CGO_ENABLED=0 go test -short ./...

# Hours. Each part is a target too.
.PHONY: soak
soak: go ## Run all tests at length, and kills, clusters, rebuilds, outages and fuzzing
	@.ci/chromium
	@.ci/pgbouncer
	@.ci/proxies
	@$(WITH_POSTGRES) $(WITH_OTHER_POSTGRES) TEST_SOAK=1 go test -race -count=1 -timeout 2h ./...
	@for part in crash storecrash disks cluster restores backups rebuild outage proxies denied tagged model far upgrade fuzz; do \
		$(MAKE) --no-print-directory $$part; done

.PHONY: crash
crash: go ## Kill the real processes under load, again and again
	@$(WITH_POSTGRES) go test -count=1 -v -p 1 -timeout 30m -run '^Test(Crash|Outages|TakeOver)$$' \
		./e2e/nodes ./e2e/outages -crash-rounds 20

.PHONY: disks
disks: go ## Let each disk fail under load: errors, read-only, syncs; it needs root and FUSE
	@$(WITH_POSTGRES) TEST_SOAK=1 go test -count=1 -v -timeout 30m -run '^TestFaultyDisk' ./e2e/outages

.PHONY: cluster
cluster: go ## Kill and pause services, event store and PostgreSQL in turn, and roll a version through, 10 times
	@$(WITH_POSTGRES) go test -count=1 -v -timeout 30m -run '^TestCluster$$' ./e2e/nodes -cluster-rounds 10

.PHONY: restores
restores: go ## Restore 30 backups that were made at random moments of a load
	@$(WITH_POSTGRES) TEST_SOAK=1 go test -count=1 -v -timeout 60m -run '^Test(Restores|RestoresOfServe|FolderCopiedUnderLoad|Drill.*)$$' ./e2e/backups

# Needs 8 GB in TMPDIR.
.PHONY: backups
backups: go ## Back up 10,000,000 events beside a load, and 10,000 new ones: at most 10 % slower, and a second
	go test -count=1 -v -timeout 60m -run '^TestBackupBesideLoad$$' ./internal/storeserver -backup-events 10000000

.PHONY: rebuild
rebuild: go ## Rebuild the projections of 1,000,000 events under load, killed in between
	@$(WITH_POSTGRES) go test -count=1 -v -timeout 30m -run '^TestRebuildUnderLoad$$' ./e2e/operations -rebuild-events 1000000

.PHONY: storecrash
storecrash: go ## Kill the real event store under 64 writers, 20 times
	go test -count=1 -v -timeout 20m -run '^TestEventStoreCrash$$' ./e2e/nodes -crash-rounds 20

.PHONY: model
model: go ## Hold the API against a model of its contract, for 2000 sequences of calls, and rebuild all projections
	@$(WITH_POSTGRES) TEST_SOAK=1 go test -count=1 -timeout 60m -run '^Test(CallsAnswerAsTheModelDoes|WhateverIsAcceptedReadsBack)$$' ./httpapi -rapid.checks 2000

# With the default all targets take ten minutes.
FUZZTIME ?= 42s

.PHONY: fuzz
fuzz: go ## Fuzz every decoder, each for FUZZTIME
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' . | while IFS=: read -r file target; do \
		echo "$$(dirname $$file) $${target#func }"; \
		go test -run='^$$' -fuzz="^$${target#func }\$$" -fuzztime=$(FUZZTIME) "$$(dirname $$file)" </dev/null; \
	done

.PHONY: outage
outage: go ## Cut off an event store that is 5 ms away, under visitors, for 20 s, 5 times
	@$(WITH_POSTGRES) go test -count=1 -v -timeout 30m -run '^TestDrain$$' ./e2e/nodes -outage-rounds 5 -outage-length 20s

.PHONY: proxies
proxies: go ## Kill, pause, cut off and replace nodes behind nginx, HAProxy and Caddy, 40 restarts
	@.ci/proxies
	@$(WITH_POSTGRES) TEST_SOAK=1 go test -count=1 -v -timeout 30m -run '^TestProxies$$' ./e2e/proxies

.PHONY: denied
denied: go ## Pause, misplace, fill and stop what read models need, 10 minutes each: no answered link is denied
	@$(WITH_POSTGRES) go test -count=1 -v -timeout 90m -run '^TestAnsweredIsNeverDenied$$' ./e2e/outages -denied-length 10m

.PHONY: far
far: go ## Run the tests of commands, projections and the event store's client with an event store that is 5 ms away
	@$(WITH_POSTGRES) TEST_DELAY=5ms go test -count=1 -timeout 40m ./commands/... \
		./events/eventstore/... ./projections/...

.PHONY: tagged
tagged: go ## Change 10,000 and 100,000 links by their tag, and kill the process half way
	@$(WITH_POSTGRES) for n in 10000 100000; do \
	go test -count=1 -v -timeout 30m -run '^TestTagged$$' ./e2e/operations -tagged-links $$n; done

# VERSION names the folder, COMMIT the version's commit where it has no tag of that name.
.PHONY: upgrade-data
upgrade-data: go ## Write the data that the released VERSION leaves, for the tests of upgrades
	@$(WITH_POSTGRES) go test -count=1 -v -timeout 20m -run '^TestWriteUpgradeData$$' ./e2e/upgrades \
		-upgrade-version '$(VERSION)' -upgrade-commit '$(COMMIT)'

# v0.1.0 and five commits that are spread evenly over those since.
UPGRADE_FROM ?= f8d1982,$(shell git log --first-parent --format=%h --reverse f8d1982..HEAD 2>/dev/null | \
	awk '{c[NR]=$$1} END {for (i=1; i<=5; i++) printf "%s%s", c[int(NR*i/6)], i<5 ? "," : ""}')

.PHONY: upgrade
upgrade: go ## Upgrade from v0.1.0 and from five commits since, with dev, serve and kill -9
	@$(WITH_POSTGRES) go test -count=1 -v -timeout 60m -run '^TestUpgradeFromCommits$$' ./e2e/upgrades -upgrade-from '$(UPGRADE_FROM)'

# TestPictures runs in make test too, so the pictures can always be taken.
.PHONY: pictures
pictures: go ## Take the pictures of the console that the README shows
	@.ci/chromium
	@$(WITH_POSTGRES) folder=$$(mktemp -d); \
	TEST_SCREENSHOTS=$$folder go test -count=1 -run '^TestPictures$$' ./httpapi/console; \
	for look in light dark; do install -m 644 $$folder/pictures-wide-$$look.png docs/console-$$look.png; done; rm -r $$folder

.PHONY: containers
containers: go ## Build the images, and try them and the Compose files on a container engine
	@.ci/containers -v

.PHONY: docs
docs: go ## Write docs/configuration.md from the flags of the program
	go test -count=1 -run '^TestConfigurationPage$$' ./cmd/linkledger -update

# Takes twenty minutes. BENCH='--compare old.json' shows what has changed, BENCH=--help the other flags.
BENCH ?=

.PHONY: bench
bench: build ## Measure the program beside controls, and write bench.json and docs/results.md
	@$(WITH_POSTGRES) go build -o linkledger-bench ./cmd/linkledger-bench && ./linkledger-bench --results docs/results.md $(BENCH)

.PHONY: microbench
microbench: go ## Run all Go benchmarks
	@$(WITH_POSTGRES) go test -run='^$$' -bench=. -benchmem ./...

.PHONY: lint
# The settings of make build share Go's cache with it.
lint vuln: export CGO_ENABLED := 0
lint vuln: export GOFLAGS += -trimpath

# The linter includes go vet.
lint: go tools ## Run golangci-lint, and check the modules and the spelling of documents
	go mod tidy -diff
	go run github.com/golangci/misspell/cmd/misspell@v$(MISSPELL_VERSION) -error $$(git ls-files '*.md' '*.html' '*.json')
	$(GOLANGCI_LINT) run --allow-parallel-runners ./...

# The vulnerability database. An offline copy is given as VULNDB=file:///path/of/its/folder.
VULNDB ?= https://vuln.go.dev

.PHONY: vuln
vuln: go ## Look for known vulnerabilities in the code that the program calls, by the database VULNDB
	@if ! go version -m $(GOVULNCHECK) 2>/dev/null | grep -qF 'v$(GOVULNCHECK_VERSION)'; then \
		GOBIN='$(CURDIR)/.tools/bin' go install golang.org/x/vuln/cmd/govulncheck@v$(GOVULNCHECK_VERSION); \
	fi
	$(GOVULNCHECK) -db '$(VULNDB)' -test ./...

.PHONY: licences
licences: go ## List the licences of the modules, and fail at one that is not allowed
	go test -count=1 -v -run '^TestLicences$$' ./e2e/documents

.PHONY: tools
tools: go ## Build the linter into .tools/bin unless it is there
	@if ! $(GOLANGCI_LINT) version 2>/dev/null | grep -qF 'version $(GOLANGCI_LINT_VERSION) '; then \
		echo 'building golangci-lint $(GOLANGCI_LINT_VERSION), about two minutes'; \
		GOBIN='$(CURDIR)/.tools/bin' go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_LINT_VERSION); \
	fi

.PHONY: postgres
postgres: ## Install the PostgreSQL server binaries unless they are there
	@.ci/postgres >/dev/null

.PHONY: clean
clean: ## Remove the binary and the tools; data/ stays
	rm -rf linkledger linkledger-bench .tools

.PHONY: go
go:
	@command -v go >/dev/null || { echo 'go is missing: install Go 1.26 or later from https://go.dev/dl' >&2; exit 1; }
