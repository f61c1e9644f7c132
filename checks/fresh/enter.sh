#!/bin/sh
# Enters a bare root file system with only Rust and Node.js of this machine, and runs a script of
# this directory there. This is the first process of run.sh's mount and pid namespaces: when it
# ends, everything is unmounted and killed.
#
#   checks/fresh/enter.sh ROOT PACKAGES COMMANDS    PACKAGES: apt's downloads, kept between runs
set -eu

root=$1 packages=$2 commands=$3
export LC_ALL=C.UTF-8

mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --bind /dev "$root/dev"
mount --bind /dev/pts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
mount --bind "$packages" "$root/var/cache/apt/archives"

read_only() { # what, where in the root
    if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$root${2%/*}" && touch "$root$2"; fi
    mount --bind "$1" "$root$2"
    mount -o remount,bind,ro "$root$2"
}

# Toolchains refer to each other by absolute paths, so they keep their paths. `rustup target add`
# and `rustup component add` may write: into a layer of the root's own, if this kernel has overlays.
rustup_home=${RUSTUP_HOME:-$HOME/.rustup}
mkdir -p "$root$rustup_home" "$root/opt/rustup.new" "$root/opt/rustup.work"
mount -t overlay overlay "$root$rustup_home" \
    -o "lowerdir=$rustup_home,upperdir=$root/opt/rustup.new,workdir=$root/opt/rustup.work" || read_only "$rustup_home" "$rustup_home"
read_only "$(readlink -f "$(command -v rustup)")" /opt/rust/rustup
for name in cargo cargo-clippy cargo-fmt cargo-miri clippy-driver rustc rustdoc rustfmt; do
    ln -s rustup "$root/opt/rust/$name"
done
read_only "$(node --print process.execPath)" /opt/node/bin/node
npm=$(readlink -f "$(command -v npm)")
read_only "${npm%/bin/*}" /opt/node/lib/node_modules/npm
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/opt/node/bin/npm"

# Earlier downloads of Cargo; it checks each one against the lock file.
registry=${CARGO_HOME:-$HOME/.cargo}/registry
for part in index cache; do
    [ ! -d "$registry/$part" ] || { mkdir -p "$root/root/.cargo/registry" && cp -r "$registry/$part" "$root/root/.cargo/registry/"; }
done

set -- "PATH=/opt/rust:/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "RUSTUP_HOME=$rustup_home" LC_ALL=C.UTF-8 \
    CARGO_INCREMENTAL=0 # all is built once, and half of the disk space is enough for it
[ -z "${DIRECTORIES:-}" ] || set -- "$@" "DIRECTORIES=$DIRECTORIES"
for name in $(env | sed -nE 's/^(SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|PIP_(INDEX_URL|CERT)|CARGO_(HTTP|NET|REGISTRIES|SOURCE)_[A-Z_]+|NPM_CONFIG_REGISTRY|RUSTUP_(TOOLCHAIN|DIST_SERVER|AUTO_INSTALL)|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY)=.*/\1/p'); do
    set -- "$@" "$name=$(printenv "$name")"
done

status=0
chroot "$root" env -i "$@" sh -eu "/root/faultline/checks/fresh/$commands" || status=$?
for process in "$root"/proc/[0-9]*; do
    [ "$process" = "$root/proc/1" ] || [ -z "$(tr -d '\0' 2>/dev/null <"$process/cmdline")" ] ||
        { echo "left behind: $(tr '\0' ' ' <"$process/cmdline")" >&2; status=1; }
done
exit "$status"
