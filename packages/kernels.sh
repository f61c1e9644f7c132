#!/bin/sh
# Provides stock kernels of several ages for guests: each suite's own, unpacked into target/kernels/SUITE. Prints the path of each and its
# version.
#
#   packages/kernels.sh [SUITE…]    default: bullseye (5.10), bookworm (6.1), trixie (6.12) and sid (the newest)
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- bullseye bookworm trixie sid

for suite in "$@"; do
    place=target/kernels/$suite
    [ -e "$place" ] || echo "unpacking the kernel of $suite into $place" >&2
    # Without their modules: a guest's kernel needs none.
    packages/unpack.sh "$place" "$suite" linux-image-amd64 'linux-(image|binary)-[0-9].*' '*.ko' '*.ko.xz' './usr/share'
    image=$(cd "$place" && find boot usr/lib/modules lib/modules -type f -name 'vmlinuz*' 2>/dev/null | head -n 1)
    [ -n "$image" ] || { echo "no kernel in $place; hint: delete it and try again" >&2; exit 1; }
    ln -sfn "$image" "$place/vmlinuz"
    echo "$place/vmlinuz $(sed -nE 's/^linux-(image|binary)-([0-9][^ ]*) .*/\2/p' "$place/packages" | head -n 1)"
done
