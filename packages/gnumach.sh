#!/bin/sh
# Provides a kernel that is not Linux: GNU Mach of sid for several CPUs, unpacked into
# target/kernels/gnumach. Prints the paths of the kernel as the emulator starts it and of the same
# kernel with symbols. Needs objcopy and gzip.
#
#   packages/gnumach.sh
set -eu

cd "$(dirname "$0")/.."
place=target/kernels/gnumach
[ -e "$place" ] || echo "unpacking GNU Mach of sid into $place" >&2
packages/unpack.sh "$place" sid gnumach-image-1.8-amd64-smp-dbg 'none' './usr/share'
packed=$(find "$place/boot" -name 'gnumach-*-dbg.gz' | head -n 1)
[ -n "$packed" ] || { echo "no kernel in $place; hint: delete it and try again" >&2; exit 1; }
symbols=$place/symbols kernel=$place/gnumach
if [ ! -e "$kernel" ]; then
    gzip -dc "$packed" >"$symbols"
    # The emulator loads 32-bit files by their physical addresses, which are the same in both.
    objcopy --strip-all --output-target=elf32-i386 "$symbols" "$kernel.new"
    mv "$kernel.new" "$kernel"
fi
echo "$PWD/$kernel"
echo "$PWD/$symbols"
