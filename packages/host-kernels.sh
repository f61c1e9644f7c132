#!/bin/sh
# Provides two stock kernels with modules, to be installed on a host: those for virtual machines of
# bookworm (6.1) and trixie (6.12), unpacked into target/host-kernels/SUITE. Prints the directory of
# each. Downloads 70 MB, once.
#
#   packages/host-kernels.sh
set -eu

cd "$(dirname "$0")/.."
for suite in bookworm trixie; do
    place=target/host-kernels/$suite
    [ -e "$place" ] || echo "unpacking the kernel for virtual machines of $suite into $place" >&2
    packages/unpack.sh "$place" "$suite" linux-image-cloud-amd64 'linux-(image|binary)-[0-9].*' './usr/share'
    echo "$PWD/$place"
done
