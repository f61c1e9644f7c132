#!/bin/sh
# Makes what a host installs: FILE.tar with a kernel, the modules that it needs to find its disk and its network, and the host's instructions; and FILE.release.
#
#   package.sh UNPACKED FILE [INSTRUCTION]
#
# UNPACKED: an unpacked kernel's package. INSTRUCTION: `broken` leaves the modules out, so that the kernel finds no disk and panics; `cut` and `panic` are
# what the host does under the next workload (see `init`); `refused` makes it a package that cannot be installed.
set -eu

unpacked=$1 file=$2 instruction=${3:-}
new=$file.new
rm -rf "$new" && mkdir -p "$new/modules"
kernel=$(find "$unpacked" -type f -name 'vmlinuz-*' | head -n 1)
release=${kernel##*/vmlinuz-}
[ "$instruction" = refused ] || cp "$kernel" "$new/vmlinuz"
# In the order in which they are loaded. What a kernel has built in is not there.
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
