#!/bin/sh
# Builds the kernel with planted changes: build.sh DIRECTORY. The distribution's source of Linux 6.1
# is unpacked there, changed by the patches beside this script, and built with kernel.config; the
# result is DIRECTORY/bzImage. Takes about ten minutes of one CPU, and a few seconds if nothing
# changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
source=/usr/src/linux-source-6.1.tar.xz
tree=linux-source-6.1

# A tree with other patches is unpacked again.
patches=$(cat "$source" "$here"/*.patch | sha256sum)
if [ "$(cat patched 2>/dev/null)" != "$patches" ]; then
    rm -rf "$tree" patched configured
    tar -xf "$source"
    for patch in "$here"/*.patch; do
        patch --directory="$tree" --strip=1 --quiet <"$patch"
    done
    echo "$patches" >patched
fi

export KBUILD_BUILD_TIMESTAMP=2020-01-01 KBUILD_BUILD_USER=planted KBUILD_BUILD_HOST=planted KBUILD_BUILD_VERSION=1
cc=gcc
if command -v ccache >/dev/null 2>&1; then cc="ccache gcc"; fi
jobs=$(nproc)
if ! cmp -s "$here/kernel.config" configured; then
    make -s -C "$tree" tinyconfig >/dev/null
    (cd "$tree" && scripts/kconfig/merge_config.sh -m .config "$here/kernel.config" >/dev/null)
    make -s -C "$tree" olddefconfig 2>/dev/null
    cp "$here/kernel.config" configured
fi
# Options with missing dependencies are dropped silently.
while read -r option; do
    case $option in
        CONFIG_*) grep -qx "$option" "$tree/.config" || { echo "the kernel's configuration lacks $option" >&2; exit 1; } ;;
    esac
done <"$here/kernel.config"
nice -n 10 make -s -C "$tree" -j"$jobs" CC="$cc" bzImage
cp "$tree/arch/x86/boot/bzImage" bzImage
