# Faultline: run · test · check · bench. A thin layer over cargo, npm and the workloads' own Makefile.
#
#   make run        measures this machine: builds, runs the quick suite, prints the table, writes faultline-report.html
#   make test       all tests that fit in about a quarter of an hour, including `make check`
#   make test-fresh README's commands, `run`, `test` and those of the lens, in a bare root file system of Debian 12 (SUITE=trixie: Debian 13); as root
#   make test-all   also the slow tests: fuzzing, model checking, guests in an emulator, the workloads under sanitizers and for other systems
#   make bench      compares our loops with the same loops without the harness; bench-lens: the cost of the lens, and how well its counts repeat
#                   bench-frames, bench-frames-lens, bench-frames-peers, bench-frames-lens-peers: page-frame allocators; bench-memory-lens, bench-memory-bytes: memory systems; bench-changes: the step finder and other tools; bench-drill: searches of commits, and other tools;
#                   bench-serve: pages of a million samples; bench-compare: live comparisons of equal sides and of known differences; bench-commands: commands beside hyperfine;
#                   bench-lens-planted: known changes of a kernel under the lens; bench-lens-repeats: does each workload repeat itself exactly, and how far
#                   counts differ from seed to seed; bench-lens-kernels: kernels of several ages, and a stock kernel's workloads;
#                   bench-lens-truth: predictions of the lens beside the hardware
#   make guest      builds the parts of guests in QEMU, for `--on qemu:…` and the lens; also provides the emulator and a kernel
#   make guest-bsd  builds the same for disk images and hosts with FreeBSD, NetBSD and OpenBSD; downloads a cross compiler (90 MB), once
#   make emulator   provides QEMU 10 or newer: this machine's own, or on Debian 12 that of its backports, in target/qemu
#   make kernel     provides a kernel for guests where there is none in /boot, in target/kernels; kernels: stock kernels of several ages
#   make lens       builds the lens's plugin for QEMU, for `faultline lens`
#   make install    installs to PREFIX (/usr/local)

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

CARGO := cargo
PREFIX := /usr/local
FAULTLINE := target/release/faultline
PAGE := lab/report/page
FUZZ_SECONDS := 60
API_SECONDS := 60

.PHONY: build guest guest-bsd emulator kernel kernels lens run test check test-all test-api test-rust test-page test-workloads test-lens test-frames test-least-rust test-loom test-mixes test-programs test-miri test-mutants test-commuting test-simulated test-crate-releases test-linux-releases test-linux-tree test-newcomer test-real-pages test-examples test-guest test-bed test-repeats test-newest-emulator test-fresh fuzz bench bench-peers bench-lens bench-frames bench-frames-lens bench-frames-peers bench-frames-lens-peers bench-memory-lens bench-memory-bytes bench-changes bench-drill bench-compare bench-commands bench-lens-planted bench-lens-repeats bench-lens-kernels bench-lens-truth install clean \
	needs-rust needs-build needs-test needs-lens needs-emulator needs-guest workloads

# What each part needs: a command, and the packages that contain it. `make test` names all missing packages at once.
BUILD_NEEDS := "cc=gcc libc6-dev" make=make node=nodejs npm=npm
EMULATOR_NEEDS = $(shell packages/emulator.sh needs)
LENS_NEEDS = as=binutils $(EMULATOR_NEEDS)
TEST_NEEDS = $(BUILD_NEEDS) python3=python3 git=git unshare=util-linux ip=iproute2 ssh=openssh-client openssh-server "chromium=chromium fonts-dejavu-core" postgresql $(LENS_NEEDS)

needs-rust:
	@command -v $(CARGO) >/dev/null || { echo "missing: Rust (cargo); hint: install it with rustup" >&2; exit 1; }

needs-build: needs-rust
	@checks/need.sh $(BUILD_NEEDS)

needs-test: needs-rust
	@checks/need.sh $(TEST_NEEDS)

needs-lens: needs-rust
	@checks/need.sh $(BUILD_NEEDS) $(LENS_NEEDS)

needs-emulator:
	@checks/need.sh $(EMULATOR_NEEDS)

workloads: needs-build
	@$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads

# QEMU 10 or newer for guests. Downloads 14 MB on Debian 12, once.
emulator: needs-emulator
	@packages/emulator.sh

# A stock kernel for guests: that of /boot, or else one that is unpacked beside the command. Downloads 70 MB, once.
kernel:
	@[ -n "$$FAULTLINE_KERNEL" ] || ls /boot/vmlinuz-* >/dev/null 2>&1 || packages/kernels.sh bookworm >/dev/null

# Downloads about 400 MB, once.
kernels:
	@packages/kernels.sh

# The parts of guests in an emulator: the agent (their first process) and the workloads, all linked statically. Linux only.
guest: needs-build emulator kernel
	@$(MAKE) --no-print-directory -C workloads guest BUILD=$(CURDIR)/target/guest/workloads LDFLAGS=-static CFLAGS=-O2
	@$(MAKE) --no-print-directory -C lab/targets/guest BUILD=$(CURDIR)/target/guest

# The same for FreeBSD, NetBSD and OpenBSD on x86-64: linked with their C libraries, which images and hosts have. Nothing of it can be run here.
guest-bsd: needs-build
	@checks/need.sh python3-venv
	@$(MAKE) --no-print-directory -C workloads cross BUILD=$(CURDIR)/target/workloads CROSS=$(CURDIR)/target/guest CROSS_TARGETS='$$(BSD_TARGETS)'
	@$(MAKE) --no-print-directory -C lab/targets/guest cross BUILD=$(CURDIR)/target/guest

# The lens's plugin for QEMU. Nothing links to it.
lens: needs-build
	@$(CARGO) build --release --locked --quiet --manifest-path lens/plugin/Cargo.toml --target-dir target/lens-build
	@mkdir -p target/lens
	@cp -f target/lens-build/release/libfaultline_lens.so target/lens/.new && mv -f target/lens/.new target/lens/libfaultline_lens.so

build: workloads
	@$(CARGO) build --release --locked -p faultline

run: build
	@$(FAULTLINE) run --suite quick --output faultline-report.html

check: needs-test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	python3 -m unittest discover -q -s checks
	python3 -m unittest discover -q -s packages
	checks/arrows.py
	checks/circles.py
	checks/licences.py
	checks/links.py
	docs/pictures/memory.py --check
	examples/linux-releases/draw.py --check

# Some of these tests boot guests under the lens. All packages are tested, also after one that failed.
test-rust: workloads guest lens needs-lens
	$(CARGO) test --workspace --locked --no-fail-fast

test-page: needs-test
	cd $(PAGE) && npm ci --no-audit --no-fund && npm test

test-workloads: workloads needs-test
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads test

# Checks that nothing in the page-frame allocator can panic, built as in a kernel, and its handshakes on weakly ordered CPUs, if there is
# a nightly toolchain with Miri; runs its examples.
test-frames: needs-build
	@checks/need.sh ld=binutils nm=binutils
	vm/frames/embedding/check.sh --if-possible target/embedding
	vm/frames/late.sh --if-possible target/miri
	for example in kernel_start balloon buffer_pool; do $(CARGO) run --quiet --locked -p faultline-frames --example $$example || exit 1; done
	$(CARGO) run --quiet --locked -p faultline-memory --example embedder >/dev/null

test: needs-test check test-rust test-lens test-repeats test-crate-releases test-linux-releases test-linux-tree test-frames test-page test-newcomer test-workloads

fuzz: needs-test
	checks/need.sh g++=g++
	$(CARGO) metadata --quiet --locked --format-version 1 --manifest-path lab/model/fuzz/Cargo.toml >/dev/null
	$(CARGO) install --quiet --locked --root target/tools cargo-fuzz
	mkdir -p target/fuzz-corpus
	cd lab/model && PATH="$(CURDIR)/target/tools/bin:$$PATH" RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run transcript --sanitizer none \
		--target-dir $(CURDIR)/target/fuzz $(CURDIR)/target/fuzz-corpus fuzz/corpus/transcript \
		-- -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -dict=fuzz/transcript.dict -verbosity=0 -print_final_stats=1

# The plugin has its own workspace, under QEMU's licence. What it counts is tested with the command.
test-lens: needs-lens emulator
	cd lens/plugin && $(CARGO) fmt --check && $(CARGO) clippy --all-targets --locked -- -D warnings
	cd lens/plugin && $(CARGO) test --locked

needs-guest: needs-build
	@checks/need.sh as=binutils $(EMULATOR_NEEDS)

# Boots guests in full emulation, one after the other; takes some minutes. Downloads 75 MB once: a kernel that isn't Linux, and two to be installed on a host.
test-guest: needs-guest guest lens
	@checks/need.sh objcopy=binutils memcached=memcached libjemalloc2 libmimalloc2.0 libsqlite3-dev ssh=openssh-client openssh-server busybox-static \
		e2fsprogs xz=xz-utils tar=tar git=git sfdisk=fdisk mformat=mtools syslinux=syslinux syslinux-common runsc=runsc
	packages/host-kernels.sh >/dev/null
	$(CARGO) test --workspace --locked --no-fail-fast --bins --test guest --test history_kernels --test history_guest_host --test wires --test image --test gvisor --test clock_source --test lens_kernel --test lens_repeats --test lens_program \
		--test bisect_counted --test bisect_layouts --test lens_program_guest --test lens_callers --test lens_names --test lens_theory --test lens_real --test lens_machine --test lens_disk --test lens --test memory_lens -- --include-ignored --test-threads 1

# The history of a crate's releases, cut down to three.
test-crate-releases: build needs-guest guest lens
	examples/crate-releases/run.sh $(FAULTLINE) 0.3.0 0.3.11 0.4.0

# The history of the distribution's kernels, cut down to two, over the locks of mappings (Linux 6.4). Downloads 170 MB, once.
test-linux-releases: build needs-guest guest lens
	examples/linux-releases/run.sh $(FAULTLINE) '[8]' '["zero_fill:base"]' bookworm trixie

# The history of a Linux tree, cut down: nine commits of which each selects one of these two kernels. Five boots.
test-linux-tree: build needs-guest guest lens
	@checks/need.sh python3=python3 git=git
	examples/linux-tree/small.sh $(FAULTLINE)

# From a repository to an answer in a browser: commits measured under the lens, served, and read by somebody new. Takes a minute.
test-newcomer: build needs-test needs-guest guest lens
	cd $(PAGE) && npm ci --no-audit --no-fund && FAULTLINE_PROGRAM="$(abspath $(FAULTLINE))" npm run test:newcomer

# Every page over a database of real runs. Takes ten minutes on a quiet machine.
test-real-pages: build needs-test needs-guest guest lens
	cd $(PAGE) && npm ci --no-audit --no-fund && FAULTLINE_PROGRAM="$(abspath $(FAULTLINE))" npm run test:real

# Small machines under the lens repeat themselves exactly, also on a busy host. Takes two minutes.
test-repeats: needs-guest guest lens
	$(CARGO) test --workspace --locked --test lens_repeats -- --include-ignored small

# Histories of kernels and of a crate's releases. Builds a Linux tree in target/examples/linux-tree and boots some of its commits (half an hour of CPU time the first
# time, 4 GB); fetches the distribution's kernels of four ages (400 MB, once) and counts every workload under each, at three numbers of CPUs (some hours of CPU time). Started again, it goes on.
test-examples: build needs-guest guest lens
	checks/need.sh linux-source-6.1 flex=flex bison=bison bc=bc libelf-dev libssl-dev cpio=cpio patch=patch xz=xz-utils python3=python3 git=git
	examples/linux-tree/run.sh $(FAULTLINE)
	examples/linux-releases/run.sh $(FAULTLINE)
	examples/crate-releases/run.sh $(FAULTLINE)

# Boots a kernel under the lens in the newest QEMU that the distribution has, unpacked with its libraries. Downloads 50 MB, once.
test-newest-emulator: needs-guest guest lens
	qemu=$$(packages/newest-emulator.sh) && FAULTLINE_QEMU=$$qemu $(CARGO) test --workspace --locked --test lens_kernel -- --include-ignored --test-threads 1 transfers_of_shared_faults

# Builds the published crates with the least Rust that they state.
test-least-rust: needs-build
	vm/frames/least-rust.sh --if-possible target/least-rust

# Explores every order in which two or three CPUs can access a line's word, or the page-frame allocator's, with up to three preemptions.
test-loom: needs-build
	RUSTFLAGS="--cfg loom -C debug-assertions" $(CARGO) test --release --locked -p faultline-coherence --lib --target-dir target/loom interleavings
	RUSTFLAGS="--cfg loom -C debug-assertions" $(CARGO) test --release --locked -p faultline-frames --lib --target-dir target/loom interleavings
	RUSTFLAGS="--cfg loom -C debug-assertions" $(CARGO) test --release --locked -p faultline-memory --lib --target-dir target/loom interleavings

# Larger mixes on the page-frame allocator in random orders from seeds; then a minute of real threads that race.
test-mixes: needs-build
	RUSTFLAGS="--cfg shuttle -C debug-assertions" $(CARGO) test --release --locked -p faultline-frames --lib --target-dir target/shuttle mixes
	RUSTFLAGS="--cfg shuttle -C debug-assertions" $(CARGO) test --release --locked -p faultline-memory --lib --target-dir target/shuttle mixes
	$(CARGO) test --release --locked -p faultline-frames --test stress -- --ignored

# An hour of random programs on the memory system beside the model of POSIX memory, each hour other ones: MINUTES=N for N minutes.
MINUTES ?= 60
test-programs: needs-build
	FAULTLINE_MINUTES=$(MINUTES) $(CARGO) test --release --locked -p faultline-memory --test programs -- --ignored --nocapture

# The page-frame allocator's tests under Miri: undefined behaviour, and loads that return old values as weakly ordered CPUs do. The
# handshakes run with several seeds. Needs a nightly toolchain with Miri.
test-miri: needs-build
	vm/frames/late.sh target/miri
	$(CARGO) +nightly miri test --locked -p faultline-frames --target-dir target/miri
	$(CARGO) +nightly miri test --locked -p faultline-memory --lib --target-dir target/miri

# Do the tests of the three above fail on mistakes? Each is made in a copy of the tree, in target/mutants. Needs the nightly toolchain, too.
test-mutants: needs-build
	checks/mutants.py vm/frames/mutants.toml
	checks/mutants.py vm/memory/mutants.toml
	checks/mutants.py vm/designs/mutants.toml

# Pairs of the memory system's operations that commute, on two CPUs under the lens: do they share a line? Boots 17 guests; five minutes on a quiet machine.
test-commuting: build needs-guest guest lens
	@checks/need.sh python3=python3
	$(CARGO) build --release --locked -p faultline-frame-designs --bin commute_loop
	rm -rf target/commuting
	python3 vm/designs/benches/commuting/commuting.py $(FAULTLINE) target/release/commute_loop target/commuting --least 0.68 --minutes 15

# Error rates and power of the statistics over thousands of simulated comparisons, curves and series; experiments with faults from many more seeds.
# The Turing series are not part of this repository: without FAULTLINE_TCPD, a clone of them, their test is left out.
test-simulated: needs-build
	@skip="--skip steps_are_where_people_mark_them"; \
	if [ -n "$$FAULTLINE_TCPD" ]; then skip=; else echo "left out: the Turing Change Point Dataset; hint: FAULTLINE_TCPD=DIRECTORY names a clone of it" >&2; fi; \
	$(CARGO) test --release --locked -p faultline-stats -- --include-ignored $$skip
	FAULTLINE_SEEDS=20000 $(CARGO) test --release --locked -p faultline-simulation

# The API, asked for a minute for what its OpenAPI description allows and for what it does not.
test-api: needs-test
	@checks/need.sh python3-venv
	$(CARGO) build --workspace --locked --example fixture_server
	python3 -m venv target/schemathesis
	target/schemathesis/bin/pip install --quiet --disable-pip-version-check --require-hashes -r lab/web/tests/described/requirements.txt
	lab/web/tests/described/run.py target/schemathesis/bin/schemathesis target/debug/examples/fixture_server $(API_SECONDS)

# README's commands on a machine that has only the packages they ask for.
SUITE := bookworm
test-fresh:
	checks/fresh/run.sh $(SUITE)

# Histories and the search of commits on a repository with planted changes (docs/TEST-BED.md): about half an hour.
test-bed: build
	@checks/need.sh git=git cc=gcc ld=binutils
	rm -rf target/test-bed
	python3 examples/test-bed/check.py $(FAULTLINE) target/test-bed

test-all: test guest-bsd fuzz test-api test-least-rust test-loom test-mixes test-programs test-miri test-mutants test-commuting test-simulated test-guest test-newest-emulator test-real-pages test-examples test-bed
	vm/frames/embedding/check.sh target/embedding
	@# In a directory of its own: cargo keeps the packages of an earlier one, and takes them again while the version is the same.
	packages=$$(mktemp -d target/publish.XXXXXX) && trap 'rm -rf "$$packages"' EXIT && \
	$(CARGO) publish --dry-run --quiet --locked --allow-dirty --target-dir "$$packages" -p faultline-numbers -p faultline-frames -p faultline-memory
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads CROSS_TARGETS='x86_64-linux-musl x86_64-linux-gnu' sanitize cross
	checks/fresh/run.sh trixie

bench-lens: needs-lens needs-guest guest lens
	$(CARGO) bench --locked -p faultline-coherence --bench access
	$(CARGO) bench --locked -p faultline-targets --bench lens_kernel

# Known changes planted in the distribution's Linux 6.1, counted at 8 and 16 CPUs: are they named, and do totals differ by what theory says? Builds a kernel in
# target/planted, once (ten minutes of CPU time), and boots it 18 times (about a minute each).
bench-lens-planted: build needs-guest guest lens
	checks/need.sh linux-source-6.1 flex=flex bison=bison bc=bc libelf-dev libssl-dev cpio=cpio pahole=dwarves patch=patch xz=xz-utils
	lab/faultline/benches/planted/build.sh target/planted
	python3 lab/faultline/benches/planted/compare.py $(FAULTLINE) target/planted/bzImage target/planted/runs.sqlite

# Every workload twice with one seed at 8, 64 and 32 CPUs, and with ten seeds at 8. Takes about three hours of CPU time, most of it for boots with 64 CPUs;
# started again, it goes on.
bench-lens-repeats: build needs-guest guest lens
	python3 lab/faultline/benches/lens/repeats.py $(FAULTLINE) target/lens-repeats.sqlite
	python3 lab/faultline/benches/lens/spread.py $(FAULTLINE) target/lens-repeats.sqlite

# Zero-fill faults by threads under the kernels of `make kernels`, and seven workloads under a stock kernel, up to 32 CPUs. Started again, it goes on.
bench-lens-kernels: build needs-guest guest lens kernels
	python3 lab/faultline/benches/lens/kernels.py $(FAULTLINE) target/lens-kernels.sqlite $(foreach suite,bullseye bookworm trixie sid,target/kernels/$(suite)/vmlinuz)
	python3 lab/faultline/benches/lens/stock.py $(FAULTLINE) target/lens-kernels.sqlite target/kernels/bookworm/vmlinuz

# Predictions of the lens beside this machine: forty programs and the workloads, at 1 … all CPUs. Boots about 280 guests.
TRUTH := lab/faultline/benches/truth
THEORY := lab/faultline/tests/lens_program/theory
bench-lens-truth: build needs-guest guest lens
	mkdir -p target/truth
	cc -g -O2 -Wall -Wextra -pthread -I workloads/harness -I $(THEORY) -o target/truth/truth $(TRUTH)/programs/*.c \
		$(addprefix $(THEORY)/,counters.c locks.c queues.c sleepers.c)
	python3 $(TRUTH)/truth.py $(FAULTLINE) target/truth/truth target/truth

# Compares the page-frame allocators: in time; under the lens; and with LLFree, from the checkout that LLFREE names (else it is fetched).
bench-frames: needs-build
	$(CARGO) bench --locked -p faultline-frame-designs --bench frames

bench-frames-lens: build guest lens
	$(CARGO) bench --locked -p faultline-frame-designs --bench transfers

# The memory systems: cache-line transfers under the lens, and bytes. The first takes hours.
bench-memory-lens: build guest lens kernel
	$(CARGO) bench --locked -p faultline-frame-designs --bench memory

bench-memory-bytes: needs-build
	$(CARGO) bench --locked -p faultline-frame-designs --bench bytes

bench-frames-peers: needs-build
	vm/peers/checkout.sh target/peers/llfree-rs $(LLFREE)
	$(CARGO) test --release --locked --manifest-path vm/peers/Cargo.toml --target-dir target/peers/build
	$(CARGO) run --release --locked --manifest-path vm/peers/Cargo.toml --target-dir target/peers/build

# The same under the lens: ours, and ours near its watermarks, beside LLFree.
bench-frames-lens-peers: build guest lens kernel
	vm/peers/checkout.sh target/peers/llfree-rs $(LLFREE)
	$(CARGO) build --release --locked --manifest-path vm/peers/Cargo.toml --target-dir target/peers/build --bin frames_loop
	$(CARGO) bench --locked -p faultline-frame-designs --bench transfers -- --program $(CURDIR)/target/peers/build/release/frames_loop \
		--only ours,ours-near-marks,llfree --kinds local,huge,pipeline,random

# `faultline serve` over 5,000 commits with a million samples: first plot, zoom, memory, size of script and style, and 200 clients while a runner writes.
bench-serve: needs-test
	cd $(PAGE) && npm ci --no-audit --no-fund
	$(CARGO) bench --locked -p faultline-web --bench serve

# Compares the step finder with Perfherder's t-test, asv, Otava and PELT. FAULTLINE_TCPD, FAULTLINE_NUMPY_BENCH and FAULTLINE_ENSO_BENCH name clones of archives
# of real series (lab/stats/benches/changes/MARKS.md); archives without a clone are left out.
bench-changes: needs-build
	$(CARGO) build --release --locked -p faultline-stats --example steps
	python3 -m venv target/step-finders
	target/step-finders/bin/pip install --quiet --disable-pip-version-check -r lab/stats/benches/changes/requirements.txt
	target/step-finders/bin/python lab/stats/benches/changes/beside.py target/release/examples/steps

# The search for the commits of a line at which a measure changed, beside `git bisect run` and `asv find`, in simulated histories.
bench-drill: needs-build
	$(CARGO) build --release --locked -p faultline-stats --example drill
	python3 -m venv target/step-finders
	target/step-finders/bin/pip install --quiet --disable-pip-version-check -r lab/stats/benches/changes/requirements.txt
	target/step-finders/bin/python lab/stats/benches/drill/beside.py target/release/examples/drill

# Live comparisons of equal sides, which must not differ, and of known differences, which must be found early; takes a quarter of an hour.
bench-compare: build
	python3 lab/faultline/benches/live.py $(FAULTLINE)

# Commands of which it is known whether they differ, beside hyperfine and Welch's test: files of sessions one after the other, and live on a quiet
# and on a loaded machine; an hour.
bench-commands: build
	checks/need.sh hyperfine=hyperfine
	python3 -m venv target/welch
	target/welch/bin/pip install --quiet --disable-pip-version-check -r lab/faultline/benches/commands/requirements.txt
	target/welch/bin/python lab/faultline/benches/commands/sequential_files.py $(FAULTLINE)
	target/welch/bin/python lab/faultline/benches/commands/planted.py $(FAULTLINE)

# Loops of the network beside iperf3's and tcpbench's, and of files beside fio's, in the same run. Needs a quiet machine; takes a quarter of an hour.
bench-peers: workloads
	checks/need.sh python3=python3 taskset=util-linux iperf3=iperf3 tcpbench=tcpbench fio=fio ip=iproute2 sysctl=procps
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads bench-peers

bench: workloads bench-frames bench-changes bench-drill bench-compare bench-commands bench-serve bench-peers
	$(MAKE) --no-print-directory -C workloads BUILD=$(CURDIR)/target/workloads bench

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/faultline/workloads $(DESTDIR)$(PREFIX)/share/man/man1
	install $(FAULTLINE) $(DESTDIR)$(PREFIX)/bin/
	find target/workloads -maxdepth 1 -type f -perm -u+x -exec install {} $(DESTDIR)$(PREFIX)/libexec/faultline/workloads/ \;
	if [ -x target/guest/agent ]; then \
		install -d $(DESTDIR)$(PREFIX)/libexec/faultline/guest/workloads && \
		install target/guest/agent $(DESTDIR)$(PREFIX)/libexec/faultline/guest/ && \
		find target/guest/workloads -maxdepth 1 -type f -perm -u+x -exec install {} $(DESTDIR)$(PREFIX)/libexec/faultline/guest/workloads/ \; ; fi
	for system in target/guest/*-*; do \
		if [ -x $$system/agent ]; then \
			install -d $(DESTDIR)$(PREFIX)/libexec/faultline/guest/$${system##*/}/workloads && \
			install $$system/agent $(DESTDIR)$(PREFIX)/libexec/faultline/guest/$${system##*/}/ && \
			find $$system/workloads -maxdepth 1 -type f -perm -u+x -exec install {} $(DESTDIR)$(PREFIX)/libexec/faultline/guest/$${system##*/}/workloads/ \; ; fi ; done
	if [ -e target/qemu ]; then \
		rm -rf $(DESTDIR)$(PREFIX)/libexec/faultline/qemu && cp -rP --preserve=mode target/qemu $(DESTDIR)$(PREFIX)/libexec/faultline/ ; fi
	if [ -f target/kernels/bookworm/vmlinuz ]; then \
		install -D -m 644 target/kernels/bookworm/vmlinuz $(DESTDIR)$(PREFIX)/libexec/faultline/kernels/bookworm/vmlinuz ; fi
	if [ -f target/lens/libfaultline_lens.so ]; then \
		install -d $(DESTDIR)$(PREFIX)/libexec/faultline/lens && \
		install -m 644 target/lens/libfaultline_lens.so $(DESTDIR)$(PREFIX)/libexec/faultline/lens/ ; fi
	$(FAULTLINE) man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(FAULTLINE) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/faultline
	$(FAULTLINE) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_faultline
	$(FAULTLINE) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/faultline.fish

clean:
	rm -rf target $(PAGE)/node_modules
