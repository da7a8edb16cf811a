# Two commands matter: `make demo` shows wf-mcp at work, `make test` sets up and runs everything that CI runs.
# Both set up what they need in this folder: .venv, tests/node_modules and. Neither needs root.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint types unit node format clean

demo: .venv/demo
	$(BIN)/wf-mcp demo

test: lint types unit

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable .
	touch $@

.venv/dev: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable '.[dev]'
	touch $@ .venv/demo

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev
	$(BIN)/mypy

unit: .venv/dev node
	$(BIN)/python -m pytest

node: tests/node_modules/.ready

tests/node_modules/.ready: tests/package.json
	cd tests && npm install --no-fund --no-audit --no-package-lock --loglevel=error
	touch $@

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv tests/node_modules dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
