# Two commands, on a machine with nothing but Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test quick lint types tests site manual dist audit clean

demo: $(VENV)/.ready
	$(BIN)/python -m vastsum.cli.demo

test: lint types tests site

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint Dockerfile

types: $(VENV)/.ready
	$(BIN)/mypy

# One thread a process: pytest runs two, and threads that wait for each other only slow both down.
tests: export OMP_NUM_THREADS = 1
tests: export OPENBLAS_NUM_THREADS = 1
tests: $(VENV)/.ready
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term:skip-covered --cov-fail-under=90

# The program alone, in under two minutes: no bench, no studio, no clusters, no faults, no browser.
quick: export OMP_NUM_THREADS = 1
quick: export OPENBLAS_NUM_THREADS = 1
quick: $(VENV)/.ready
	$(BIN)/pytest -n 2 --dist worksteal $(foreach part,bench e2e faults fuzzing jobs serve test_soak.py,--ignore tests/$(part))

site: $(VENV)/.ready
	$(BIN)/python scripts/build_site.py site

# The manual page that is packaged; a test says when it is no longer that of the program.
manual: $(VENV)/.ready
	$(BIN)/python scripts/make_manual.py

dist: $(VENV)/.ready
	$(BIN)/python scripts/make_dist.py

# Vulnerabilities need the network; without it this says that they were not checked, and fails.
audit: $(VENV)/.ready
	$(BIN)/python scripts/audit.py licences
	$(BIN)/python scripts/audit.py vulnerabilities

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .coverage htmlcov
