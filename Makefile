# Two commands matter: `make demo` shows wf-mcp at work, `make test` sets up and runs everything that CI runs.
# Both set up what they need in this folder: .venv, and for the tests tests/node_modules,
# tests/conformance/node_modules and tests/.wheel-venv.
# Neither needs root.

PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := $(shell find src plugins/wf-mcp-redact/src -name '*.py')

.PHONY: demo test lint types unit unit-tools long conformance node conformance-tools clients wheels inventory bench chaos soak format clean

demo: .venv/.demo
	$(BIN)/wf-mcp demo

test: lint types unit

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python $(PIP) --editable .
	touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python $(PIP) --editable '.[dev]'
	touch $@ .venv/.demo

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev
	$(BIN)/mypy

unit-tools: .venv/.dev node conformance-tools wheels clients

# What fails beside others is run once more by itself: hundreds of real processes on a small machine can make one late.
# Both runs are printed, and a test that fails twice fails the command.
unit: unit-tools
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder \
		|| $(BIN)/python -m pytest --last-failed --last-failed-no-failures none

# Every cell of the conformance suite: with upstreams over stdio, and clients in front that speak the other era.
conformance: .venv/.dev conformance-tools
	WF_MCP_EVERY_CELL=1 $(BIN)/python -m pytest tests/conformance

# What takes minutes or a quiet machine: waits as long as the field reports say, and the one timed test.
long: unit-tools
	WF_MCP_LONG=1 $(BIN)/python -m pytest tests/interaction/test_field_clients.py tests/interaction/test_processes.py \
		tests/interaction/test_hundred_upstreams.py

node: tests/node_modules/.ready

tests/node_modules/.ready: tests/package.json
	cd tests && npm install --no-fund --no-audit --no-package-lock --loglevel=error
	touch $@

# The official conformance suite, and on Linux x64 the Node 22 that it needs; elsewhere the Node on PATH must be 22 or later.
conformance-tools: tests/conformance/node_modules/.ready

tests/conformance/node_modules/.ready: tests/conformance/package.json
	cd tests/conformance && npm install --no-fund --no-audit --no-package-lock --loglevel=error
	touch $@

clients: tests/clients/node_modules/.ready

tests/clients/node_modules/.ready: tests/clients/package.json
	cd tests/clients && npm install --no-fund --no-audit --no-package-lock --loglevel=error
	touch $@

wheels: tests/.wheel-venv/.ready

# wf-mcp and the example plug-in as anybody would install them: wheels, in an environment of their own.
tests/.wheel-venv/.ready: .venv/.dev $(SOURCES) pyproject.toml plugins/wf-mcp-redact/pyproject.toml
	rm -rf dist tests/.wheel-venv
	$(BIN)/python -m build --no-isolation --wheel --outdir dist . >/dev/null
	$(BIN)/python -m build --no-isolation --wheel --outdir dist plugins/wf-mcp-redact >/dev/null
	$(PYTHON) -m venv tests/.wheel-venv
	tests/.wheel-venv/bin/python $(PIP) dist/*.whl pytest
	touch $@

# What wf-mcp costs, as ratios to direct. Writes docs/performance.md and the results that it is made from; QUICK=1 prints
# the most important rows in less time and writes nothing.
bench: .venv/.dev
	$(BIN)/python -m bench $(if $(QUICK),--plan quick,--out bench/results.json --page docs/performance.md)

# 30 upstreams, 13 of which misbehave, 20 clients, kills, reloads and disconnects for CHAOS_SECONDS (600). Wants a quiet
# machine: latency and memory are judged too. CHAOS_SEED repeats a run, CHAOS_FRONT=stdio has one client do it all.
chaos: .venv/.dev
	$(BIN)/python -m tests.chaos.run

# Mixed load for SOAK_SECONDS (3600): memory, file descriptors and tasks have to stay flat. SOAK_JSON names a file for the
# figures in docs/performance.md.
soak: .venv/.dev
	$(BIN)/python -m tests.chaos.soak

inventory: .venv/.dev
	$(BIN)/python -m tests.inventory

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv tests/node_modules tests/clients/node_modules tests/conformance/node_modules tests/.wheel-venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
