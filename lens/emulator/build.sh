#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds an emulator for the lens into target/emulator: QEMU's source of the distribution with
# patches/*.patch. Builds nothing if it is there, from the same files. README.md has the reasons.
#
#   lens/emulator/build.sh              builds it; prints the path of its program
#   lens/emulator/build.sh patched DIR  unpacks the patched source into a new directory
#   lens/emulator/build.sh needs        prints the packages it needs, as words for checks/need.sh
set -eu

patched=$(realpath -m -- "${2:-.}")
cd "$(dirname "$0")/../.."
version=10.0.2
tar=qemu_$version+ds.orig.tar.xz
sha256=0901da33844a331bf8b3602b9c1fbd178e60b737c8e3ade678255bd090c9b9f1
work=$PWD/target/emulator-build out=$PWD/target/emulator here=lens/emulator

fail() { # problem, hint
    echo "no emulator of our own: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

# Downloads the source from this machine's mirror, unless it is there, and unpacks it with the
# patches into $1.
unpack() {
    mkdir -p "$work"
    if ! echo "$sha256  $work/$tar" | sha256sum --check --status 2>/dev/null; then
        mirror=$(. /etc/os-release && apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Codename: $VERSION_CODENAME" | head -n 1)
        /usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "${mirror%/}/pool/main/q/qemu/$tar" "$work/$tar" "SHA256:$sha256" >&2 ||
            fail "cannot get $tar" "this machine's mirror must have it; else put the file into target/emulator-build"
    fi
    mkdir -p "$1"
    tar -x -C "$1" --no-same-owner --strip-components=1 -f "$work/$tar"
    for patch in "$here"/patches/*.patch; do
        patch --quiet --strip=1 --fuzz=0 --directory="$1" <"$patch" >&2 || fail "$patch does not apply" "it belongs to QEMU $version"
    done
    # The distribution's source has no firmware of virtual machines, which are installed unpacked.
    sed -i 's/^if unpack_edk2_blobs$/if false/' "$1/pc-bios/meson.build"
}

case ${1:-} in
    needs)
        echo cc=gcc libglib2.0-dev libpixman-1-dev pkg-config=pkg-config python3-venv patch=patch xz=xz-utils strip=binutils
        exit
        ;;
    patched)
        [ ! -e "$patched" ] || fail "$patched exists" "name a new directory"
        unpack "$patched"
        exit
        ;;
    ?*)
        echo "usage: $0 [needs | patched DIRECTORY]" >&2
        exit 2
        ;;
esac

[ "$(uname -m)" = x86_64 ] || fail "the patches generate code for x86-64 hosts only" "use the distribution's emulator: \`make emulator\`"
# The emulator prints it as a part of its version, which each run records.
identity=$(cat $here/patches/*.patch $here/build.sh $here/requirements.txt | sha256sum | cut -c 1-12)
program=$out/qemu-system-x86_64
if [ "$(cat "$out/identity" 2>/dev/null)" != "$identity" ]; then
    source=$work/qemu-$version
    rm -rf "$source"
    unpack "$source"
    [ -e "$work/tools/done" ] || {
        rm -rf "$work/tools"
        python3 -m venv "$work/tools"
        "$work/tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r $here/requirements.txt
        touch "$work/tools/done"
    }
    rm -rf "$work/build"
    mkdir -p "$work/build"
    cd "$work/build"
    echo "building QEMU $version with patches $identity (5 minutes of CPU time; log in target/emulator-build/log)" >&2
    # Modules: QEMU then exports its symbols. TPM: with it a machine has a table more, as in the
    # distribution's emulator, and its firmware executes other instructions.
    {
        PATH=$work/tools/bin:$PATH CFLAGS=-O2 "$source/configure" --python="$work/tools/bin/python" --prefix=/usr --target-list=x86_64-softmmu \
            --without-default-features --disable-download --enable-system --enable-tcg --enable-plugins --enable-modules --enable-pixman \
            --enable-tpm --disable-docs --disable-install-blobs --disable-werror --disable-qom-cast-debug \
            --with-pkgversion="Faultline, patches $identity" &&
            "$work/tools/bin/ninja" qemu-system-x86_64
    } >"$work/log" 2>&1 || fail "the build failed: $(tail -n 1 "$work/log")" "see target/emulator-build/log"
    cd "$OLDPWD"
    rm -rf "$out.new"
    mkdir "$out.new"
    strip -o "$out.new/qemu-system-x86_64" "$work/build/qemu-system-x86_64"
    cp "$source/COPYING" "$source/LICENSE" "$out.new/"
    echo "$identity" >"$out.new/identity"
    rm -rf "$out"
    mv "$out.new" "$out"
fi

# Firmware is the distribution's, from the places of its emulator. QEMU looks for it below this name
# beside its program.
share=$out/qemu-bundle/usr/share/qemu
mkdir -p "$share"
tree=
[ ! -e target/qemu ] || tree=$PWD/target/qemu
for file in "$tree"/usr/share/qemu/* "$tree"/usr/share/seabios/*; do
    [ ! -e "$file" ] || ln -sf "$file" "$share/"
done
[ -e "$share/bios-256k.bin" ] || fail "there is no firmware" "\`make emulator\` provides the distribution's"
"$program" --version >/dev/null || fail "$program does not start" "delete target/emulator and try again"
echo "$program"
