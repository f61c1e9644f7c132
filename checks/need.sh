#!/bin/sh
# Checks that commands exist: need.sh COMMAND=PACKAGE… On a Debian-like machine, as root, it installs missing
# packages. Otherwise it prints what to install, and exits with status 1.
set -eu

missing=
for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null 2>&1 && continue
    case "$missing " in *" ${pair#*=} "*) ;; *) missing="$missing ${pair#*=}" ;; esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing:$missing" >&2
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # words are packages
    apt-get install -y -q --no-install-recommends $missing >&2 ||
        { apt-get update -q >&2 && apt-get install -y -q --no-install-recommends $missing >&2; }
    exit
fi
echo "missing:$missing" >&2
echo "hint: install them, for example with: sudo apt-get install$missing" >&2
exit 1
