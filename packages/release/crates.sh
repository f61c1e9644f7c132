#!/bin/sh
# Publishes the crates, or tries to: packs each with built pages and licences, and builds each from
# its package.
#
#   packages/release/crates.sh [OPTIONS OF cargo publish]    default: --dry-run --no-verify
#
# Works on a copy of the files that git lists, in target/crates. REPOSITORY: the forge's address of
# this repository.
set -eu

cd "$(dirname "$0")/../.."
checks/need.sh "cc=gcc libc6-dev" node=nodejs npm=npm git=git
[ $# -gt 0 ] || set -- --dry-run --no-verify
copy=$PWD/target/crates page=lab/report/page
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z | tar --null --files-from=- -c | tar -x -C "$copy"
[ -z "${REPOSITORY:-}" ] || sed -i "s#^repository = .*#repository = \"$REPOSITORY\"#" "$copy/Cargo.toml"

# lab/report/build.rs takes built pages if there are no sources of pages.
(cd "$copy/$page" && npm ci --omit=dev --prefer-offline --no-progress >/dev/null && mkdir built && node build.mjs built)
find "$copy/$page" -mindepth 1 -maxdepth 1 ! -name built -exec rm -rf {} +
for crate in "$copy"/lab/* "$copy"/lens/coherence "$copy"/lens/format; do
    cp LICENSE-MIT LICENSE-APACHE "$crate/"
done

cd "$copy"
exec cargo publish --workspace --locked --allow-dirty --target-dir "$copy/../crates-build" "$@"
