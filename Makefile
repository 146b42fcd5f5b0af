# What a user and a developer of Cenote run. `make` alone lists it.

PYTHON ?= python3
VENV := .venv
REQUIREMENTS := tests/python/requirements.txt
# `make -n` runs each line that has `MAKE` itself.
SUBMAKE := $(MAKE)
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Each crate is compiled as a whole, which takes a third less processor time from a clean clone.
# `cargo` by itself compiles incrementally; neither rebuilds what the other made.
export CARGO_INCREMENTAL := 0
# A tenth less again. A failed assertion names its line all the same.
export CARGO_PROFILE_DEV_DEBUG := 0
# Python keeps what it has compiled, also where the environment says it should not: else each of the
# hundreds of processes that tests start would compile all packages again.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(abspath $(TARGET))/pycache
# Two more than there are cores: tests that wait for the drive leave theirs to others.
export RUST_TEST_THREADS ?= $(shell echo $$(($$(nproc) + 2)))
export CENOTE := $(abspath $(TARGET)/release/cenote)
# All tests of Rust but those of documentation, which `cargo test --doc` builds by itself. Examples
# are built where a test runs them. With `--lib` the Python package, which has no tests in Rust, would
# be compiled once more.
RUST_TESTS := --workspace --locked --tests
# What `cargo test` builds: assertions and overflow checks are on, so the Python tests use it too.
CHECKED := $(abspath $(TARGET)/debug/cenote)
# The native part of the Python package, of the same build, where Python finds it beside its files.
EXTENSION := python/cenote/_cenote.abi3.so

# A worker without tests takes another's.
PYTEST = CENOTE=$(CHECKED) PYTHONPATH=$(abspath python):$(abspath python/nx-cenote) \
  $(VENV)/bin/python -m pytest -p no:cacheprovider --dist worksteal

.PHONY: help
help:
	@echo 'make demo   import a real graph and a larger made one, run BFS, WCC and PageRank'
	@echo 'make test   every test but those of soak: Rust, then Python against SciPy, NetworkX and igraph'
	@echo 'make soak   the tests that take long, models of the pool, and the fuzzers with other seeds'
	@echo 'make ray-soak  shards on Ray, longer: more kinds of graphs, more killed processes'
	@echo 'make crash  a million power cuts and faults while graphs are updated (takes an hour)'
	@echo 'make kills  updates, merges and compactions that are killed, 500 times (takes five minutes)'
	@echo 'make lint   formatting and lints, warnings denied'
	@echo 'make package  every crate as it would be published, built from its archive'
	@echo 'make bench  the figures of the README (takes long; cold caches need root)'
	@echo 'make pool-bench   the figures of the buffer pool (takes half an hour on a 4 GiB file)'
	@echo 'make algo-bench   the figures of every algorithm, against its rivals (takes hours)'
	@echo 'make gap-bench    kernels x graphs beside programs in memory, with GAPBS=... also the GAP suite'
	@echo 'make python-bench  the figures of the Python package, beside other packages (takes an hour)'
	@echo 'make drive-bench  a graph over two drives of which one is slow (as root, six minutes)'
	@echo 'make tier-bench   the figures of the tiering policies, simulated (takes an hour)'
	@echo 'make docs   the documentation as pages, of the crates too: $(TARGET)/docs/index.html'
	@echo 'make first-use  the Python examples of the READMEs in a fresh environment, from a wheel'
	@echo 'make python  the Python package in place, for PYTHONPATH=python'
	@echo 'make wheel  the Python package as a wheel: $(TARGET)/wheels'
	@echo 'make build  the command alone: $(TARGET)/release/cenote'

.PHONY: demo
demo: build
	$(CENOTE) demo

# The network is waited for while the compiler works.
.PHONY: test-build
test-build: toolchain
	set -e; mkdir -p $(TARGET); \
	  $(SUBMAKE) --no-print-directory venv browser > $(TARGET)/venv.log 2>&1 & venv=$$!; \
	  cargo test $(RUST_TESTS) --no-run; \
	  wait $$venv && cat $(TARGET)/venv.log || { cat $(TARGET)/venv.log; exit 1; }

# While the tests of Rust run, what else is needed is built, and shards on Ray are tested. The tests
# get two seconds to start, since cargo does not start them while it builds something else.
.PHONY: test
test: test-build
	{ cargo test $(RUST_TESTS) --no-fail-fast && cargo test --workspace --locked --doc; } & tests=$$!; \
	  status=0; sleep 2; \
	  $(SUBMAKE) --no-print-directory test-beside > $(TARGET)/ray.log 2>&1 || status=1; \
	  wait $$tests || status=1; cat $(TARGET)/ray.log; exit $$status
# The command and the packages side by side.
	$(SUBMAKE) --no-print-directory test-packages > $(TARGET)/packages.log 2>&1 & packages=$$!; \
	  status=0; $(PYTEST) -m 'not long' -n 3 tests/python || status=1; \
	  wait $$packages || status=1; cat $(TARGET)/packages.log; exit $$status

# One after the other: each has a conftest.py of its own.
.PHONY: test-packages
test-packages:
	status=0; for tests in python/tests python/nx-cenote/tests; do \
	    $(PYTEST) -m 'not long' -n 2 $$tests || status=1; \
	  done; exit $$status

# The tests on Ray share one process, since it takes seconds to start, and often wait for it.
.PHONY: test-beside
test-beside: python
	PYTHONPATH=$(abspath python) $(VENV)/bin/python -m pytest -p no:cacheprovider -m 'not long' \
	    python/ray-tests

# Every kind of graph in every number of shards, and twenty processes that are killed.
.PHONY: ray-soak
ray-soak: python venv
	CENOTE_RAY_LONG=1 PYTHONPATH=$(abspath python) \
	  $(VENV)/bin/python -m pytest -p no:cacheprovider python/ray-tests

# Other seeds than the tests', longer: SOAK_SEED=7 SOAK_TIMES=100 make soak.
SOAK_SEED ?= 1000000
SOAK_TIMES ?= 8
.PHONY: soak
soak: python venv
	cargo build --workspace --locked --example fuzz --bin cenote
	$(TARGET)/debug/examples/fuzz all $(SOAK_SEED) $(SOAK_TIMES)
	cargo test --workspace --locked --tests -- --ignored longer
	cargo test --workspace --locked --features cenote-pool/model --test model
	set -e; for tests in tests/python python/nx-cenote/tests; do \
	  $(PYTEST) -m long -n 3 $$tests; \
	done
	PYTHONPATH=$(abspath python) $(VENV)/bin/python -m pytest -p no:cacheprovider -m long \
	  python/ray-tests

# A power cut or a fault at a million changes of the device under updated graphs, in about an hour.
# One again: cargo run -p cenote-sim --example crash -- replay SEED POINT.
CRASH_POINTS ?= 1000000
CRASH_SEED ?= 1000000
.PHONY: crash
crash: toolchain
	cargo build --workspace --locked --example crash
	$(TARGET)/debug/examples/crash $(CRASH_POINTS) $(CRASH_SEED)

.PHONY: kills
kills: build venv
	$(VENV)/bin/python experiments/kills.py

.PHONY: lint
lint: toolchain venv
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(VENV)/bin/ruff check python
	$(VENV)/bin/ruff format --check python

# One target folder for all archives, so that what they depend on is built once. Its name is new each
# time: cargo keeps the unpacked archives by the name of that folder, and would build those of an
# earlier run again. What it unpacked of ours goes away with it.
CARGO_HOME ?= $(HOME)/.cargo
.PHONY: package
package: toolchain
	rm -rf $(TARGET)/packaged.*
	set -e; mkdir -p $(TARGET); packaged=$$(mktemp -d $(abspath $(TARGET))/packaged.XXXXXXXX); \
	  trap 'rm -rf "$$packaged" "$(CARGO_HOME)"/registry/src/-*/cenote*' EXIT; \
	  CARGO_TARGET_DIR=$$packaged cargo package --workspace --exclude cenote-sim \
	    --exclude cenote-python --locked --allow-dirty

.PHONY: bench
bench: build venv
	$(VENV)/bin/python experiments/bench.py
	-$(VENV)/bin/python experiments/profile_vs_fio.py

.PHONY: pool-bench
pool-bench: build
	$(PYTHON) experiments/pool_bench.py

.PHONY: algo-bench
algo-bench: build venv
	$(VENV)/bin/python experiments/algo_bench.py

# About ten minutes without rivals that are not there by themselves; more with them, and with
# GAP_GRAPHS=kron-22,road,star and the like. GAPBS names the folder of
# the GAP benchmark suite's programs, built with `make`, ACGRAPH that of ACGraph's: without them they
# are left out. So is rustworkx where it is not installed, and the crate `graph` unless
# experiments/graph-rival has been built with `cargo build --release`.
GAP_GRAPHS ?= kron-20,uniform-20,grid,path
.PHONY: gap-bench
gap-bench: build venv
	$(VENV)/bin/python experiments/gap_bench.py --graphs $(GAP_GRAPHS)

# The workers run from a venv of their own, with the wheel.
.PHONY: python-bench
python-bench: build wheel
	$(PYTHON) -m venv $(TARGET)/python-bench
	$(TARGET)/python-bench/bin/pip install --quiet --disable-pip-version-check \
	  duckdb==2.0.0 -r $(REQUIREMENTS)
	$(TARGET)/python-bench/bin/pip install --quiet --disable-pip-version-check --no-deps \
	  --force-reinstall $(TARGET)/wheels/cenote-*.whl
	$(VENV)/bin/python experiments/python_bench.py --python $(TARGET)/python-bench/bin/python

.PHONY: tier-bench
tier-bench: build
	$(PYTHON) experiments/tier_bench.py

.PHONY: drive-bench
drive-bench: build
	$(PYTHON) experiments/drive_bench.py

.PHONY: build
build: toolchain
	cargo build --release --locked -p cenote-cli

.PHONY: python
python: toolchain
	cargo build --workspace --locked --lib --example hops --example mixing --example five_best
	ln -sf $(abspath $(TARGET))/debug/lib_cenote.so $(EXTENSION)
	$(PYTHON) python/nx-cenote/develop.py

.PHONY: wheel
wheel: toolchain venv
	cd python && $(abspath $(VENV))/bin/maturin build --release --locked \
	  --out $(abspath $(TARGET))/wheels

# As a new user has it: nothing but the wheel, the backend and what they need.
.PHONY: first-use
first-use: wheel python venv
	CENOTE_WHEEL=$$(ls -t $(abspath $(TARGET))/wheels/cenote-*.whl | head -n 1) \
	  PYTHONPATH=$(abspath python):$(abspath python/nx-cenote) \
	  $(VENV)/bin/python -m pytest -p no:cacheprovider python/tests -k fresh

# After the first time without a network. The reference of the command comes from its help. The
# example makes cargo choose the features of packages as for the tests: without it, the command and
# what it depends on would be built again.
.PHONY: docs
docs: toolchain docs-venv
	cargo build --workspace --locked --example fuzz --bin cenote
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --locked --no-deps --lib \
	  --exclude cenote-sim --exclude cenote-python
	CENOTE=$(CHECKED) NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict --quiet \
	  --site-dir $(abspath $(TARGET))/docs
	cp -r $(TARGET)/doc $(TARGET)/docs/rust
	@echo 'file://$(abspath $(TARGET))/docs/index.html'

.PHONY: docs-venv
docs-venv:
	@cmp -s docs/requirements.txt $(VENV)/installed-docs.txt || { \
	  test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV); \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	    -r docs/requirements.txt && \
	  cp docs/requirements.txt $(VENV)/installed-docs.txt; }

.PHONY: toolchain
toolchain:
	@command -v cargo >/dev/null || { \
	  echo 'make: no cargo found: install Rust 1.95 or later, see https://rustup.rs' >&2; exit 1; }

# The tests look at reports with it; where it cannot be installed they skip that, and say so.
.PHONY: browser
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get install -qq -y --no-install-recommends chromium >/dev/null || \
	      { apt-get update -qq && \
	        apt-get install -qq -y --no-install-recommends chromium >/dev/null; } || \
	      echo 'make: cannot install chromium: tests that look at reports are skipped' >&2; \
	  else echo 'make: no chromium: tests that look at reports are skipped' >&2; fi; }

# The packages stay while the list stays, so that a second run needs no network. uv takes a fifth of
# pip's processor time. Where only pip is set up for the network, such as for a mirror, pip does it.
.PHONY: venv
venv:
	@cmp -s $(REQUIREMENTS) $(VENV)/installed.txt || { \
	  $(PYTHON) -m venv $(VENV) && \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.9 && \
	  { $(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python -r $(REQUIREMENTS) || \
	    { echo 'make: uv cannot install the packages: trying pip' >&2; \
	      $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	        -r $(REQUIREMENTS); }; } && \
	  cp $(REQUIREMENTS) $(VENV)/installed.txt; }
