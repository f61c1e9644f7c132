#!/bin/sh
# Runs the range layer's late-bit handshake under Miri, with several seeds. Miri lets a load return
# an old value where its ordering permits that, as weakly ordered CPUs do, so it finds an ordering
# that is too weak on any host.
#
#   vm/frames/late.sh [--if-possible]
#
# If rustup's nightly toolchain lacks Miri, it is added; root also gets the whole toolchain, as with
# other missing packages. If that fails, exits with status 1; with --if-possible, prints a note and
# exits with status 0.
set -eu

cd "$(dirname "$0")/.."
status=1
[ "${1:-}" != --if-possible ] || status=0
folder=../target/vm/miri
hint='rustup toolchain install nightly --component miri,rust-src'
left_out() { # why
	echo "left out: the weak-memory test, because $1; hint: $hint" >&2
	exit "$status"
}

has_miri() { cargo +nightly miri --version >/dev/null 2>&1; }
add_miri() {
	command -v rustup >/dev/null || return 1
	if rustup run nightly rustc --version >/dev/null 2>&1; then
		timeout 300 rustup component add --toolchain nightly miri rust-src >&2
	else
		[ "$(id -u)" -eq 0 ] && timeout 300 rustup toolchain install nightly --profile minimal --component miri,rust-src >&2
	fi
}
has_miri || { add_miri && has_miri; } || left_out "there is no nightly toolchain with Miri"
# Miri compiles the standard library once per toolchain, with crates from the registry.
mkdir -p "$folder"
timeout 1200 cargo +nightly miri setup >"$folder/setup.log" 2>&1 || left_out "Miri can't compile its standard library ($folder/setup.log)"

# About ten seconds of CPU time per seed.
MIRIFLAGS="-Zmiri-many-seeds=0..8" cargo +nightly miri test --quiet --locked -p faultline-frames --lib --target-dir "$folder" late
echo "the range layer loses no free frame when loads return old values: 8 seeds"
