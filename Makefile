# Every target makes the virtual environment it needs; python3 (3.11 or newer) and make suffice.
#
#   make demo    compare with a tuned SVC, explain a decision, bound an error, write demo.png
#   make test    run the tests
#   make test-oldest   run the tests with the oldest versions that pyproject.toml allows
#   make test-recipes   run the recipes of the documentation that need aeon, GraKeL and parasail
#   make test-arithmetics   run the numerical tests with ten kinds of CPU arithmetic
#   make coverage   run the tests, and fail where they execute less than 95 % of the statements
#   make lint    check style, spelling, Markdown, types, imports and repetition
#   make bench   compare solvers, write benchmarks/results/
#   make reproduce   repeat the paper's experiments into reproduced/ (hours; resumes)
#   make torture break the library on purpose, about an hour; writes docs/reliability.md
#   make mutants change the code in 500 places and see whether the tests notice (an hour; resumes)
#   make docs    build the documentation into docs/_build/html
#   make check-site   look at all pages of the documentation in Chromium: widths, contrast, headings
#   make check-release   build sdist and wheel into dist/, check them, try them in a clean environment
#   make clean   remove everything that the other targets made

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?= -n 2
BENCH_ARGS ?=
REPRODUCE_ARGS ?= --jobs 2
TORTURE_ARGS ?=
MUTANTS_ARGS ?=
ARITHMETICS_ARGS ?= -n 2
OLDEST_VENV ?= .venv-oldest
RECIPES_VENV ?= .venv-recipes
RELEASE_VENV ?= .venv-release
OLDEST := tests/oldest-constraints.txt

BIN := $(VENV)/bin

.PHONY: help demo test test-oldest test-recipes test-arithmetics lint bench reproduce torture mutants coverage docs check-site check-release clean
.DEFAULT_GOAL := help
# Targets share one environment, and two pips must not write to it at once.
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "votedkernels needs Python 3.11 or newer; name one with 'make PYTHON=python3.12 ...'"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "python3 -m venv failed; on Debian and Ubuntu install python3-venv"; exit 1; }

# One stamp per extra of pyproject.toml: installed once, and again when pyproject.toml changes.
COMPILED := hatch_build.py $(wildcard src/votedkernels/_native/*.[ch])
$(VENV)/.installed-%: pyproject.toml $(COMPILED) | $(BIN)/python
	@echo "installing votedkernels[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

.SECONDARY:

demo: $(VENV)/.installed-plot
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# Ten runs of three to five minutes each on two busy cores; ARITHMETICS_ARGS="-n 2 --all" makes twenty.
test-arithmetics: $(VENV)/.installed-test
	$(BIN)/python tests/support/arithmetics.py $(ARITHMETICS_ARGS)

# Coverage cannot see code that numba has compiled, so its tests also run once as plain Python,
# except those of the exponential, which works on bits and exists only in compiled form.
COVER := --cov --cov-append
coverage: $(VENV)/.installed-test $(VENV)/.installed-coverage
	rm -f .coverage .coverage.*
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(COVER) --cov-report= \
		-k "not Gaussian and not exponentials" tests/kernels/test_fused.py tests/solvers/lp/test_dense_simplex.py
	$(BIN)/python -m pytest $(PYTEST_ARGS) $(COVER) --cov-report=term:skip-covered --cov-fail-under=95

# A separate environment; PYTHON should be the oldest version, 3.11.
$(OLDEST_VENV)/.installed: pyproject.toml $(COMPILED) $(OLDEST)
	@$(PYTHON) -m venv $(OLDEST_VENV)
	@echo "installing votedkernels[test] with the oldest versions into $(OLDEST_VENV)"
	@$(OLDEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(OLDEST) --editable '.[test]'
	@touch $@

test-oldest: $(OLDEST_VENV)/.installed
	$(OLDEST_VENV)/bin/python -m pytest $(PYTEST_ARGS)

# aeon and GraKeL hold back other packages, so they have an environment of their own. The import
# fails loudly where a test would be skipped.
$(RECIPES_VENV)/.installed: pyproject.toml $(COMPILED)
	@$(PYTHON) -m venv $(RECIPES_VENV)
	@echo "installing votedkernels[recipes] into $(RECIPES_VENV)"
	@$(RECIPES_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary \
		--editable '.[recipes]'
	@touch $@

test-recipes: $(RECIPES_VENV)/.installed
	$(RECIPES_VENV)/bin/python -c "import aeon, grakel, parasail"
	$(RECIPES_VENV)/bin/python -m pytest -n 0 tests/kernels/test_similarity_recipes.py

# All pages but those that programs write into results/.
MARKDOWN := $(wildcard *.md benchmarks/*.md docs/*.md src/votedkernels/datasets/data/*.md tests/*.md torture/*.md)
lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/pymarkdown scan $(MARKDOWN)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pylint src/votedkernels

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

reproduce: $(VENV)/.installed-cli
	$(BIN)/votedkernels reproduce $(REPRODUCE_ARGS)

torture: $(VENV)/.installed-test
	$(BIN)/python torture/run.py $(TORTURE_ARGS)

mutants: $(VENV)/.installed-test $(VENV)/.installed-coverage
	$(BIN)/python torture/mutants.py $(MUTANTS_ARGS)

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

check-site: docs
	$(BIN)/python tests/support/site_check.py

# The wheel is built from the sdist, so that what is missing there fails here.
check-release: $(VENV)/.installed-release
	rm -rf dist $(RELEASE_VENV)
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(RELEASE_VENV)
	$(RELEASE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
		"$$(echo dist/*.whl)[cli]"
	$(RELEASE_VENV)/bin/python -I tests/support/try_installed.py

clean:
	rm -rf $(VENV) $(OLDEST_VENV) $(RECIPES_VENV) $(RELEASE_VENV) build dist docs/_build docs/gallery docs/generated demo.png
	rm -rf .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
