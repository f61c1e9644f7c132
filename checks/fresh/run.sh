#!/bin/sh
# Runs the README's commands on a clone of HEAD in a bare root file system of a Debian suite.
#
#   checks/fresh/run.sh [SUITE [COMMANDS]]    as root, with Rust from rustup and Node.js
#
# SUITE: bookworm by default. COMMANDS: a script of this directory, commands.sh by default.
# cargo-install.sh tries `cargo install` instead.
# DIRECTORIES lists the directories from which the suite runs; default: three of different lengths.
#
# All files are in target/fresh. Mounts and processes end with their namespaces. The root file
# system is removed at the end; the bare packages (SUITE.tar) and downloads (SUITE-packages) are
# kept.
set -eu

cd "$(dirname "$0")/../.."
suite=${1:-bookworm} commands=${2:-commands.sh}
place=$PWD/target/fresh
[ "$(id -u)" -eq 0 ] || {
    echo "a root file system is made and entered, which takes root; hint: sudo make test-fresh" >&2
    exit 1
}
checks/need.sh debootstrap=debootstrap unshare=util-linux git=git

mkdir -p "$place/$suite-packages/partial"
[ -z "$(find "$place" -maxdepth 1 -name "$suite.tar" -newer checks/fresh/bare.sh)" ] && checks/fresh/bare.sh "$suite" "$place/$suite.tar"
root=$(mktemp -d "$place/$suite.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
stopped() {
    [ -z "$within" ] || { kill -KILL "$within" && wait "$within" || true; }
    exit 130
}
within=
trap stopped INT TERM HUP
tar -xf "$place/$suite.tar" -C "$root"

[ -z "$(git status --porcelain)" ] || echo "not tested: uncommitted changes; this tests a clone of HEAD" >&2
for home in root home/visitor; do
    git clone --quiet --no-hardlinks . "$root/$home/faultline"
done
chroot "$root" chown -R visitor:visitor /home/visitor

echo "== $suite, $(git rev-parse --short HEAD)"
# unshare ignores all other signals. It runs in the background, so a signal is handled at once. Even
# SIGKILL of this script ends everything.
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child checks/fresh/enter.sh "$root" "$place/$suite-packages" "$commands" &
within=$!
wait "$within"
changed=$(git -C "$root/root/faultline" status --porcelain)
[ -z "$changed" ] || { echo "the commands leave behind: $changed" >&2; exit 1; }
[ "$suite $commands" != "bookworm commands.sh" ] || [ -n "$(git status --porcelain)" ] || checks/fresh/passed.sh
