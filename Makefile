# Everything runs in a virtual environment inside the clone; nothing outside it is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Behaviour that users see, the same on every back end.
PUBLIC_TESTS := \
    tests/differential \
    tests/unit/core tests/unit/cuda tests/unit/linalg tests/unit/ufuncs \
    $(patsubst %,tests/unit/launch/test_%.py, \
        class_arguments declarations inspection launch overloads signature) \
    $(patsubst %,tests/unit/frontend/test_%.py, \
        captured_functions declaration decompile elementwise literals printing recursion \
        reductions statements) \
    $(patsubst %,tests/unit/intrinsics/test_%.py, \
        complex_math complex_order complex_rect integer_math) \
    $(patsubst %,tests/unit/rand/test_%.py, \
        binding bit_generators compat filling generator_distributions generator_face \
        generator_order layouts qmc request)
TESTED := not gpu and not slow and not fuzz

.PHONY: demo test test-cpu test-fakecuda public-tests generations headers fuzz bench docs lint format-check ruff-check types layers sizes clean
.NOTPARALLEL: # two installations at once would damage the environment

demo: $(VENV)/.installed
	$(BIN)/python -m pygpulib demo

test: test-cpu test-fakecuda

test-cpu: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 -m "$(TESTED)"

# The public tests once more, on a simulated GPU.
test-fakecuda: $(VENV)/.installed-test
	rm -f build/kernels/*.kernel
	$(BIN)/python -m pytest -n 2 -m "$(TESTED)" --backend fakecuda \
	    --keep-kernels build/kernels $(PUBLIC_TESTS)

public-tests: # where they are, for tools/gpu_check.sh
	@echo $(PUBLIC_TESTS)

# Every kernel that these tests compiled, for every generation of GPUs.
generations: $(VENV)/.installed-test
	$(BIN)/python -m tests.fakecuda.generations build/kernels

# The bound functions of libraries whose packages are too large for every run of the tests.
headers: $(VENV)/.installed-test $(VENV)/.installed-headers
	$(BIN)/python -m pytest tests/unit/bindings

fuzz: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 -m fuzz --hypothesis-profile=fuzz

# Files whose names begin with an underscore are shared by the others.
bench: $(VENV)/.installed-bench
	@set -e; for script in benchmarks/[a-z]*.py; do \
	    echo "== $$script"; $(BIN)/python "$$script"; \
	done

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -W -n -q -b html docs build/docs/html
	$(BIN)/sphinx-build -W -n -q -b doctest docs build/docs/doctest

lint: format-check ruff-check types layers sizes

format-check: $(VENV)/.installed-lint
	$(BIN)/ruff format --check .

ruff-check: $(VENV)/.installed-lint
	$(BIN)/ruff check .

types: $(VENV)/.installed-lint
	$(BIN)/mypy

layers: $(VENV)/.installed-lint
	$(BIN)/lint-imports

sizes: $(VENV)/.installed-lint
	$(BIN)/python tools/check_sizes.py

clean:
	rm -rf $(VENV) build dist mandelbrot.png
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# One stamp per set of extras: pip runs again only when pyproject.toml has changed since.
$(VENV)/.installed: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@

$(BIN)/pip: # made last, so its presence means that the environment is complete
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "pygpulib needs Python 3.11 or newer, and $(PYTHON) is not one." >&2; \
	    echo "Name another interpreter: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	    exit 1; }
	$(PYTHON) -m venv $(VENV)
