# Every target prepares what it needs in $(VENV); nothing but Python 3.11 or later and make is assumed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
EXTRAS := arrow,cli,dask,dataframes,excel,mlflow,onnx,plots,sklearn,sql
# Pinned, and installed before what needs it: left open, it brings gigabytes of GPU libraries along.
# `make test TORCH=` goes without, and skips the tests of that bridge.
TORCH ?= torch==2.13.0

.PHONY: setup machine demo test test-slow test-oldest test-pythons fuzz coverage lint bench docs site proof \
  audit sbom prepare release publish clean

setup: $(VENV)/.setup

# Programs that some tests run, on Debian and as root: a browser for the report, a server for SQL, npm
# for what looks for barriers in pages, Java for Spark. Where one is missing its tests are skipped, and
# say so; no other target installs anything outside this folder. Each stands behind its package, which is
# left alone where the program is here already, from wherever.
PROGRAMS ?= chromium:chromium postgresql:psql npm:npm default-jre-headless:java
machine:
	apt-get -qq update
	@for one in $(PROGRAMS); do \
	  type "$${one#*:}" >/dev/null 2>&1 \
	    || apt-get -qq install --yes --no-install-recommends "$${one%:*}" || exit 1; \
	done

demo: $(VENV)/.demo
	$(BIN)/abstain demo

# Two workers have the two cores; threads of theirs would be in each other's way. Tests of threads set
# a number of their own.
test coverage fuzz test-oldest: export ABSTAIN_NUM_THREADS = 1
test coverage fuzz test-oldest: export OMP_NUM_THREADS = 1
test coverage fuzz test-oldest: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.test $(VENV)/.axe lint
	$(BIN)/python -m pytest -m "not slow" --numprocesses 2 --dist loadfile

test-slow: $(VENV)/.test $(VENV)/.spark
	$(BIN)/python -m pytest -m slow

# Generated input for so many minutes, shared out among the fuzz tests, and once for every law that
# hypothesis tests. New examples every time; all other targets try the same ones always.
MINUTES ?= 30
fuzz: $(VENV)/.test
	ABSTAIN_FUZZ_MINUTES=$(MINUTES) $(BIN)/python -m pytest tests -m "hypothesis and not slow" \
	  --numprocesses 2 --dist load

# Lines and branches that the tests reach.
coverage: $(VENV)/.test
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m "not slow" --numprocesses 2 --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --skip-empty --sort=cover

# The oldest packages that pyproject.toml allows, in a folder of their own. Examples in docstrings show
# numbers as a newer NumPy prints them, and old packages warn of what came after them.
test-oldest: VENV := .venv-oldest
test-oldest:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	$(BIN)/python .ci/oldest.py > $(VENV)/oldest.txt
	$(PIP) install --constraint $(VENV)/oldest.txt --editable ".[$(EXTRAS)]" --group test
	$(BIN)/python -m pytest tests -m "not slow" --numprocesses 2 --dist loadfile \
	  --override-ini "addopts=--import-mode=importlib --strict-markers -ra" -W ignore::DeprecationWarning

# All tests with every interpreter that is here; the bridge to PyTorch is in `make test`.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
test-pythons:
	@for python in $(PYTHONS); do \
	  if $$python --version 2>/dev/null; \
	  then $(MAKE) test TORCH= PYTHON=$$python VENV=.venv-$$python || exit 1; \
	  else echo "No $$python here: not tested with it"; fi; \
	done

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs examples src tests

bench: $(VENV)/.bench $(VENV)/.spark
	$(BIN)/python -m benchmarks

# The site, with every picture and the gallery drawn anew where their code has changed.
docs: .venv-docs/.ready
	.venv-docs/bin/sphinx-build -W --keep-going -q docs docs/_build
	@echo "docs/_build/index.html"

# What a reader does with the site: links, search, screen readers, phones.
site: docs $(VENV)/.test $(VENV)/.axe
	$(BIN)/python -m pytest -m slow tests/docs/test_site.py

# Ours beside the peers on the same data, seeds and splits, into the page `docs/evidence.md`.
# The pages about coming from a peer are run here too, since the peers are.
proof: .venv-proof/.ready
	.venv-proof/bin/python -m pytest -q tests/proof tests/docs/test_guides.py -k "proof or coming"
	.venv-proof/bin/python -m benchmarks.proof --json .venv-proof/proof.json

# Known holes in what we depend on, the newest of each.
audit: .venv-audit/.ready
	.venv-audit/bin/pip-audit --skip-editable

# What the wheel in dist/ brings along when it is installed with nothing else, as CycloneDX lists it.
sbom: .venv-audit/.ready
	$(PYTHON) -m venv --clear --without-pip .venv-sbom
	.venv-audit/bin/python -m pip --quiet --python .venv-sbom install dist/*.whl
	mkdir -p build
	.venv-audit/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file build/abstain.cdx.json .venv-sbom/bin/python
	@echo build/abstain.cdx.json

.venv-audit/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip --quiet --disable-pip-version-check install \
	  --editable ".[$(EXTRAS)]" pip-audit "cyclonedx-bom>=5"
	@touch $@

# The steps of a release; RELEASING.md has them in order. `release` is a dry run, and changes nothing.
prepare: $(VENV)/.test
	$(BIN)/python .ci/release.py prepare $(VERSION)
	$(BIN)/python tests/policies/make.py tests/policies/$(VERSION)

release: $(VENV)/.test
	$(BIN)/python .ci/release.py check $(VERSION) $(PYTHONS)

publish: release
	git tag --sign --message "abstain $(VERSION)" v$(VERSION)
	git push origin v$(VERSION)

clean:
	rm -rf .venv .venv-* .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis abstain-demo build dist
	rm -rf docs/_build docs/_live docs/api docs/gallery
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The demo needs two extras only, and should not make a newcomer wait for the others.
$(VENV)/.demo: pyproject.toml
	@echo "Preparing $(VENV) (the first time only; about a minute)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --editable ".[cli,plots]"
	@touch $@

$(VENV)/.setup: $(VENV)/.demo
	$(if $(TORCH),$(PIP) install $(TORCH))
	$(PIP) install --editable ".[$(EXTRAS)]"
	@touch $@

# pip reads dependency groups from pyproject.toml since 25.1.
$(VENV)/.test $(VENV)/.bench: $(VENV)/.%: $(VENV)/.setup
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install --group $*
	@touch $@

# The documentation and the peers have environments of their own, without torch. NannyML brings
# gigabytes along, of which the gallery needs the data sets alone.
.venv-docs/.ready .venv-proof/.ready: .venv-%/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"
	.venv-$*/bin/python -m pip --quiet install --editable ".[cli,plots,sklearn]" --group $*
	$(if $(filter docs,$*),.venv-docs/bin/python -m pip --quiet install --no-deps "nannyml==0.13.1")
	@touch $@

# Spark is hundreds of megabytes; only the slow tests use it.
$(VENV)/.spark: $(VENV)/.test
	$(PIP) install --editable ".[spark]"
	@touch $@

# What finds barriers in the report's pages. It is tried again as long as it could not be had.
AXE := axe-core@4.14.0
$(VENV)/.axe: $(VENV)/.test
	@{ npm install --prefix $(VENV)/axe --no-save --no-audit --no-fund --ignore-scripts --silent $(AXE) \
	  && touch $@; } >/dev/null 2>&1 \
	  || echo "No $(AXE) from npm here: the report's accessibility tests will be skipped"
