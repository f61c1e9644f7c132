#!/bin/sh
# Makes a git repository of releases of the crate arc-swap: make.sh DIRECTORY VERSION…. Each commit
# has the published source of one release, and a program that reads a shared value with it. Cargo
# fetches the releases. The same releases give the same commits. An existing repository is kept.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
directory=$1
shift
made="$* $(cat "$here/make.sh" "$here/harness/Cargo.toml" "$here/harness/src/main.rs" | sha256sum)"
if [ "$(cat "$directory/.git/faultline-made" 2>/dev/null)" = "$made" ]; then exit 0; fi
[ ! -e "$directory" ] || [ -d "$directory/.git" ] || { echo "$directory is no repository; hint: name another directory" >&2; exit 1; }
rm -rf "$directory"
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
asking=$(mktemp -d)
trap 'rm -rf "$asking"' EXIT

# The user's configuration must not change the names of commits.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME='A. Uthor' GIT_AUTHOR_EMAIL=author@example.org GIT_COMMITTER_NAME='A. Uthor' GIT_COMMITTER_EMAIL=author@example.org
git -C "$directory" init -q -b main
cp -r "$here/harness/." "$directory"
printf '/target\n' >"$directory/.gitignore"

# Releases are one day apart, because packages have no publication time.
day_s=86400
date_s=1700000000
mkdir "$asking/src"
: >"$asking/src/lib.rs"
for version; do
    printf '[package]\nname = "asking"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\narc-swap = "=%s"\n[workspace]\n' "$version" >"$asking/Cargo.toml"
    rm -f "$asking/Cargo.lock"
    cargo fetch --quiet --manifest-path "$asking/Cargo.toml"
    source=$(cargo metadata --quiet --format-version 1 --offline --manifest-path "$asking/Cargo.toml" | python3 -c '
import json, os, sys
print(next(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "arc-swap"))')
    rm -rf "$directory/arc-swap" "$directory/Cargo.lock"
    cp -r "$source" "$directory/arc-swap"
    # Files that cargo adds when it unpacks a package.
    rm -f "$directory/arc-swap/.cargo-ok"
    (cd "$directory" && cargo generate-lockfile --quiet --offline)
    git -C "$directory" add -A
    date_s=$((date_s + day_s))
    GIT_AUTHOR_DATE="$date_s +0000" GIT_COMMITTER_DATE="$date_s +0000" git -C "$directory" commit -q -m "arc-swap $version"
    git -C "$directory" tag "$version"
done
echo "$made" >"$directory/.git/faultline-made"
