#!/bin/sh
# Tries the release in target/dist in bare root file systems: first answers of the unpacked tarball,
# and installation and removal of the .deb, with the time of each.
#
#   checks/fresh/release.sh [SUITE…]    as root, after `make release`
#
# SUITE: bookworm, trixie and `empty` by default. `empty` is a root with only busybox, like a
# distribution without glibc.
set -eu

cd "$(dirname "$0")/../.."
place=$PWD/target/fresh

if [ "${1:-}" = --enter ]; then # first process of its own mount and pid namespaces
    root=$2
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --bind /dev "$root/dev"
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh -eu /root/release-commands.sh
fi

[ "$(id -u)" -eq 0 ] || { echo "a root file system is made and entered, which takes root; hint: sudo $0" >&2; exit 1; }
tarball=$(find target/dist -name 'faultline-*-x86_64-linux.tar.gz')
[ -n "$tarball" ] || { echo "no tarball in target/dist; hint: make release ARCH=x86_64" >&2; exit 1; }
checks/need.sh debootstrap=debootstrap unshare=util-linux busybox=busybox-static
[ $# -gt 0 ] || set -- bookworm trixie empty
mkdir -p "$place"
root=
trap '[ -z "$root" ] || rm -rf --one-file-system "$root"' EXIT
trap 'exit 130' INT TERM HUP

for suite in "$@"; do
    root=$(mktemp -d "$place/release-$suite.XXXXXX")
    chmod 755 "$root"
    if [ "$suite" = empty ]; then
        mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/root" "$root/tmp"
        cp "$(command -v busybox)" "$root/bin/"
        for name in $("$root/bin/busybox" --list); do [ "$name" = busybox ] || ln -sf busybox "$root/bin/$name"; done
    else
        [ -e "$place/$suite.tar" ] || checks/fresh/bare.sh "$suite" "$place/$suite.tar"
        tar -xf "$place/$suite.tar" -C "$root"
        cp target/dist/faultline_*_amd64.deb "$root/root/faultline.deb"
    fi
    cp "$tarball" "$root/root/faultline.tar.gz"
    cp checks/fresh/release-commands.sh "$root/root/"
    echo "== $suite: ${tarball##*/}"
    unshare --mount --pid --fork --kill-child "$0" --enter "$root"
    rm -rf --one-file-system "$root"
    root=
done
