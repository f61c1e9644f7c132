#!/bin/sh
# Runs the range layer's handshake of a late bit under Miri, with several seeds. Miri lets a load return an old value where its
# ordering permits that, as weakly ordered CPUs do, so it finds an ordering that is too weak on any host.
#
#   vm/frames/late.sh [--if-possible] [folder for what is built]
#
# Miri comes with nightly toolchains. If rustup's nightly lacks it, it is added; root also gets a whole toolchain, as with other
# missing packages. If Miri can't be had, this ends with 1, or with --if-possible says so and ends with 0.
set -eu

cd "$(dirname "$0")/../.."
status=1
[ "${1:-}" != --if-possible ] || { status=0; shift; }
folder=${1:-target/miri}
hint='rustup toolchain install nightly --component miri,rust-src'
left_out() { # why
	echo "left out: the weak-memory test, since $1; hint: $hint" >&2
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
# Miri compiles the standard library once for each toolchain, with crates of the registry.
mkdir -p "$folder"
timeout 1200 cargo +nightly miri setup >"$folder/setup.log" 2>&1 || left_out "Miri can't compile its standard library ($folder/setup.log)"

# Each seed takes about ten seconds of CPU time.
MIRIFLAGS="-Zmiri-many-seeds=0..8" cargo +nightly miri test --quiet --locked -p faultline-frames --lib --target-dir "$folder" late
echo "the range layer keeps all free frames with loads that return old values: 8 seeds"
