# Every target makes what it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEELS := .venv-wheels/bin
# Rust's tests and the engine share what is compiled of others' code: one profile, one folder, and the same features of every
# crate. `[dev-dependencies]` in Cargo.toml name those of the engine; `tokio/test-util` is one of the tests.
FAST := --profile fast --target-dir target/python
FAST_ENGINE := $(FAST) --features python,tokio/test-util
# What is compiled once and run once is not optimised, and has the checks of a test.
CHECKED := $(foreach setting,opt-level=0 debug-assertions=true overflow-checks=true,--config profile.fast.package.marketpoints.$(setting))
# What compiles for minutes shows cargo's progress; CARGO_TERM_QUIET=true silences it.
DEVELOP := PIP_QUIET=1 $(BIN)/maturin develop $(FAST_ENGINE)
DEMO_EXTRAS := plot,pandas
# Argument: extras. pip gets them while cargo compiles; the last step finds all of it there.
define develop
@set -e; export PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1; \
  $(BIN)/python -m pip install --only-deps --no-build-isolation '.[$(1)]' & extras=$$!; \
  $(DEVELOP) --skip-install || { kill $$extras; exit 1; }; wait $$extras; $(DEVELOP) --extras $(1)
endef
# What is timed is built as wheels are: functions are inlined where that costs little code. Arguments of the compiler after `--`
# reach the package and what is optimised together with it, and rebuild nothing else.
SMALL_CODE := -- -Cllvm-args=-inlinedefault-threshold=75
SHIPPED := PIP_QUIET=1 $(BIN)/maturin develop --profile shipped --target-dir target/python $(SMALL_CODE)
# pip would compile every file that it installs, which takes longer than the rest of an installation; Python compiles those that
# are imported, once.
export PIP_COMPILE := no
unexport PYTHONDONTWRITEBYTECODE
# maturin installs into the environment that is active, and another one may be.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
ENGINE := $(shell find src -name '*.rs') Cargo.toml Cargo.lock pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help demo test test-rust test-rust-compiled test-python test-notebooks test-stubs test-frameworks test-wheel test-wheel-arm test-arm test-avx512 test-api docs docs-examples docs-site docs-serve notebooks pictures lint check format wheel wheels bench bench-client bench-service bench-stream bench-ingest bench-align bench-archive bench-universe bench-scale bench-decode bench-arm bench-raster bench-overviews prove fuzz hostile notices audit \
        fuzz-asan clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

demo: $(VENV)/.demo ## Fetch candles and an order-book heatmap from the local service into demo-output/
	$(BIN)/marketpoints demo --output demo-output

# Rust's tests run while the engine is compiled, for much of which one processor is enough, and pip works.
test: test-rust-compiled ## Run every test: Rust, Python, the notebooks, the stubs
	$(MAKE) --no-print-directory -j 3 test-rust $(VENV)/.dev .venv-frameworks/one_strategy/.ready
	$(MAKE) --no-print-directory test-python

test-rust-compiled:
	cargo test $(FAST) $(CHECKED) --no-run

test-rust: test-rust-compiled
	MAKEFLAGS= cargo test --quiet $(FAST) $(CHECKED) # rustdoc would ask for the jobs of a make above

# Tests run beside each other; more threads of linear algebra would only wait for them, and use a processor for it.
test-python test-notebooks: export OPENBLAS_NUM_THREADS := 1
test-python: $(VENV)/.dev
	$(BIN)/pytest --quiet -n 3 # more than there often are cores: many tests wait
	$(MAKE) --no-print-directory -j 3 test-framework-one_strategy test-notebooks test-stubs # each uses one of two cores for most of its time

test-notebooks: $(VENV)/.dev
	$(BIN)/pytest --quiet -n 2 --nbmake --nbmake-timeout=120 --ignore=notebooks/one_strategy.ipynb notebooks

test-stubs: $(VENV)/.dev
	$(BIN)/stubtest marketpoints._engine

# Each framework has an environment of its own: their pins contradict each other. A new one is two files in this folder.
# One of them is of a notebook and its frameworks, which is run by `make test`.
FRAMEWORKS := $(filter-out one_strategy,$(patsubst tests/frameworks/%.txt,%,$(wildcard tests/frameworks/*.txt)))

test-frameworks: $(FRAMEWORKS:%=test-framework-%) ## Run the recipes for backtest frameworks against the frameworks themselves

test-framework-%: .venv-frameworks/%/.ready $(VENV)/.dev
	@if [ -x .venv-frameworks/$*/bin/python ]; \
	  then .venv-frameworks/$*/bin/python -m pytest --quiet -c tests/frameworks/pytest.ini tests/frameworks/test_$*.py $(wildcard tests/frameworks/test_$*_*.py); \
	  else echo "$*: UNTRIED: it wants $$(sed -n '1s,^# ,,p' tests/frameworks/$*.txt), and there is none here"; fi

# A .pth file makes this checkout importable there, with the extension that `maturin develop` puts beside the package; the
# package's own dependency is named here.
# A framework that wants a newer Python than is to be had here is named as untried, and looked for again each time.
.venv-frameworks/%/.ready: tests/frameworks/%.txt tests/frameworks/interpreter.py | $(VENV)/.venv
	@rm -rf .venv-frameworks/$*
	@set -e; python=$$($(PYTHON) tests/frameworks/interpreter.py $<); if [ -n "$$python" ]; then set -x; \
	  "$$python" -m venv --without-pip .venv-frameworks/$*; \
	  $(BIN)/python -m pip --python .venv-frameworks/$*/bin/python install --quiet --disable-pip-version-check -r $< 'lazy-loader>=0.5'; \
	  .venv-frameworks/$*/bin/python -c 'import sys, sysconfig; \
	    open(sysconfig.get_path("purelib") + "/marketpoints.pth", "w").write(sys.argv[1] + "\n")' '$(CURDIR)/python'; \
	  touch $@; fi

.PRECIOUS: .venv-frameworks/%/.ready

# With the profile `fast`, whose build stands in target/python already; `wheels` makes those that are shipped.
test-wheel: $(VENV)/.dev .venv-wheels/.ready ## Build a wheel and a source distribution, install the wheel elsewhere and run quick tests from it
	rm -rf target/wheels/fast
	$(BIN)/maturin build --quiet $(FAST_ENGINE) --out target/wheels/fast
	$(BIN)/maturin sdist --out target/wheels/fast
	MARKETPOINTS_PROFILE=fast MARKETPOINTS_WHEELS=target/wheels/fast $(WHEELS)/python -m pytest --quiet -c tests/wheel/pytest.ini tests/wheel/test_contents.py
	$(WHEELS)/python tests/wheel/environments.py target/wheels/fast $(WHEEL_PYTHONS)

# Rust's library for the other processor must be there (tests/arm/rustc finds it). Linked by zig, whose C library is as old as
# the target says, but with the unwinder of the system: Python before 3.14 ends daemon threads by unwinding the C library's way,
# through the engine too, and zig's own would not know how. C (zstd) is compiled by this machine's own compiler for its own kind:
# archives are read an eighth slower with that of zig. Each wheel is built from the source distribution, which proves that complete.
# Its files have the time of no build: cargo would take the engine of an earlier one for theirs, so that is removed first.
WHEEL_MACHINES ?= x86_64 aarch64
wheels: .venv-wheels/.ready ## Build the wheels that are shipped, for Linux on 64-bit x86 and ARM, into target/wheels/, and test them
	@command -v advzip >/dev/null || { echo 'no advzip, which compresses wheels: as root on Debian: apt-get install advancecomp' >&2; exit 1; }
	rm -f target/wheels/*.whl target/wheels/*.tar.gz
	$(WHEELS)/python -m pip install --quiet 'maturin[zig]>=1.10,<2'
	set -e; for machine in $(WHEEL_MACHINES); do \
	  rustc=$$(tests/arm/rustc $$machine-unknown-linux-gnu); \
	  gcc=$$machine-linux-gnu-gcc; \
	  if [ $$machine = $$(uname -m) ]; then gcc=cc; export CC_$${machine}_unknown_linux_gnu=cc; fi; \
	  unwinder=$$($$gcc -print-file-name=libgcc_s.so.1); \
	  cargo clean --quiet --locked --package marketpoints --profile shipped --target $$machine-unknown-linux-gnu --target-dir target/shipped; \
	  RUSTC=$$rustc PATH="$(CURDIR)/$(WHEELS):$$PATH" $(WHEELS)/maturin build --profile shipped --locked --sdist --zig --compatibility manylinux_2_17 --compression-level 9 \
	    --target $$machine-unknown-linux-gnu --target-dir target/shipped --out target/wheels $(SMALL_CODE) -Clink-arg=$$unwinder; \
	done
	advzip --recompress --shrink-extra --keep-file-time --quiet target/wheels/*.whl
	MARKETPOINTS_WHEELS=target/wheels $(WHEELS)/python -m pytest --quiet -c tests/wheel/pytest.ini tests/wheel/test_contents.py tests/wheel/test_registers.py
	$(WHEELS)/python tests/wheel/environments.py target/wheels $(WHEEL_PYTHONS)

test-wheel-arm: .venv-wheels/.ready ## Run the quick tests from the wheel for ARM, under a Python of Debian in an emulator (needs qemu-user)
	$(WHEELS)/python tests/wheel/debian.py target/wheels bookworm 3.11 arm64

test-arm: ## Run the decoder's tests on 64-bit ARM, in an emulator where the machine is none (tests/arm/run says what it needs)
	tests/arm/run

test-avx512: ## Run the tests of the decoder's kernels with AVX-512, in an emulator where the processor has none (tests/avx512/run says what it needs)
	tests/avx512/run

bench-arm: $(VENV)/.dev ## Estimate the decoder's speed on ARM processors and write docs/performance.md (needs qemu-user and LLVM)
	$(BIN)/python benches/arm.py

docs: docs-examples docs-site ## Build the manual into target/manual/site; a dead link, a missing name or a failing example breaks it

docs-examples: $(VENV)/.dev
	$(BIN)/pytest --quiet -n 2 tests/python/test_docs.py tests/python/test_docs_blocks.py tests/python/test_docs_types.py

# The builder's pins would tie those of the tests: an environment of its own.
docs-site: .venv-docs/.ready
	.venv-docs/bin/python -m pytest --quiet -c tests/manual/pytest.ini tests/manual
	.venv-docs/bin/python docs/site/build.py

docs-serve: docs-site ## Show the manual on this machine, with its search
	$(PYTHON) -m http.server --bind 127.0.0.1 --directory target/manual/site

.venv-docs/.ready: docs/site/requirements.txt
	rm -rf .venv-docs
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

notebooks: $(VENV)/.dev .venv-frameworks/one_strategy/.ready ## Run the notebooks anew and keep their outputs and pictures
	$(BIN)/python docs/site/notebooks.py $(filter-out one_strategy,$(patsubst notebooks/%.ipynb,%,$(wildcard notebooks/*.ipynb)))
	.venv-frameworks/one_strategy/bin/python docs/site/notebooks.py one_strategy

pictures: $(VENV)/.dev ## Draw the pictures of README and manual anew, by the code above them
	MARKETPOINTS_DRAW=1 $(BIN)/pytest --quiet tests/python/test_docs_blocks.py

test-api: $(VENV)/.dev ## Ask the local service whatever an API tester thinks of, for some minutes
	MARKETPOINTS_API_EXAMPLES=200 $(BIN)/pytest --quiet tests/python/test_local_service_openapi.py

lint: $(VENV)/.dev ## Run the linters, warnings as errors
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets --features python -- -D warnings
	cargo clippy --no-default-features -- -D warnings
	cp Cargo.lock tests/decoder/Cargo.lock && cargo check --quiet --tests --manifest-path tests/decoder/Cargo.toml --target-dir target/arm
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

check: test lint ## Everything that must pass before a commit

format: $(VENV)/.dev ## Format Rust and Python
	cargo fmt
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

wheel: $(VENV)/.venv ## Build the wheel for this machine, as those that are shipped, into target/wheels/
	$(BIN)/maturin build --profile shipped --compression-level 9 --target-dir target/python --out target/wheels $(SMALL_CODE)

bench: $(VENV)/.dev ## Time decoding, fetching and frames against the local service
	$(SHIPPED)
	$(BIN)/python benches/road.py

bench-client: $(VENV)/.dev ## Time the client beside httpx and aiohttp (needs curl)
	$(SHIPPED)
	$(BIN)/pip install --quiet httpx aiohttp 'msgspec>=0.20' 'orjson>=3.11' 'pysimdjson>=7' pandas
	$(BIN)/python benches/client.py

bench-service: $(VENV)/.dev ## Time the local service against orjson and FastAPI (needs curl and wrk)
	$(SHIPPED)
	$(BIN)/pip install --quiet orjson fastapi 'uvicorn[standard]'
	$(BIN)/python benches/service.py

bench-ingest: $(VENV)/.dev ## Time the ingest of ten million trades against polars
	$(SHIPPED)
	$(BIN)/python benches/ingest.py

bench-align: $(VENV)/.dev ## Time mp.align over ten million rows beside polars' join_asof
	$(SHIPPED)
	$(BIN)/python benches/align.py

bench-archive: $(VENV)/.dev ## Time reads of an archive beside polars, which reads the same files
	$(SHIPPED)
	$(BIN)/python benches/archive.py

bench-universe: $(VENV)/.dev ## Time plans of a thousand series and runs at full budget, into docs/universe.md, nine minutes
	$(SHIPPED)
	$(BIN)/python -m pip install --quiet 'distributed>=2025.1'
	$(BIN)/python benches/universe.py --write

bench-scale: $(VENV)/.dev ## Measure how cost grows with series, years and workers, into docs/scale.md
	$(SHIPPED)
	$(BIN)/python benches/scale.py --write

bench-stream: $(VENV)/.dev ## Time the live stream beside websockets with orjson, into docs/stream.md
	$(BIN)/python -m pip install --quiet 'orjson>=3.11'
	$(SHIPPED)
	$(BIN)/python benches/stream.py --write

bench-decode: $(VENV)/.dev ## Time the decoder beside its peers and write docs/performance.md
	$(BIN)/python -m pip install --quiet 'msgspec>=0.20' 'orjson>=3.11' 'pysimdjson>=7'
	$(SHIPPED)
	CARGO_TARGET_DIR=target/peers $(BIN)/python benches/decode.py

bench-raster: $(VENV)/.dev ## Time pictures of heatmaps beside matplotlib and datashader, into docs/performance.md
	$(BIN)/python -m pip install --quiet datashader
	$(SHIPPED)
	$(BIN)/python benches/raster.py --write

DAYS ?= 30
bench-overviews: $(VENV)/.dev ## Time an archive's explorer over DAYS (30) of minutes of a thousand levels
	$(SHIPPED)
	$(BIN)/python benches/overviews.py $(DAYS)

HOSTILE_SECONDS ?= 180
hostile: $(VENV)/.dev ## Repeat the attacks of docs/faults.md at volume on loopback for HOSTILE_SECONDS (180)
	$(BIN)/python tests/hostile/run.py $(HOSTILE_SECONDS)

notices: ## Write the licences of the linked crates to THIRD-PARTY-NOTICES.txt
	$(PYTHON) tests/licences/crates.py

# Both need databases that package registries do not have. The tools: cargo install cargo-deny; pip install pip-audit.
audit: ## Look for known vulnerabilities among the dependencies, with cargo-deny and pip-audit
	cargo deny --features python check
	pip-audit .

prove: ## Ten million spellings for every kernel, and every damage of small bodies; minutes
	cargo test $(FAST) --lib decode:: -- --include-ignored

FUZZ_SECONDS ?= 60
FUZZ_TARGETS := flat points numbers chunking
# New inputs go to target/fuzz; the committed ones stay small. The tool: cargo install cargo-fuzz.
define fuzz
	cp Cargo.lock fuzz/Cargo.lock
	cd fuzz && for target in $(FUZZ_TARGETS); do \
	  mkdir -p ../target/fuzz/$$target && $(1) cargo fuzz run --sanitizer $(2) $$target ../target/fuzz/$$target \
	    corpus/$$target -- -max_total_time=$(FUZZ_SECONDS) -max_len=20000 || exit 1; \
	done
endef

fuzz: ## Fuzz each target of the decoder for FUZZ_SECONDS (60)
	$(call fuzz,,none)

fuzz-asan: ## The same with the address sanitizer, which stable Rust only has on request
	$(call fuzz,RUSTC_BOOTSTRAP=1,address)

.venv-wheels/.ready: tests/wheel/requirements.txt
	rm -rf .venv-wheels
	$(PYTHON) -m venv .venv-wheels
	$(WHEELS)/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

clean: ## Remove what was built, the virtual environment included
	rm -rf target $(VENV) .venv-frameworks .venv-docs .venv-wheels demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/marketpoints/_engine*.so

# Crates are downloaded meanwhile; where that fails, cargo says so when it compiles.
$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo '$(PYTHON) is older than Python 3.10; name another one: make PYTHON=python3.11 …' >&2; exit 1; }
	cargo fetch --quiet --locked & set -e; \
	  $(PYTHON) -m venv $(VENV); $(BIN)/python -m pip install --quiet --upgrade pip 'maturin>=1.10,<2'; wait
	@touch $@

$(VENV)/.demo: $(VENV)/.venv $(ENGINE)
	$(call develop,$(DEMO_EXTRAS))
	@touch $@

$(VENV)/.dev: $(VENV)/.venv $(ENGINE)
	$(call develop,dev)
	@touch $(VENV)/.demo $@
