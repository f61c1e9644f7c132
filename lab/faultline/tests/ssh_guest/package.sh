#!/bin/sh
# Makes a package for a host. FILE.tar contains a kernel, the modules that it needs for its disk and
# network, and the host's instruction. FILE.release contains the kernel's release.
#
#   package.sh UNPACKED FILE [INSTRUCTION]
#
# UNPACKED is an unpacked kernel package. Values of INSTRUCTION:
#   broken      leaves the modules out, so that the kernel finds no disk and panics
#   cut, panic  happen on the host under the next workload (see `init`)
#   refused     makes a package that cannot be installed
set -eu

unpacked=$1 file=$2 instruction=${3:-}
new=$file.new
rm -rf "$new" && mkdir -p "$new/modules"
kernel=$(find "$unpacked" -type f -name 'vmlinuz-*' | head -n 1)
release=${kernel##*/vmlinuz-}
[ "$instruction" = refused ] || cp "$kernel" "$new/vmlinuz"
# In load order. Drivers built into the kernel have no module.
[ "$instruction" = broken ] || for name in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk failover net_failover virtio_net; do
    module=$(find "$unpacked" -type f -name "$name.ko*" | head -n 1)
    case $module in
        "") continue ;;
        *.xz) xz -dc "$module" >"$new/modules/$name.ko" ;;
        *) cp "$module" "$new/modules/$name.ko" ;;
    esac
    echo "$name" >>"$new/modules/order"
done
echo "$instruction" >"$new/instruction"
tar -cf "$file.tar" -C "$new" .
[ "$instruction" != broken ] || release=$release+broken
echo "$release" >"$file.release"
rm -rf "$new"
