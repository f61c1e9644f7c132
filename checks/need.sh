#!/bin/sh
# Checks that commands and packages exist: need.sh COMMAND=PACKAGE… PACKAGE… A package without a
# command, such as a library, is looked up among the installed packages. As root on a Debian-like
# machine it installs missing packages. Otherwise it prints them and exits with 1.
set -eu

is_there() { # COMMAND=PACKAGE or PACKAGE
    case $1 in
        *=*) command -v "${1%%=*}" >/dev/null 2>&1 ;;
        *) [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    esac
}

missing=
for need in "$@"; do
    is_there "$need" && continue
    case "$missing " in *" ${need#*=} "*) ;; *) missing="$missing ${need#*=}" ;; esac
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
