# Two commands for a newcomer: `make demo` and `make test`. Both set up what they need in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help build demo test test-slow lint bench fuzz clean

help:  ## Show the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

COMPILED := $(shell find src -path '*/compiled/*' -name '*.p[yx]*')

$(INSTALLED): pyproject.toml setup.py $(COMPILED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

build: $(INSTALLED)  ## Install the project in .venv and compile its inner loops

demo: $(INSTALLED)  ## Fit every method on generated data, print a table, draw a picture
	$(BIN)/hypermargin demo --output demo

test: $(INSTALLED)  ## Run the tests
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(INSTALLED)  ## Run the long tests as well
	$(BIN)/python -m pytest -n 2

lint: $(INSTALLED)  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(INSTALLED)  ## Measure speeds as ratios in one run and write docs/benchmarks/
	$(BIN)/python benchmarks/bench_exact.py
	$(BIN)/python benchmarks/bench_dims.py
	$(BIN)/python benchmarks/bench_moment.py
	$(BIN)/python benchmarks/bench_robust.py

fuzz: $(INSTALLED)  ## Look for a false certificate among a million tiny problems
	$(BIN)/python benchmarks/fuzz.py --instances 1000000 --jobs 2

clean:  ## Remove what was built
	rm -rf $(VENV) build demo src/*.egg-info
	find src -name '*.so' -delete -o -name '*.c' -delete
