# The commands of a developer; CI is .ci/run.

GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   = go run golang.org/x/vuln/cmd/govulncheck@v1.8.0
FUZZTIME     ?= 10s

.PHONY: all help build fmt tidy lint test race allocs fuzz bench conformance clients examples load chaos vuln
all: fmt tidy lint race allocs ## what CI checks with nothing but Go

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build: ## the commands and a nats-server, into bin/
	go build -o bin/ ./cmd/... github.com/nats-io/nats-server/v2

fmt: ## fail on files that are not gofmt-ed
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }

tidy: ## fail if go.mod or go.sum are not tidy
	go mod tidy -diff

lint: ## go vet and golangci-lint
	go vet ./...
	$(GOLANGCI_LINT) run --allow-parallel-runners ./...

test: ## the tests
	go test ./...

race: ## the tests under the race detector
	go test -race ./...

allocs: ## the bounds on allocations, which the race detector would change
	go test -run '^TestAllocs' ./internal/...

fuzz: ## each fuzz target for FUZZTIME
	@go list ./... | while read -r pkg; do \
	  go test -list '^Fuzz' $$pkg | grep ^Fuzz | while read -r target; do \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; done || exit 1; done

bench: ## the Go benchmarks
	go test -run '^$$' -bench . -benchmem ./...

conformance: ## the official conformance suite, from npm, against the built commands
	go run ./test/conformance

clients: ## the official TypeScript client, from npm, against the built ingress
	go run ./test/clients

examples: ## the example messages of the specification, whose checkout SPEC names
	go run ./test/examples -dir $(SPEC)/schema/2026-07-28

load: ## the programs that measure, one after the other
	go run ./test/load/mixed
	go run ./test/load/growth
	go run ./test/load/listen
	go run ./test/load/scale
	go run ./test/load/tasks

chaos: ## faults on real processes, about half an hour
	go run ./test/chaos

vuln: ## known vulnerabilities in what is used
	$(GOVULNCHECK) ./...
