#!/bin/sh
# Provides LLFree at the path that Cargo.toml names: checkout.sh PLACE [CHECKOUT]. Links CHECKOUT, a
# directory with github luhsra/llfree-rs; without it, keeps PLACE if it exists, else fetches LLFree.
# Exits with status 1 on failure.
set -eu

revision=441c8d1335b1bd820688e72f50f26004657f9363
place=$1
checkout=${2:-}

hint() {
    echo "hint: clone github luhsra/llfree-rs, revision 441c8d1, and: make bench-frames-peers LLFREE=/path/to/llfree-rs" >&2
    exit 1
}

mkdir -p "$(dirname "$place")"
if [ -n "$checkout" ]; then
    [ -f "$checkout/core/Cargo.toml" ] || { echo "error: no LLFree at $checkout (no core/Cargo.toml)" >&2; hint; }
    [ ! -e "$place" ] || [ -L "$place" ] || { echo "error: $place is in the way; hint: remove it" >&2; exit 1; }
    ln -sfn "$(cd "$checkout" && pwd)" "$place"
elif [ ! -f "$place/core/Cargo.toml" ]; then
    command -v git >/dev/null 2>&1 || { echo "missing: git, to fetch LLFree" >&2; hint; }
    rm -rf "$place.part"
    { timeout 120 git clone --quiet https://github.com/luhsra/llfree-rs "$place.part" &&
        git -C "$place.part" checkout --quiet "$revision"; } ||
        { rm -rf "$place.part"; echo "error: LLFree can't be fetched" >&2; hint; }
    mv "$place.part" "$place"
fi

found=$(git -C "$place" rev-parse HEAD 2>/dev/null || echo unknown)
[ "$found" = "$revision" ] || echo "warning: LLFree is at revision $found, not $revision" >&2
