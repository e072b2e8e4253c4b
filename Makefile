# `make demo` shows what xcid does; `make test` is for every change, `make test-all` adds all extras, browser and engines.
# Each makes its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all rest lint types imports unit prose docs pages images bench mutants sentences soak evaluate generators
.PHONY: reproduce package clean

demo: $(VENV)/.demo
	mkdir -p out
	$(BIN)/xcid demo --out out/demo.html

test: lint types imports unit

test-all: test rest

# After `make test`, with every extra: what is slow, what was skipped, the types of the benchmarks, spelling.
rest: $(VENV)/.dev prose
	$(BIN)/mypy
	$(PYTEST) --rest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy src

imports: $(VENV)/.test
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.test
	$(PYTEST) -m "not slow"

# Approve what is said now; look through the difference before it is committed.
sentences: $(VENV)/.dev
	$(BIN)/pytest -q --renew-sentences $(shell grep -rl --include='test_*.py' 'approved[.(]' tests)
	git --no-pager diff --stat tests/sentences.json

prose: $(VENV)/.dev
	$(BIN)/codespell

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q -d out/doctrees docs out/docs
	@echo "the site begins at out/docs/index.html"

pages: $(VENV)/.dev
	$(BIN)/python docs/renew_output.py
	$(BIN)/python docs/notebooks.py

images: $(VENV)/.dev
	$(BIN)/python docs/make_images.py
	$(BIN)/python docs/make_screens.py

bench: $(VENV)/.dev
	$(BIN)/xcid bench --out out/bench.json
	$(BIN)/python benchmarks/against_dice.py

generators: $(VENV)/.dev
	$(BIN)/python benchmarks/generators.py --rows 6 --out docs/generators.md

evaluate: $(VENV)/.dev
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/digits.py

mutants: $(VENV)/.dev
	$(BIN)/python soak/mutants.py $(ARGS)

soak: $(VENV)/.dev
	$(BIN)/python soak/run.py

reproduce: $(VENV)/.dev
	$(BIN)/xcid reproduce --out out/reproduction

# What a release publishes: wheel and source, as the registry checks them, and the wheel in an environment of its own.
package:
	rm -rf dist out/package
	$(PYTHON) -m venv out/package
	out/package/bin/python -m pip install --quiet build twine
	out/package/bin/python -m build --outdir dist > out/package/build.log
	out/package/bin/twine check --strict dist/*
	out/package/bin/python -m pip install --quiet dist/*.whl scikit-learn
	cd out/package && bin/python ../../tests/check_wheel.py ""

clean:
	rm -rf $(VENV) build dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e ".[demo]"
	touch $@

$(VENV)/.test: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e ".[test]"
	touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	touch $@

$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	touch $@ $(VENV)/.test $(VENV)/.demo $(VENV)/.docs
