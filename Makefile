# Everything that this project does, each from a bare Debian or Ubuntu with python3 and make.
# `make help` lists it. Set-up is in tools/setup, the build in tools/build.py (Bazel).

# The virtual environment, and the interpreter to make it from where it is missing. If PYTHON
# imports a supported TensorFlow, the environment uses that one.
VENV ?= .venv
PYTHON ?= python3

# What pip installs as TensorFlow, e.g. tensorflow-cpu==2.20.0. Empty: what is installed if it is
# supported, else the newest supported tensorflow-cpu.
TENSORFLOW ?=

# More arguments for pytest, e.g. PYTEST_ARGS="-k greedy".
PYTEST_ARGS ?=

# Arguments for the benchmarks, e.g. BENCH_ARGS=--quick; BENCH_ARGS=--help lists them.
BENCH_ARGS ?=

SETUP = $(PYTHON) -m tools.setup --python "$(PYTHON)" --venv "$(VENV)" --tensorflow "$(TENSORFLOW)"
INSIDE = $(VENV)/bin/python
BUILD = $(PYTHON) -m tools.build --python "$(INSIDE)"

# The benchmarks' peers are in an environment of their own, which sees the first one's packages.
BENCH_VENV = .tools/bench-venv
SETUP_BENCH = $(PYTHON) -m tools.setup --python "$(INSIDE)" --venv "$(BENCH_VENV)"

export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: help build test test-python asan demo bench bench-pipelines wheel wheel-check lint format clean distclean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20
	@echo 'Variables: VENV=$(VENV) PYTHON=$(PYTHON) TENSORFLOW=$(TENSORFLOW) PYTEST_ARGS=$(PYTEST_ARGS) BENCH_ARGS=$(BENCH_ARGS)'

build: ## builds the libraries into tf_warpctc/, so that this tree imports as it is
	@$(SETUP) build
	@$(BUILD)

test: test-python asan ## all tests

test-python: ## tests without the sanitizers' run
	@$(SETUP) build test demo
	@$(BUILD)
	$(INSIDE) -m pytest $(PYTEST_ARGS)

asan: ## kernels' tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(SETUP) build test
	@$(BUILD) --asan
	$(INSIDE) -m tools.asan -m pytest --capture=sys tests/kernels $(PYTEST_ARGS)

demo: ## trains, exports and reads lines of handwritten digits
	@$(SETUP) build demo
	@$(BUILD)
	$(INSIDE) examples/read_digits/run.py

bench: ## speed, accuracy and memory beside the peers, into build/bench/; most of an hour
	@$(SETUP) build
	@$(BUILD)
	@$(SETUP_BENCH) bench peers
	$(BENCH_VENV)/bin/python -m benchmarks $(BENCH_ARGS)

bench-pipelines: ## ragged batches beside padded ones, from data set to update; some minutes
	@$(SETUP) build demo
	@$(BUILD)
	$(INSIDE) -m benchmarks.pipelines $(BENCH_ARGS)

wheel: ## a wheel in dist/, for this Python and this minor version of TensorFlow
	@$(SETUP) build test
	@rm -f dist/*.whl
	$(INSIDE) -m pip wheel --no-build-isolation --no-deps --wheel-dir dist .

wheel-check: wheel ## the loss's known cases, with the package that is in the wheel
	rm -rf build/wheel
	$(INSIDE) -m pip install --quiet --no-deps --target build/wheel dist/*.whl
	cd build && TF_WARPCTC_TEST_INSTALLED=1 PYTHONPATH="$(CURDIR)/build/wheel" \
	  "$(abspath $(INSIDE))" -m pytest ../tests/test_loss_cases.py $(PYTEST_ARGS)

lint: ## ruff, clang-format and buildifier, as far as they are installed, checking only
	@$(SETUP) lint
	@$(INSIDE) -m tools.lint

format: ## the same, rewriting the files
	@$(SETUP) lint
	@$(INSIDE) -m tools.lint --fix

clean: ## removes what was built
	@[ ! -x .tools/bin/bazel ] || .tools/bin/bazel clean --expunge
	rm -rf build dist *.egg-info tf_warpctc/*.so tf_warpctc/_build_config.json

distclean: clean ## removes that and what set-up has installed in this tree
	rm -rf .tools .venv
