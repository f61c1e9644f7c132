#!/bin/sh
# Makes a bootable disk image from the disk of disk.sh, with two partitions: one with a boot loader,
# the kernel and its RAM disk, and one with the system.
#
#   image.sh DIRECTORY FILE
#
# DIRECTORY contains disk.img. FILE is the image to write.
set -eu

there=$1 image=$2
mib=1048576 boot_mib=48 loader=/usr/lib/syslinux/mbr/mbr.bin
system_mib=$(($(stat -c %s "$there/disk.img") / mib))

rm -f "$image"
truncate -s $(((1 + boot_mib + system_mib) * mib)) "$image"
printf 'label: dos\nstart=1MiB, size=%sMiB, type=e, bootable\nstart=%sMiB, type=83\n' $boot_mib $((1 + boot_mib)) | sfdisk -q "$image"
dd if="$loader" of="$image" bs=440 count=1 conv=notrunc status=none

# MTOOLS_SKIP_CHECK: the loader's partition is no floppy.
export MTOOLS_SKIP_CHECK=1
mformat -i "$image@@1M" -T $((boot_mib * 2048)) -h 16 -s 63 ::
for name in vmlinuz initrd; do
    debugfs -R "dump /boot/$name $there/$name" "$there/disk.img" 2>/dev/null
    mcopy -i "$image@@1M" "$there/$name" "::/$name"
done
cat >"$there/syslinux.cfg" <<END
SERIAL 0
DEFAULT linux
LABEL linux
    KERNEL vmlinuz
    INITRD initrd
    APPEND console=ttyS0 quiet panic=0 no_timer_check root=/dev/vda2
END
mcopy -i "$image@@1M" "$there/syslinux.cfg" ::/syslinux.cfg
syslinux --install --offset $mib "$image"
dd if="$there/disk.img" of="$image" bs=1M seek=$((1 + boot_mib)) conv=notrunc,sparse status=none
