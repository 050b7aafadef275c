# Wellspring: `make run` to see it, `make test` to check it, `make help` for the rest.
SHELL := /bin/bash
PYTHON ?= python3
PORT ?= 4566
export PORT

BIN := .venv/bin
export UV := $(CURDIR)/$(BIN)/uv
export SAM := $(CURDIR)/.tools/sam/bin/sam
export SAM_CLI_TELEMETRY := 0
export LAMBDA_RUNTIME ?= python3.14
export LAMBDA_ARCHITECTURE ?= arm64
OVERRIDES := LambdaRuntime=$(LAMBDA_RUNTIME) LambdaArchitecture=$(LAMBDA_ARCHITECTURE)

.PHONY: help
help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: setup run run-once down test test-quick test-faults check format bench-cpu bench-schedule bench-fetch bench-pages build deploy lock clean
setup: .venv/.done .tools/.done ## the project's environment and its tools, from nothing

.venv/.done: requirements/bootstrap.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Wellspring needs Python 3.11 or later. Name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Making the project's environment in .venv"
	@$(PYTHON) -m venv .venv || { echo "Could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/bootstrap.txt
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

.tools/.done: requirements/ministack.txt requirements/sam.txt .venv/.done
	@echo "Installing the local cloud (MiniStack) and the SAM CLI in .tools"
	@for tool in ministack sam; do \
		$(UV) venv --quiet --clear --python $(BIN)/python .tools/$$tool && \
		$(UV) pip sync --quiet --python .tools/$$tool/bin/python --require-hashes requirements/$$tool.txt || exit 1; \
	done
	@touch $@

run: setup ## the whole stack on this laptop, with living feeds, until Ctrl-C
	@$(BIN)/wellspring demo --port $(PORT)

run-once: setup ## the same, ends after the first posts
	@$(BIN)/wellspring demo --port $(PORT) --once

down: setup ## stop a local cloud that was left running
	@$(BIN)/wellspring local down

test: setup ## every test: unit, contract, integration, and e2e on the deployed local stack
	@$(BIN)/pytest

test-quick: .venv/.done ## the tests that need no deployed stack
	@$(BIN)/pytest --ignore tests/e2e -m "not local_cloud"

test-faults: .venv/.done ## every pair of faults, and six at once; prints one line of figures in about ten minutes
	@PYTHONPATH=tests $(BIN)/python -m simulation $(if $(SEED),--seed $(SEED))

check: setup ## format, lint, types, template
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/cfn-lint template.yaml
	@AWS_DEFAULT_REGION=us-east-1 $(SAM) validate --lint

format: .venv/.done ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench-cpu: .venv/.done ## CPU time of a poll, by kind
	@$(BIN)/python benchmarks/cpu.py

bench-schedule: .venv/.done ## 30 days of every cadence on a virtual clock, in about two minutes
	@$(BIN)/python benchmarks/schedule.py

bench-fetch: .venv/.done ## polls through the client and the parser, on loopback
	@$(BIN)/python benchmarks/fetch.py

bench-pages: .venv/.done ## how well pages are read; DATA=a checkout of the article-extraction benchmark
	@$(BIN)/python benchmarks/pages.py $(DATA)

build: setup ## build for AWS; LAMBDA_RUNTIME and LAMBDA_ARCHITECTURE choose for what
	@$(SAM) build --parameter-overrides $(OVERRIDES)

deploy: build ## build and deploy to AWS, with questions
	@$(SAM) deploy --guided --parameter-overrides $(OVERRIDES)

COMPILE = $(UV) pip compile --quiet $(UPGRADE) --universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-annotate --no-header
UPGRADE ?= --upgrade
lock: .venv/.done ## choose the newest versions anew
	@$(COMPILE) layers/core/requirements.in -o layers/core/requirements.txt
	@$(COMPILE) requirements/dev.in -c layers/core/requirements.txt -o requirements/dev.txt
	@$(COMPILE) requirements/ministack.in -o requirements/ministack.txt
	@$(COMPILE) requirements/sam.in -o requirements/sam.txt

clean: ## forget the local cloud's state and everything that was built
	@if [ -x $(BIN)/wellspring ]; then $(BIN)/wellspring local down; fi
	rm -rf .wellspring .aws-sam .venv .tools .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info layers/core/*.egg-info
