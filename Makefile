# Faultline: run · test · check · bench. Thin, over cargo, npm and the workloads' own Makefile.
#
#   make run        measure this machine: builds, runs the quick suite, prints the table, writes faultline-report.html
#   make test       what fits in about a quarter of an hour; `make check` is part of it
#   make test-all   the slow ones too: fuzzing, the lens in an emulator, the workloads under sanitizers and for other systems
#   make bench      our loops beside the same loops written bare; bench-lens: how well the lens repeats itself
#   make install    to PREFIX (/usr/local)

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

CARGO := cargo
PREFIX := /usr/local
FAULTLINE := target/release/faultline
PAGE := lab/report/page
FUZZ_SECONDS := 60

.PHONY: build run test check test-all test-rust test-page test-workloads test-lens fuzz bench bench-lens install clean \
	needs-build needs-test workloads

# A command, and the packages that bring it.
needs-build:
	@command -v $(CARGO) >/dev/null || { echo "missing: Rust (cargo); hint: install it with rustup" >&2; exit 1; }
	@checks/need.sh cc=gcc make=make node=nodejs npm=npm

needs-test: needs-build
	@checks/need.sh python3=python3 unshare=util-linux "chromium=chromium fonts-dejavu-core"

workloads: needs-build
	@$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads

build: workloads
	@$(CARGO) build --release --locked -p faultline

run: build
	@$(FAULTLINE) run --suite quick --output faultline-report.html

check: needs-test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	python3 -m unittest discover -q -s checks
	checks/arrows.py
	checks/licences.py
	checks/links.py

test-rust: workloads
	$(CARGO) test --workspace --locked

test-page: needs-test
	cd $(PAGE) && npm ci --no-audit --no-fund && npm test

test-workloads: workloads needs-test
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads test

test: check test-rust test-page test-workloads

fuzz: needs-test
	checks/need.sh g++=g++
	$(CARGO) install --quiet --locked --root target/tools cargo-fuzz
	mkdir -p target/fuzz-corpus
	cd lab/model && PATH="$(CURDIR)/target/tools/bin:$$PATH" RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run transcript --sanitizer none \
		--target-dir $(CURDIR)/target/fuzz $(CURDIR)/target/fuzz-corpus fuzz/corpus/transcript \
		-- -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -dict=fuzz/transcript.dict -verbosity=0 -print_final_stats=1

# The plugin is a workspace of its own, under QEMU's licence; its tests run programs in QEMU's user mode.
test-lens: needs-build
	@checks/need.sh qemu-x86_64=qemu-user
	cd lens/plugin && $(CARGO) fmt --check && $(CARGO) clippy --all-targets --locked -- -D warnings && $(CARGO) test --locked

test-all: test fuzz test-lens
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads sanitize cross

bench-lens: needs-build
	@checks/need.sh qemu-x86_64=qemu-user
	cd lens/plugin && $(CARGO) bench --locked

bench: workloads
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads bench

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/faultline/workloads $(DESTDIR)$(PREFIX)/share/man/man1
	install $(FAULTLINE) $(DESTDIR)$(PREFIX)/bin/
	find target/workloads -maxdepth 1 -type f -perm -u+x -exec install {} $(DESTDIR)$(PREFIX)/libexec/faultline/workloads/ \;
	$(FAULTLINE) man $(DESTDIR)$(PREFIX)/share/man/man1

clean:
	rm -rf target $(PAGE)/node_modules
