# Every target prepares what it needs in .venv; nothing but Python 3.11 or later and make is assumed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: setup demo test test-slow lint bench docs clean

setup: .venv/.setup

demo: .venv/.demo
	$(BIN)/abstain demo

# Two workers have the two cores; threads of theirs would be in each other's way. Tests of threads set
# a number of their own.
test: export ABSTAIN_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1
test: .venv/.test .venv/.browser .venv/.axe lint
	$(BIN)/python -m pytest -m "not slow" --numprocesses 2 --dist loadfile

test-slow: .venv/.test
	$(BIN)/python -m pytest -m slow

lint: .venv/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/.bench
	$(BIN)/python -m benchmarks

docs: .venv/.docs
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build
	@echo "docs/_build/index.html"

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis docs/_build docs/api abstain-demo build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The demo needs two extras only, and should not make a newcomer wait for the others.
.venv/.demo: pyproject.toml
	@echo "Preparing .venv (the first time only; about a minute)"
	$(PYTHON) -m venv .venv
	$(PIP) install --editable ".[cli,plots]"
	@touch $@

# PyTorch is pinned and comes first: left open, it brings gigabytes of GPU libraries along.
.venv/.setup: .venv/.demo
	$(PIP) install torch==2.13.0
	$(PIP) install --editable ".[all]"
	@touch $@

# pip reads dependency groups from pyproject.toml since 25.1.
.venv/.test .venv/.docs .venv/.bench: .venv/.%: .venv/.setup
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install --group $*
	@touch $@

# The report is tested in a real browser. Where none can be had its tests are skipped, and say so.
.venv/.browser: .venv/.test
	@command -v chromium >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update && \
	       apt-get -qq install --yes --no-install-recommends chromium; } >/dev/null 2>&1 \
	  || echo "No chromium here, and no way to install one: the report's browser tests will be skipped"
	@touch $@

# What finds barriers in the report's pages. It is tried again as long as it could not be had.
AXE := axe-core@4.14.0
.venv/.axe: .venv/.test
	@command -v npm >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get -qq update && \
	       apt-get -qq install --yes --no-install-recommends npm; } >/dev/null 2>&1 || true
	@{ npm install --prefix .venv/axe --no-save --no-audit --no-fund --ignore-scripts --silent $(AXE) \
	  && touch $@; } >/dev/null 2>&1 \
	  || echo "No $(AXE) from npm here: the report's accessibility tests will be skipped"
