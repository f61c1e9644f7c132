#!/bin/sh
# Provides QEMU 10 or newer for guests: the one that FAULTLINE_QEMU names, the one in target/qemu,
# or this machine's own. On Debian 12, whose own is older, that of its backports is unpacked into
# target/qemu.
#
#   packages/emulator.sh          provides it; does nothing if it is there
#   packages/emulator.sh needs    prints the packages that it needs, as words for checks/need.sh
set -eu

cd "$(dirname "$0")/.."
program=qemu-system-x86_64 unpacked=target/qemu/usr/bin/qemu-system-x86_64 least=10

# Libraries that the unpacked emulator needs besides those of apt. Debian 12's backports were built
# for these.
libraries="libaio1 libbpf1 libcapstone4 libfdt1 libfuse3-3 libglib2.0-0 libibverbs1 libjpeg62-turbo libnuma1 libpixman-1-0 libpmem1 libpng16-16
    librdmacm1 libsasl2-2 libslirp0 liburing2 libvdeplug2"

fail() { # problem, hint
    echo "no emulator for guests: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

version() { "$1" --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p'; }

is_new() {
    major=$(version "$1" | cut -d. -f1)
    [ "${major:-0}" -ge "$least" ]
}

# True if this machine's QEMU is too old or absent and its backports have a newer one.
takes_backport() {
    ! { command -v "$program" >/dev/null && is_new "$program"; } && [ -r /etc/os-release ] && [ "$(. /etc/os-release && echo "$ID ${VERSION_ID:-}")" = "debian 12" ]
}

case ${1:-} in
    needs)
        [ -z "${FAULTLINE_QEMU:-}" ] || exit 0
        # shellcheck disable=SC2086 # words are packages
        if takes_backport; then echo $libraries; else echo "$program=qemu-system-x86"; fi
        exit
        ;;
    ?*)
        echo "usage: $0 [needs]" >&2
        exit 2
        ;;
esac

if [ -n "${FAULTLINE_QEMU:-}" ]; then
    is_new "$FAULTLINE_QEMU" || fail "FAULTLINE_QEMU=$FAULTLINE_QEMU is not QEMU $least or newer" "name one that is, or unset it"
    exit
fi
if [ ! -e target/qemu ]; then
    if ! takes_backport; then
        is_new "$program" || fail "$program $(version "$program") is older than $least" "install QEMU $least or newer, or name its program with FAULTLINE_QEMU"
        exit 0
    fi
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "unpacking QEMU of $codename-backports into target/qemu" >&2
    packages/unpack.sh target/qemu "$codename-backports" qemu-system-x86 'qemu-system-(common|data)|seabios' \
        ./usr/bin/qemu-system-i386 '*-microvm' ./usr/share/man ./usr/share/icons
fi

# QEMU looks for its files below this name beside its program before the package's usual place.
[ -e target/qemu/usr/bin/qemu-bundle ] || ln -sfn ../.. target/qemu/usr/bin/qemu-bundle
is_new "$unpacked" || fail "$unpacked does not start: $("$unpacked" --version 2>&1 | head -n 1)" "install what is missing, or delete target/qemu and try again"
