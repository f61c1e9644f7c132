#!/bin/sh
# Checks that no call of the allocator can panic: builds the embedding for x86_64-unknown-none,
# links each entry with only what it can reach, and looks for a panic among the symbols.
#
#   vm/frames/embedding/check.sh [--if-possible]
#
# The toolchain file names the target; if it is missing, rustup fetches it. If that fails, exits
# with status 1; with --if-possible, prints a note and exits with status 0.
set -eu

cd "$(dirname "$0")/../.."
status=1
[ "${1:-}" != --if-possible ] || status=0
folder=../target/vm/embedding
target=x86_64-unknown-none
is_there() { [ -d "$(rustc --print target-libdir --target "$target")" ]; }
if ! is_there && ! { timeout 120 rustup target add "$target" >&2 && is_there; }; then
	echo "not checked: the embedding, because Rust's target $target is missing; hint: rustup target add $target" >&2
	exit "$status"
fi
for tool in ld nm; do
	command -v "$tool" >/dev/null || { echo "missing: $tool; hint: install binutils" >&2; exit 1; }
done

cargo build --release --locked --quiet -p faultline-frames-embedding --target "$target" --target-dir "$folder"
library=$folder/$target/release/libfaultline_frames_embedding.a

panics() { # entry: the panic symbols that it reaches
	ld --gc-sections -nostdlib --entry "$1" --undefined "$1" -o "$folder/$1" "$library"
	nm "$folder/$1" | grep -q " T $1\$" || { echo "$1: not in the library"; return; }
	nm "$folder/$1" | grep -E 'panic|unwrap_failed|expect_failed|slice_.*_fail' || true
}

for entry in frames_init frame_get frame_put frame_get_huge frame_put_huge frames_drain frames_reach frames_watched; do
	found=$(panics "$entry")
	[ -z "$found" ] || { echo "$entry can panic:" >&2; echo "$found" >&2; exit 1; }
	echo "$entry: no panic path"
done
