#!/bin/sh
# Makes a bare root file system of a Debian suite as a tar file: essential packages, make,
# certificates, this machine's registry settings, and an ordinary user named visitor.
#
#   checks/fresh/bare.sh SUITE FILE
set -eu

suite=$1 file=$2
root=$(mktemp -d "$file.XXXXXX")
chmod 755 "$root"
trap 'rm -rf --one-file-system "$root" "$file.new"' EXIT
trap 'exit 130' INT TERM HUP

# This machine's package sources, for another suite.
. /etc/os-release
sources=$(find /etc/apt -path '*/sources.list*' \( -name '*.sources' -o -name '*.list' \))
# shellcheck disable=SC2086 # words are files
mirror=$(awk -v suite="$VERSION_CODENAME" '
    $1 == "URIs:" { uri = $2 }
    $1 == "Suites:" && $2 == suite { print uri; exit }
    $1 == "deb" { for (i = 2; i < NF; i++) if ($(i + 1) == suite) { print $i; exit } }' $sources)
[ -n "$mirror" ] || { echo "no source of $VERSION_CODENAME in /etc/apt; hint: test-fresh asks this machine's own, and wants Debian's" >&2; exit 1; }

# Its own mount namespace, because debootstrap mounts /proc and /sys in the new root.
unshare --mount debootstrap --variant=minbase --include=ca-certificates,make "$suite" "$root" "$mirror" >"$file.log" ||
    { tail -n 20 "$file.log" >&2; exit 1; }

rm -f "$root/etc/apt/sources.list"
for source in $sources; do
    grep -q "$mirror" "$source" || continue
    sed "s/\b$VERSION_CODENAME\b/$suite/g" "$source" >"$root$source"
done
grep -lsE '^Acquire::(Check|Retries|http)' /etc/apt/apt.conf.d/* | xargs -r cp -t "$root/etc/apt/apt.conf.d"
for settings in /etc/pip.conf /etc/npmrc /etc/resolv.conf /etc/hosts; do
    [ ! -e "$settings" ] || cp -L "$settings" "$root$settings"
done
for settings in .npmrc .cargo/config.toml .config/pip/pip.conf; do
    [ ! -e "$HOME/$settings" ] || install -D -m 600 "$HOME/$settings" "$root/root/$settings"
done
find /usr/local/share/ca-certificates -name '*.crt' -exec cp -t "$root/usr/local/share/ca-certificates" {} +
chroot "$root" update-ca-certificates >>"$file.log" 2>&1

# Packages start no daemons. An ordinary user can reach Rust, which may be in root's home.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d" "$root/root"
chroot "$root" useradd --create-home visitor

tar -cf "$file.new" -C "$root" .
mv "$file.new" "$file"
