# Each target sets up what it needs in .venv, again when pyproject.toml has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Tests start many processes: bytecode is kept, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=
# What shares compiled code runs on the same worker (tests/conftest.py).
PYTEST := $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder $(if $(ROOM),--room=$(ROOM)) --durations=30

.PHONY: demo test test-all lint format docs bench sweep clean

demo: $(VENV)/view.stamp
	$(BIN)/python examples/demo.py

# make test ROOM=rules: the tests of a room and of those above it. Machine code is not optimised, which changes
# no bit (tests/targets/llvm/test_machine.py) and takes half the time; test-all runs what users run.
test: $(VENV)/dev.stamp
	HINGE_LEVEL=0 $(PYTEST) -m "not slow"

test-all: $(VENV)/homes.stamp
	$(PYTEST)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in build/site; links are checked. HINGE_DOCS_RUN=0 does not run the examples for what they print.
docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo open build/site/index.html

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks

sweep: $(VENV)/dev.stamp
	$(BIN)/python -m tests.laws.sweep_laws
	$(BIN)/python -m tests.oracles.sweep_robots
	$(BIN)/python -m tests.oracles.sweep_mjcf
	$(BIN)/python -m tests.oracles.sweep_verbs
	$(BIN)/python -m tests.rules.sweep_identities
	$(BIN)/python -m tests.errors.broken_urdf
	$(BIN)/python -m tests.errors.sweep_hostile
	$(BIN)/python -m tests.targets.sweep_expressions
	$(BIN)/python -m tests.dynamics.sweep_native
	$(BIN)/python -m tests.dynamics.sweep_fuzz
	$(BIN)/python -m tests.sim.sweep_motion
	$(BIN)/python -m tests.dynamics.sweep_catalogue
	$(BIN)/python -m tests.dynamics.sweep_closed
	$(BIN)/python -m tests.dynamics.sweep_mechanisms
	$(BIN)/python -m tests.dynamics.sweep_singular
	$(BIN)/python -m tests.sim.sweep_closed

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Hinge needs Python 3.11 or newer: make PYTHON=python3.11')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/view.stamp: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable '.[view]'
	touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable '.[dev]'
	touch $(VENV)/view.stamp $(VENV)/docs.stamp $@

# PyTorch is large where it comes with CUDA: make test-all TORCH=torch==… takes another one, and without any its
# tests are skipped.
TORCH ?= torch==2.13.0
$(VENV)/homes.stamp: $(VENV)/dev.stamp
	$(BIN)/python -c "import torch" 2>/dev/null || $(PIP) $(TORCH) || echo "no PyTorch: its tests are skipped"
	touch $@

$(VENV)/docs.stamp: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable '.[view,docs]'
	touch $@

$(VENV)/bench.stamp: $(VENV)/dev.stamp
	$(PIP) --editable '.[dev,bench]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache
