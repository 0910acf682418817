# KernelZero: `make run` and `make test` build their environment in .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test lint bench lock clean

run: $(READY)
	$(BIN)/kernelzero run --profile tiny

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .

bench: $(READY)
	$(BIN)/python benchmarks/keck_cpu.py

# the environment: exact versions from requirements.lock, then the project itself, editable
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("KernelZero needs Python 3.11 or newer; name one: make PYTHON=python3.11 $(MAKECMDGOALS)")'
	@echo "building the environment in $(VENV) (once, about two minutes)"
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

# write requirements.lock anew from the ranges in pyproject.toml, without addresses
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install -qq --disable-pip-version-check 'torch==2.13.0' '.[dev]' setuptools
	(echo '# Exact versions that work together; `make lock` writes this file. Where torch is a CUDA build, pip adds the CUDA libraries that it pins.'; \
	 build/lock/bin/python -m pip freeze --all | grep -vE '^(kernelzero|pip|nvidia-|cuda-)' | sed 's/+cpu//') > requirements.lock
	rm -rf build/lock

clean:
	rm -rf $(VENV) build dist *.egg-info
