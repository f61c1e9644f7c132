#!/bin/sh
# Makes the disk of a host: a small system with busybox, this machine's OpenSSH server, and an
# installed kernel.
#
#   disk.sh DIRECTORY PACKAGE
#
# DIRECTORY contains the host's key (host_key), and the keys that may log in (authorized_keys).
# Optional: `programs`; the system runs `programs/first` before its server.
# Optional: `password`; the serial console then has a login with it, and no server runs.
# The script writes DIRECTORY/disk.img. PACKAGE is made by package.sh.
set -eu

there=$1 package=$2 here=$(cd "$(dirname "$0")" && pwd)
root=$there/root
rm -rf "$root" && mkdir -p "$root"
cd "$root"
mkdir -p bin sbin usr/sbin usr/bin usr/lib lib lib64 dev proc sys run tmp root boot etc/ssh mnt
cp "$(command -v busybox)" bin/busybox
for name in sh mount umount mkdir mktemp head wc chmod rm mv cp cat grep tar gzip cpio find ip sync sleep echo kill killall pidof uname insmod reboot ls id touch tail dmesg getty login dd stty; do
    ln -sf busybox "bin/$name"
done

# The server and its libraries, each at its own path.
add() {
    mkdir -p "./$(dirname "$1")" && cp -L "$1" "./$1"
    ldd "$1" 2>/dev/null | sed -nE 's/.*(=> |^\s*)(\/[^ ]+).*/\2/p' | while read -r library; do
        mkdir -p "./$(dirname "$library")" && cp -L "$library" "./$library"
    done
}
for file in /usr/sbin/sshd /usr/lib/openssh/sshd-session /usr/lib/openssh/sshd-auth; do
    [ ! -x "$file" ] || add "$file"
done

cat >etc/passwd <<END
root:x:0:0:root:/root:/bin/sh
sshd:x:100:65534::/run/sshd:/bin/false
END
password='*'
if [ -e "$there/password" ]; then
    password=$(busybox mkpasswd -m sha256 "$(head -n 1 "$there/password")")
    touch etc/serial-login
fi
echo "root:$password:19000:0:99999:7:::" >etc/shadow
printf 'root:x:0:\nnogroup:x:65534:\n' >etc/group
cat >etc/ssh/sshd_config <<END
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
END
cp "$there/host_key" "$there/authorized_keys" etc/ssh/
chmod 600 etc/ssh/host_key etc/shadow
[ ! -d "$there/programs" ] || cp -R "$there/programs" programs
cp "$here/init" sbin/init
cp "$here/install-kernel" sbin/install-kernel
cp "$here/initrd-init" etc/initrd-init
chmod 755 sbin/init sbin/install-kernel etc/initrd-init

# Installs the first kernel with the script that the host uses.
ROOT=$root PATH=$root/bin:$PATH sh "$here/install-kernel" "$package"
rm -f "$there/disk.img"
mkfs.ext4 -q -O ^metadata_csum -E root_owner=0:0 -d "$root" "$there/disk.img" 256M
rm -rf "$root"
