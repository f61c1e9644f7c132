# Faultline: run, test, check, install. A thin layer over cargo, npm and the rooms' Makefiles.
#
#   run       measures this machine (quick suite; 2 minutes + build), writes faultline-report.html
#   test      all tests of every change, including `check`; half an hour on two cores, with builds
#   check     format, lints, arrows between rooms, words, licences, links
#   install   builds with full optimisation, installs to PREFIX (/usr/local)
#
# Parts of `test`:
#   test-rust       the lab: unit, property and golden tests, the command end to end, small guests
#   test-lens       the emulator's plugin
#   test-vm         the memory system (vm/Makefile)
#   test-page       pages in a browser, without a database
#   test-journeys   from a download, two builds and a nightly history to an answer
#   test-workloads  each workload as a black box, also under sanitizers
#
# Nightly, or before a release (other targets are described below, with their times):
#   test-all    everything below, and `test`; transfer budgets of the memory system in guests
#   test-fresh  README's commands in a bare root of Debian 12 (SUITE=trixie: 13), the suite from
#               three directories of different lengths; as root; three times `test`
#
# Benchmarks: bench, or bench-TARGET of bench/README.md, which says what each shows.

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

CARGO := cargo
PREFIX := /usr/local
# `run` and the tests share one build, optimised and with assertions; `install` has its own.
FAULTLINE := target/debug/faultline
INSTALLED := target/release/faultline
PAGE := lab/report/page
FUZZ_SECONDS := 60
API_SECONDS := 60
SUITE := bookworm

.PHONY: build run check test test-rust test-lens test-repeats test-vm test-page test-journeys test-workloads test-all test-fresh test-slow test-guest \
	test-examples test-releases test-real-pages test-bed test-simulated test-api test-emulators fuzz bench install clean guest guest-bsd \
	release site demo emulator own-emulator kernel kernels lens workloads needs-rust needs-build needs-test needs-lens

# --- Packages: COMMAND=PACKAGE. `test` names all missing ones at once. ---

BUILD_NEEDS := "cc=gcc libc6-dev" make=make node=nodejs npm=npm
EMULATOR_NEEDS = $(shell packages/emulator.sh needs)
LENS_NEEDS = as=binutils $(EMULATOR_NEEDS)
TEST_NEEDS = $(BUILD_NEEDS) python3=python3 python3-venv git=git unshare=util-linux ip=iproute2 ssh=openssh-client \
	openssh-server "chromium=chromium fonts-dejavu-core" postgresql $(LENS_NEEDS)
GUEST_NEEDS = objcopy=binutils memcached=memcached libjemalloc2 libmimalloc2.0 libsqlite3-dev ssh=openssh-client \
	openssh-server busybox-static e2fsprogs xz=xz-utils tar=tar git=git sfdisk=fdisk mformat=mtools syslinux=syslinux \
	syslinux-common runsc=runsc
KERNEL_NEEDS = linux-source-6.1 flex=flex bison=bison bc=bc libelf-dev libssl-dev cpio=cpio patch=patch xz=xz-utils python3=python3 git=git

needs-rust:
	@command -v $(CARGO) >/dev/null || { echo "missing: Rust (cargo); hint: install it with rustup" >&2; exit 1; }

needs-build: NEEDS = $(BUILD_NEEDS)
needs-test: NEEDS = $(TEST_NEEDS)
needs-lens: NEEDS = $(BUILD_NEEDS) $(LENS_NEEDS)
needs-build needs-test needs-lens: needs-rust
	@checks/need.sh $(NEEDS)

# --- Parts ---

workloads: needs-build
	@$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads

# All programs, with the features that the tests enable: nothing is compiled twice.
build: workloads
	@$(CARGO) build --locked --workspace --bins --examples

# QEMU 10 or newer: this machine's, or from Debian 12's backports (14 MB, once).
emulator:
	@checks/need.sh $(EMULATOR_NEEDS)
	@packages/emulator.sh
own-emulator: emulator # a faster one for the lens: lens/emulator (40 MB and 5 minutes of CPU time, once)
	@checks/need.sh $$(lens/emulator/build.sh needs) && lens/emulator/build.sh

# The kernel in /boot, or else one unpacked under target (70 MB, once).
kernel:
	@[ -n "$$FAULTLINE_KERNEL" ] || ls /boot/vmlinuz-* >/dev/null 2>&1 || packages/kernels.sh bookworm >/dev/null
kernels: # four, of different ages (400 MB, once)
	@packages/kernels.sh

# The agent, a guest's first process, and the workloads, linked statically. Linux only.
guest: needs-build emulator kernel
	@$(MAKE) --no-print-directory -C workloads guest BUILD=$(CURDIR)/target/guest/workloads LDFLAGS=-static CFLAGS=-O2
	@$(MAKE) --no-print-directory -C lab/targets/guest BUILD=$(CURDIR)/target/guest

# Agent and workloads cross-compiled for FreeBSD, NetBSD and OpenBSD (90 MB, once). Not run here.
guest-bsd: needs-build
	@checks/need.sh python3-venv
	@$(MAKE) --no-print-directory -C workloads cross BUILD=$(CURDIR)/target/workloads CROSS=$(CURDIR)/target/guest CROSS_TARGETS='$$(BSD_TARGETS)'
	@$(MAKE) --no-print-directory -C lab/targets/guest cross BUILD=$(CURDIR)/target/guest

# The plugin for QEMU. Nothing links to it.
lens: needs-build
	@$(CARGO) build --release --locked --quiet --manifest-path lens/plugin/Cargo.toml --target-dir target/lens-build
	@mkdir -p target/lens
	@cp -f target/lens-build/release/libfaultline_lens.so target/lens/.new && mv -f target/lens/.new target/lens/libfaultline_lens.so

# The test runner: a built program from PyPI, or else built here.
RUNNER := target/tools/nextest/bin/cargo-nextest
NEXTEST = $(RUNNER) nextest run --locked
$(RUNNER): checks/nextest.txt
	@checks/need.sh python3-venv
	@python3 -m venv target/tools/nextest
	@target/tools/nextest/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $< || \
		$(CARGO) install --quiet --locked --root target/tools/nextest --version 0.9.148 cargo-nextest
	@touch $@

# The page's npm packages, for all browser tests.
PACKAGES := $(PAGE)/node_modules/.package-lock.json
$(PACKAGES): $(PAGE)/package-lock.json
	cd $(PAGE) && npm ci --no-audit --no-fund
	@touch $@

# --- The two commands of the README ---

run: build
	@$(FAULTLINE) run --suite quick --output faultline-report.html

test: needs-test check test-rust test-lens test-vm test-page test-journeys test-workloads

check: needs-test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	set -e; for part in checks packages action; do python3 -m unittest discover -q -s $$part; done
	set -e; for check in arrows circles licences links words; do checks/$$check.py; done
	set -e; for made in docs/pictures/memory.py examples/linux-releases/draw.py packages/site.py; do $$made --check; done

# Continues after a failure, so one run names all failing tests.
test-rust: workloads guest lens needs-test $(RUNNER)
	$(NEXTEST) --workspace
	checks/outputs.py $(FAULTLINE)

test-lens: needs-lens emulator
	cd lens/plugin && $(CARGO) fmt --check && $(CARGO) clippy --all-targets --locked -- -D warnings && $(CARGO) test --locked
test-vm: needs-test
	$(MAKE) --no-print-directory -C vm test
test-page: build needs-test $(PACKAGES)
	cd $(PAGE) && npm test
test-journeys: build needs-test guest lens $(PACKAGES)
	FAULTLINE_PROGRAM="$(abspath $(FAULTLINE))" node --test --test-concurrency=1 --test-timeout=1800000 --test-force-exit checks/journeys/*.test.mjs
test-workloads: workloads needs-test
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads test

# --- Nightly, or before a release ---

test-all: test guest-bsd guest lens test-slow test-repeats test-guest test-examples test-releases test-real-pages test-bed test-simulated test-api test-emulators fuzz
	$(MAKE) --no-print-directory -C vm test-all
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads CROSS_TARGETS='x86_64-linux-musl x86_64-linux-gnu' sanitize cross
	checks/fresh/run.sh trixie

test-fresh:
	checks/fresh/run.sh $(SUITE)

test-slow: workloads guest lens needs-test $(RUNNER) # the lab's tests that take more than a minute each; 10 minutes
	$(NEXTEST) --workspace --profile slow

test-repeats: needs-lens guest lens $(RUNNER) # machines under the lens repeat themselves exactly; 3 minutes
	$(NEXTEST) -p faultline-cli --run-ignored all -E 'test(lens_repeats::) & test(small)'

# Guests and disk images in full emulation (GNU Mach, two kernels to install: 75 MB, once); 30 min.
test-guest: needs-lens guest lens $(RUNNER)
	@checks/need.sh $(GUEST_NEEDS)
	packages/host-kernels.sh >/dev/null
	$(NEXTEST) --workspace --profile guests --run-ignored only

# Whole histories: a Linux tree (builds 4 GB in target/examples), four kernels with every workload,
# a crate, the lock lab; hours. Continues when started again.
test-examples: build guest lens
	checks/need.sh $(KERNEL_NEEDS)
	examples/linux-tree/run.sh $(FAULTLINE)
	examples/linux-releases/run.sh $(FAULTLINE)
	examples/crate-releases/run.sh $(FAULTLINE)
	python3 examples/lock-lab/check.py $(FAULTLINE)

# Small histories: 3 releases of a crate, 2 kernels (170 MB, once), 9 Linux commits; pictures of
# their pages and of the documentation's.
test-releases: build needs-test guest lens site $(PACKAGES)
	examples/demo.sh $(FAULTLINE) small
	cd $(PAGE) && npm run test:pictures
	examples/linux-tree/small.sh $(FAULTLINE)

# Every page over a database of real runs; 10 minutes.
test-real-pages: build needs-test guest lens $(PACKAGES)
	cd $(PAGE) && FAULTLINE_PROGRAM="$(abspath $(FAULTLINE))" npm run test:real

# Histories and bisects of a repository with planted changes (docs/TEST-BED.md); 30 minutes.
test-bed: build
	@checks/need.sh git=git cc=gcc ld=binutils
	rm -rf target/test-bed
	python3 examples/test-bed/check.py $(FAULTLINE) target/test-bed

# Error rates and power over thousands of simulated series; experiments with faults from many seeds;
# 20 minutes. FAULTLINE_TCPD: a clone of the Turing Change Point Dataset; else its test is skipped.
test-simulated: needs-build
	@skip="--skip steps_are_where_people_mark_them"; \
	if [ -n "$$FAULTLINE_TCPD" ]; then skip=; else echo "left out: the Turing Change Point Dataset; hint: FAULTLINE_TCPD=DIRECTORY names a clone of it" >&2; fi; \
	$(CARGO) test --release --locked -p faultline-stats -- --include-ignored $$skip
	FAULTLINE_SEEDS=20000 $(CARGO) test --release --locked -p faultline-simulation

# The API, with requests that its OpenAPI description allows, and others; a minute (API_SECONDS).
test-api: build needs-test
	python3 -m venv target/schemathesis
	target/schemathesis/bin/pip install --quiet --disable-pip-version-check --require-hashes -r lab/web/tests/described/requirements.txt
	lab/web/tests/described/run.py target/schemathesis/bin/schemathesis target/debug/examples/fixture_server $(API_SECONDS)

test-emulators: needs-lens guest lens own-emulator $(RUNNER) # the distribution's newest QEMU (50 MB, once), and our own
	qemu=$$(packages/newest-emulator.sh) && FAULTLINE_QEMU=$$qemu $(NEXTEST) -p faultline-cli --run-ignored all -E 'test(lens_kernel::) & test(transfers_of_shared_faults)'
	lens/emulator/check.py $(FAULTLINE) target/emulator/qemu-system-x86_64

# The parser of workloads' output, with broken lines; a minute (FUZZ_SECONDS).
fuzz: needs-test
	lab/record/fuzz/run.sh $(FUZZ_SECONDS)

bench:
	$(MAKE) --no-print-directory -C bench
bench-frame% bench-memory%:
	$(MAKE) --no-print-directory -C vm $@
bench-%:
	$(MAKE) --no-print-directory -C bench $*

# --- A release, the site, installation ---

# A release of the tag at HEAD, in target/dist. VERSION=… tries one without a tag; ARCH=… one only.
release: needs-build
	@checks/need.sh python3-venv git=git readelf=binutils dpkg-deb=dpkg rpmbuild=rpm
	packages/release/release.py $(if $(VERSION),--version '$(VERSION)') $(if $(ARCH),--arch $(ARCH))

site: # the documentation: target/site/index.html; 2 s, once 3 minutes more for mdBook
	@checks/need.sh python3=python3
	@packages/site.py
demo: build needs-test guest lens # pages of real histories: target/demo/index.html; 400 MB, once
	examples/demo.sh $(FAULTLINE)

SHARE = $(DESTDIR)$(PREFIX)/share
LIBEXEC = $(DESTDIR)$(PREFIX)/libexec/faultline
install: workloads # also guest parts, emulator, kernel and plugin, if they are built
	$(CARGO) build --release --locked -p faultline-cli
	install -d $(DESTDIR)$(PREFIX)/bin $(LIBEXEC) $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install $(INSTALLED) $(DESTDIR)$(PREFIX)/bin/
	packages/install-parts.sh target $(LIBEXEC)
	$(INSTALLED) generate man $(SHARE)/man/man1
	$(INSTALLED) generate bash > $(SHARE)/bash-completion/completions/faultline
	$(INSTALLED) generate zsh > $(SHARE)/zsh/site-functions/_faultline
	$(INSTALLED) generate fish > $(SHARE)/fish/vendor_completions.d/faultline.fish

clean:
	rm -rf target $(PAGE)/node_modules
