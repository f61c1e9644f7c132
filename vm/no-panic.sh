#!/bin/sh
# Checks that no call of the published crates can panic: builds libraries for x86_64-unknown-none
# with all calls, links each entry with only what it can reach, and looks for a panic among the
# symbols.
#
#   vm/no-panic.sh [--if-possible]
#
# The toolchain file names the target; if it is missing, rustup fetches it. If that fails, exits
# with status 1; with --if-possible, prints a note and exits with status 0.
set -eu

cd "$(dirname "$0")"
status=1
[ "${1:-}" != --if-possible ] || status=0
folder=../target/vm/embedding
target=x86_64-unknown-none
is_there() { [ -d "$(rustc --print target-libdir --target "$target")" ]; }
if ! is_there && ! { timeout 120 rustup target add "$target" >&2 && is_there; }; then
	echo "not checked: panics, because Rust's target $target is missing; hint: rustup target add $target" >&2
	exit "$status"
fi
for tool in ld nm; do
	command -v "$tool" >/dev/null || { echo "missing: $tool; hint: install binutils" >&2; exit 1; }
done

panics() { # library, entry: the panic symbols that it reaches
	ld --gc-sections -nostdlib --entry "$2" --undefined "$2" -o "$folder/$2" "$1"
	nm "$folder/$2" | grep -q " T $2\$" || { echo "$2: not in the library"; return; }
	nm "$folder/$2" | grep -E 'panic|unwrap_failed|expect_failed|slice_.*_fail' || true
}

check() { # package, entries
	cargo build --release --locked --quiet -p "$1" --target "$target" --target-dir "$folder"
	library=$folder/$target/release/lib$(echo "$1" | tr - _).a
	shift
	for entry; do
		found=$(panics "$library" "$entry")
		[ -z "$found" ] || { echo "$entry can panic:" >&2; echo "$found" >&2; exit 1; }
		echo "$entry: no panic path"
	done
}

check faultline-frames-embedding frames_init frame_get frame_put frame_get_huge frame_put_huge frames_drain frames_reach frames_watched
check faultline-memory-embedding memory_change memory_fault memory_spaces memory_objects memory_new
check faultline-pmap-embedding pmap_tables pmap_parts
