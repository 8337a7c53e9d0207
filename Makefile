# Everything a contributor runs. Needs only make and a Python of 3.11 or newer.

BIN := .venv/bin
PYTHON := $(BIN)/python
TYPED := src tests scripts benchmarks
PICTURES := .venv/pictures

# Many processes are started here: each should find its modules compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test suite typed soak check lint types fix pictures bench docs postgres chromium

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: .venv/installed  ## see Quire work: ingest, plan, run and export the examples
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/demo.sh

test: .venv/installed  ## every check and test, on SQLite and a real PostgreSQL
	@$(MAKE) --no-print-directory lint
	@rm -f .venv/complaint
	@$(MAKE) --no-print-directory --jobs=2 typed suite \
	    || { cat .venv/complaint 2>/dev/null; exit 1; }

suite: .venv/installed postgres chromium  # runs beside the types, which take a core half a minute
	exec $(PYTHON) -m pytest -n 3 --dist worksteal -m "not soak" --slowest 10

typed: .venv/installed  # a complaint ends the tests beside it, and nothing else is said after it
	@trap "" TERM; $(MAKE) --no-print-directory types > .venv/types 2>&1 \
	    || { mv .venv/types .venv/complaint; kill $$PPID; }

soak: .venv/installed postgres chromium  ## big numbers, kill storms, many more examples; takes long
	$(PYTHON) -m pytest -m "soak or hypothesis" --hypothesis-profile=soak -o faulthandler_timeout=0

check: lint types  ## lint, format, import contracts and types

lint: .venv/installed  # what takes seconds, so that nobody waits for it
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(BIN)/lint-imports --no-logo > .venv/imports || { cat .venv/imports; exit 1; }

types: .venv/installed
	$(BIN)/mypy $(TYPED)

fix: .venv/installed  ## mend what can be mended by itself, then format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

pictures: .venv/installed chromium  ## every page as a picture: light, dark and as on a phone, in .venv/pictures
	@mkdir -p $(PICTURES)
	@QUIRE_TEST_PICTURES=$(abspath $(PICTURES)) $(PYTHON) -m pytest -q tests/web
	@echo "$(PICTURES): $$(ls $(PICTURES) | wc -l) pictures"

bench: .venv/installed postgres  ## ratios, measured side by side on this machine
	@missed=0; for file in benchmarks/bench_*.py; do \
	    name=$$(basename "$$file" .py); echo "== $$name"; \
	    $(PYTHON) -m "benchmarks.$$name" || missed=1; \
	done; exit $$missed

docs: .venv/installed  ## redraw the pages that are made from the code
	$(PYTHON) scripts/draw_states.py > docs/states.md.new
	@mv docs/states.md.new docs/states.md
	@$(PYTHON) scripts/write_schema.py > docs/schema.new && mv docs/schema.new src/quire/ledger/sql/whole/sqlite.sql
	@for page in modules command_page key_page python_page table_page http_page; do $(PYTHON) -m tests.docs.$$page; done

postgres: .venv/installed  # find or install PostgreSQL once, before test processes want it at the same time
	@$(PYTHON) -m tests.postgres

chromium: .venv/installed  # the same of the browser that looks at the pages
	@$(PYTHON) -m tests.web.browser

.venv/installed: requirements.txt pyproject.toml
	@if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    python=$$(scripts/find_python) || exit 1; \
	    echo "Setting up .venv with $$python"; \
	    "$$python" -m venv --clear .venv || exit 1; \
	fi
	@echo "Installing the pinned packages into .venv"
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.txt
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
