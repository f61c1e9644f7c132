#!/bin/sh
# Builds the published crates with the least Rust version that their manifests state, as `rust-version`. Their tests need what
# the workspace needs.
#
#   vm/frames/least-rust.sh [--if-possible] [folder for what is built]
#
# Where that toolchain is missing, rustup installs it. If that can't be, this ends with 1, or with --if-possible says so and ends
# with 0.
set -eu

cd "$(dirname "$0")/../.."
status=1
[ "${1:-}" != --if-possible ] || { status=0; shift; }
folder=${1:-target/least-rust}

version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' vm/frames/Cargo.toml vm/memory/Cargo.toml vm/numbers/Cargo.toml | sort -u)
[ "$(echo "$version" | grep -c '^[0-9.]*$')" -eq 1 ] || { echo "the published crates state no or several rust-versions: $version" >&2; exit 1; }
is_there() { rustup run "$version" rustc --version >/dev/null 2>&1; }
if ! is_there && ! { timeout 300 rustup toolchain install "$version" --profile minimal >&2 && is_there; }; then
	echo "not built with Rust $version, which is not here; hint: rustup toolchain install $version" >&2
	exit "$status"
fi
rustup run "$version" cargo build --quiet --locked --target-dir "$folder" -p faultline-numbers -p faultline-frames -p faultline-memory
echo "builds with Rust $version, the least version stated"
