#!/bin/sh
# Installs the parts that were built under TARGET to LIBEXEC: workloads; those of guests and other
# systems, the emulator, its kernel and the lens's plugin where they exist.
#
#   packages/install-parts.sh TARGET LIBEXEC
set -eu

target=$1 libexec=$2

programs() { # executables of a directory, without its subdirectories
    mkdir -p "$2"
    find "$1" -maxdepth 1 -type f -perm -u+x -exec install {} "$2/" \;
}

programs "$target/workloads" "$libexec/workloads"
for guest in "$target"/guest "$target"/guest/*-*; do
    [ -x "$guest/agent" ] || continue
    place=$libexec/${guest#"$target"/}
    programs "$guest/workloads" "$place/workloads"
    install "$guest/agent" "$place/"
done
if [ -e "$target/qemu" ]; then
    rm -rf "$libexec/qemu"
    cp -rP --preserve=mode "$target/qemu" "$libexec/"
fi
for file in kernels/bookworm/vmlinuz lens/libfaultline_lens.so; do
    [ ! -f "$target/$file" ] || install -D -m 644 "$target/$file" "$libexec/$file"
done
