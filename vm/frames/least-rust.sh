#!/bin/sh
# Builds the published crates with the minimum Rust version that their manifests state
# (`rust-version`). Their tests need the workspace's version.
#
#   vm/frames/least-rust.sh [--if-possible]
#
# If that toolchain is missing, rustup installs it. If that fails, exits with status 1; with
# --if-possible, prints a note and exits with status 0.
set -eu

cd "$(dirname "$0")/.."
status=1
[ "${1:-}" != --if-possible ] || status=0

version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' frames/Cargo.toml memory/Cargo.toml numbers/Cargo.toml pmap/Cargo.toml | sort -u)
[ "$(echo "$version" | grep -c '^[0-9.]*$')" -eq 1 ] || { echo "the published crates state no rust-version, or different ones: $version" >&2; exit 1; }
is_there() { rustup run "$version" rustc --version >/dev/null 2>&1; }
if ! is_there && ! { timeout 300 rustup toolchain install "$version" --profile minimal >&2 && is_there; }; then
	echo "not built with Rust $version: the toolchain is missing; hint: rustup toolchain install $version" >&2
	exit "$status"
fi
rustup run "$version" cargo build --quiet --locked --target-dir ../target/vm/least-rust -p faultline-numbers -p faultline-frames -p faultline-memory -p faultline-pmap
echo "builds with Rust $version, the minimum version stated"
