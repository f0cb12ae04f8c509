# Everything a fresh machine needs is Python 3.11 or newer, git and make.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= .shoal/demo
APP := examples.storybook.app:app
FLEET := examples.fleet.app:app

.DEFAULT_GOAL := help
.PHONY: help demo up down test check bench scenarios docs proto lock clean

help: ## Show what there is
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.demo ## Install, start everything, run a job on workers and one on three nodes, stop
	@trap '$(BIN)/shoal down --data-dir $(DATA)' EXIT; set -e; \
	$(BIN)/shoal up --detach --port 0 --data-dir $(DATA) --app $(APP) --app $(FLEET) --nodes 3; \
	$(BIN)/shoal job start nuclear_v2 --data-dir $(DATA) --params @examples/storybook/couple.json \
	  --watch --save $(DATA)/results; \
	$(BIN)/shoal job start fights --data-dir $(DATA) --params @examples/fleet/fight.json --watch

up: $(VENV)/.demo ## Start everything and keep it running
	@$(BIN)/shoal up --data-dir $(DATA) --app $(APP) --app $(FLEET) --nodes 3

down: ## Stop what 'make up' started
	@$(BIN)/shoal down --data-dir $(DATA)

test: $(VENV)/.dev ## Install what the tests need, and run all of them
	@tests/prepare
	@$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(VENV)/.dev ## Lint, format, types, architecture
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/.dev ## Run one benchmark: make bench NAME=startup
	@bench/run $(NAME)

scenarios: $(VENV)/.dev ## Break things while they work: make scenarios ROOM=jobs RUNS=20 [SEED=1]
	@$(BIN)/python -m tests.scenarios.run --room $(ROOM) --runs $(or $(RUNS),1) $(if $(SEED),--seed $(SEED))

docs: $(VENV)/.dev ## Write the generated pages of docs/reference anew
	@$(BIN)/python docs/generate.py

proto: $(VENV)/.dev ## Generate the code of proto/*.proto anew
	@$(BIN)/python proto/generate.py

lock: ## Pin all dependencies anew
	@requirements/lock $(PYTHON)

clean: ## Remove what was installed and built (not the data of 'make up')
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Shoal needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(VENV)/.demo: requirements/shoal.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing Shoal into $(VENV) …"
	@$(BIN)/pip install -q --disable-pip-version-check -r requirements/shoal.txt
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.demo
	@echo "Installing what the tests need …"
	@$(BIN)/pip install -q --disable-pip-version-check -r requirements/dev.txt
	@touch $@
