# What a user or CI calls. Every target makes `.venv` first and says in one line what the machine lacks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
TARGETS := help demo test test-fast properties lint format documents page page-check docs bench fuzz fuzz-requests soak soak-follow soak-kill soak-recording soak-service soak-fleet dist deb try-install try-deb built clean
.PHONY: $(TARGETS)

help:
	@echo "make demo    play a motion on a simulated six-axis arm"
	@echo "make test    run all tests, also those with real programs, brokers and browsers"
	@echo "make test-fast  run those that need nothing but Python: on virtual time, with sockets in memory"
	@echo "make properties  try 2000 random examples of each property of the tests, or EXAMPLES=…"
	@echo "make lint    ruff, mypy and the import contract"
	@echo "make documents  write openapi.json, asyncapi.json and protocol.ts, after a change of verbs or reports"
	@echo "make page    build the page into daemon/http/static; it needs node 20"
	@echo "make page-check  check and test the page's sources, and that what is committed is made of them"
	@echo "make docs    build the documentation as a site, into site/"
	@echo "make bench   print each figure beside its yardstick; \`make bench rate stop\` prints those two alone"
	@echo "make fuzz    feed each reader broken files for ten minutes, or SECONDS=…; READERS=\"seq sdf\" picks"
	@echo "make fuzz-requests  send a daemon 100,000 hostile requests, or COUNT=…; its robots must hold still"
	@echo "make soak-follow  follow 10,000 random sequences of targets, or COUNT=… from FIRST=…"
	@echo "make soak-kill  pull the plugs of real processes 500 times, or ROUNDS=… from FIRST=…"
	@echo "make soak-recording  kill daemons that record 100 times, or ROUNDS=… from FIRST=…; all but the last 1.5 s must be there"
	@echo "make soak-service  serve observers and pages while the broker comes and goes for 30 minutes, or MINUTES=…"
	@echo "make soak-fleet  start a group 1000 times while daemons, brokers and coordinators are killed, or STARTS=…"
	@echo "make dist    build wheel and sdist into dist/, play from each, and list what ships, with its licences"
	@echo "make deb     make a Debian package of the wheel, for the Debian that this is"
	@echo "make try-install  install what is in dist/ with each Python and pipx, and play"
	@echo "make try-deb      install, upgrade and purge the package in dist/ on a fresh Debian; needs root"
	@echo "make soak    live random lives of a daemon with its engine for 1,000,000 steps, or STEPS=… from seed FIRST=…"

demo: $(VENV)/.ready
	$(BIN)/motiond demo

# Where Python is told to keep no bytecode, each process and each worker would compile motiond and its tests.
test test-fast: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.ready
	@command -v mosquitto >/dev/null || [ -x /usr/sbin/mosquitto ] || \
		echo "mosquitto is missing: tests with a real broker are skipped; fix with: apt-get install mosquitto"
	@command -v nats-server >/dev/null || [ -x /usr/sbin/nats-server ] || \
		echo "nats-server is missing: tests with a cluster of brokers are skipped; fix with: apt-get install nats-server"
	@$(call in_memory,)
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 10 tests/system

test-fast: $(VENV)/.ready
	@$(call in_memory,-m "not slow")

# Two processes beside each other, of which each loads its own half: workers of pytest-xdist load all, twice.
in_memory = $(BIN)/python -m pytest -q $(1) tests/daemon & daemon=$$!; \
	$(BIN)/python -m pytest -q $(1) tests --ignore tests/system --ignore tests/daemon; rest=$$?; \
	wait $$daemon && exit $$rest

properties: $(VENV)/.ready
	EXAMPLES=$(or $(EXAMPLES),2000) $(BIN)/python -m pytest -m hypothesis --hypothesis-profile many --timeout 0

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What is made of the verbs and the reports.
documents: $(VENV)/.ready
	$(BIN)/python scripts/make_openapi.py && $(BIN)/python scripts/make_asyncapi.py && $(BIN)/python scripts/make_protocol.py

page: page/node_modules/.ready
	node page/build.mjs

# npm ci takes what the lock file says, whatever lies in node_modules.
page-check:
	cd page && npm ci --no-audit --no-fund && npx --no-install tsc --noEmit && npm test --silent
	@touch page/node_modules/.ready
	built="$$(mktemp -d)" && trap 'rm -rf "$$built"' EXIT && node page/build.mjs "$$built" && \
		diff -rq "$$built" daemon/http/static || \
		{ echo "daemon/http/static is not what page/ makes; fix with: make page, and commit it"; exit 1; }

page/node_modules/.ready: page/package-lock.json
	@command -v npm >/dev/null || \
		{ echo "npm is missing: the page cannot be built; fix with: apt-get install nodejs npm"; exit 1; }
	cd page && npm ci --no-audit --no-fund
	@touch $@

# Not --quiet, by which --strict would hear of no warning and let links lead nowhere.
docs: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]' || \
		{ echo "mkdocs-material is missing: the site cannot be built; fix with: a network"; exit 1; }
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Beside `bench`, a word that is no target is the name of a benchmark.
ifneq (,$(filter bench,$(MAKECMDGOALS)))
BENCHMARKS := $(filter-out $(TARGETS) $(VENV)/.ready,$(MAKECMDGOALS))
.PHONY: $(sort $(BENCHMARKS))
$(sort $(BENCHMARKS)): ; @:
endif

bench: $(VENV)/.ready
	$(BIN)/python -m bench $(BENCHMARKS)

fuzz: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]' || \
		{ echo "atheris is missing: it has no wheel for this machine; fix with: fuzz on Linux and x86-64"; exit 1; }
	$(BIN)/python -m fuzz.fuzz --seconds $(or $(SECONDS),600) $(READERS)

fuzz-requests: $(VENV)/.ready
	@$(BIN)/python -m fuzz.requests --count $(or $(COUNT),100000)

soak: $(VENV)/.ready
	@$(BIN)/python -m soak --steps $(or $(STEPS),1000000) --first $(or $(FIRST),0)

soak-follow: $(VENV)/.ready
	@$(BIN)/python -m soak.following --count $(or $(COUNT),10000) --first $(or $(FIRST),0)

soak-kill: $(VENV)/.ready
	@$(BIN)/python -m soak.kill --rounds $(or $(ROUNDS),500) --first $(or $(FIRST),0)

soak-recording: $(VENV)/.ready
	@$(BIN)/python -m soak.recording --rounds $(or $(ROUNDS),100) --first $(or $(FIRST),0)

soak-service: $(VENV)/.ready
	@$(BIN)/python -m soak.service --minutes $(or $(MINUTES),30) --restarts $(or $(RESTARTS),20)

soak-fleet: $(VENV)/.ready
	@$(BIN)/python -m soak.fleet --starts $(or $(STARTS),1000) --seed $(or $(FIRST),0)

# The wheel is made from the source distribution, which so is known to hold all of it. What dist/ has of this very
# commit is kept; a version that ends in a date (.d20…) is of changed files.
built: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@version="$$($(BIN)/python -m hatchling version)"; \
	case "$$version" in \
		*.d20* | 0+unknown) ;; \
		*) [ ! -e "dist/motiond-$$version-py3-none-any.whl" ] || exit 0 ;; \
	esac; \
	rm -rf dist && $(BIN)/python -m build --no-isolation --outdir dist >/dev/null

dist: built
	rm -rf build/environment
	$(BIN)/python -m venv --without-pip build/environment
	$(BIN)/python -m pip --python build/environment/bin/python install --quiet --disable-pip-version-check \
		"$$(echo dist/motiond-*.whl)[dynamixel,feetech]"
	$(BIN)/python scripts/make_bom.py build/environment dist
	scripts/try_install.sh dist/motiond-*.whl $(CURDIR)/$(BIN)/python
	scripts/try_install.sh dist/motiond-*.tar.gz $(CURDIR)/$(BIN)/python
	@ls dist

deb: built
	scripts/make_deb.sh dist/motiond-*.whl dist

try-install:
	scripts/try_install.sh dist/motiond-*.whl
	scripts/try_install.sh dist/motiond-*.tar.gz $(PYTHON)

try-deb:
	scripts/try_deb.sh dist/motiond_*.deb

$(VENV)/.ready: pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
		{ echo "python3 is missing: motiond needs Python 3.11 or newer; fix with: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$$($(PYTHON) --version) is too old: motiond needs Python 3.11 or newer; fix with: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "python3-venv is missing: the virtual environment cannot be made; fix with: apt-get install python3-venv"; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[hebi,dynamixel,feetech,test]' || \
		{ echo "hebi-py has no wheel for this machine: its tests are skipped"; \
		  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dynamixel,feetech,test]'; }
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
