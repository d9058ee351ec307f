# Two commands for a newcomer: `make demo` and `make test`. Both set up what they need in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TOOLS := $(VENV)/.tools

.PHONY: help build demo test test-slow lint docs bench fuzz fuzz-files wheel clean

help:  ## Show the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

COMPILED := $(shell find src -path '*/compiled/*' -name '*.p[yx]*')

$(INSTALLED): pyproject.toml setup.py $(COMPILED)
	@echo "Installing hypermargin and what it needs into $(VENV), and compiling its inner loops: about a minute"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(TOOLS): $(INSTALLED) pyproject.toml
	@echo "Installing the tools of developers into $(VENV): about a minute"
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

build: $(INSTALLED)  ## Install the project in .venv and compile its inner loops

demo: $(INSTALLED)  ## Fit every method on generated data, print a table, draw a picture
	$(BIN)/hypermargin demo --output demo

test: $(TOOLS)  ## Run the tests
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(TOOLS)  ## Run the long tests as well
	$(BIN)/python -m pytest -n 2

lint: $(TOOLS)  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(TOOLS)  ## Build the site into docs/_build/html without a warning, and check its links
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

bench: $(TOOLS)  ## Measure speeds as ratios in one run and write docs/benchmarks/
	$(BIN)/python benchmarks/bench_exact.py
	$(BIN)/python benchmarks/bench_dims.py
	$(BIN)/python benchmarks/bench_sizes.py
	$(BIN)/python benchmarks/bench_moment.py
	$(BIN)/python benchmarks/bench_robust.py
	$(BIN)/python benchmarks/bench_far.py
	$(BIN)/python benchmarks/bench_reach.py
	$(BIN)/python benchmarks/bench_forest.py
	$(BIN)/python benchmarks/bench_neighbours.py
	$(BIN)/python benchmarks/bench_kernels.py
	$(BIN)/python benchmarks/bench_asinh.py
	$(BIN)/python benchmarks/bench_passes.py

fuzz: $(TOOLS)  ## Look for a false word among a million problems and 100,000 mutants of certificates of every kind
	$(BIN)/python benchmarks/fuzz.py --mutants 100000 --jobs 2
	$(BIN)/python benchmarks/fuzz.py --problems 1000000 --jobs 2

fuzz-files: $(TOOLS)  ## Damage 5,000 models and 20,000 certificates
	$(BIN)/python -m pytest -n 2 -m slow tests/test_safe_io.py

wheel: $(TOOLS)  ## Build the source distribution and the wheel into dist/, and check the wheel in a clean environment
	rm -rf dist
	$(BIN)/python -m build
	rm -rf build/clean && $(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet dist/*.whl
	cd build && clean/bin/python ../.ci/check_wheel.py

clean:  ## Remove what was built
	rm -rf $(VENV) build dist demo docs/_build docs/api docs/gallery docs/tutorials src/*.egg-info
	find src -name '*.so' -delete -o -name '*.c' -delete
