#!/bin/sh
# Provides stock kernels of several ages for guests: each suite's own in target/kernels/SUITE, or
# another flavour in target/kernels/SUITE-FLAVOUR. Prints the path of each and its version.
#
#   packages/kernels.sh [SUITE[/FLAVOUR]…]    default: bullseye (5.10) bookworm (6.1) trixie (6.12)
#   sid
#
# FLAVOUR: rt (real time) or cloud (for virtual machines).
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- bullseye bookworm trixie sid

for wanted in "$@"; do
    suite=${wanted%%/*} flavour=${wanted#"${wanted%%/*}"}
    flavour=${flavour#/}
    place=target/kernels/$suite${flavour:+-$flavour}
    [ -e "$place" ] || echo "unpacking the kernel of $wanted into $place" >&2
    # Of the modules only network card drivers and their neighbours: a guest needs no others.
    packages/unpack.sh "$place" "$suite" "linux-image-${flavour:+$flavour-}amd64" 'linux-(image|binary)-[0-9].*' './usr/share' '*/kernel/[!dln]*' '*/kernel/lib/[!d]*' \
        '*/kernel/net/[!c]*' '*/kernel/net/c[!o]*' '*/kernel/drivers/[!nv]*' '*/kernel/drivers/n[!e]*' '*/kernel/drivers/v[!i]*' '*/kernel/drivers/net/[!nv]*'
    image=$(cd "$place" && find boot usr/lib/modules lib/modules -type f -name 'vmlinuz*' 2>/dev/null | head -n 1)
    [ -n "$image" ] || { echo "no kernel in $place; hint: delete it and try again" >&2; exit 1; }
    ln -sfn "$image" "$place/vmlinuz"
    echo "$place/vmlinuz $(sed -nE 's/^linux-(image|binary)-([0-9][^ ]*) .*/\2/p' "$place/packages" | head -n 1)"
done
