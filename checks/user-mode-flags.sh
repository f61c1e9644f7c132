#!/bin/sh
# What rustc is told where QEMU's user mode takes no plugins: that tests of programs under the lens are to be ignored, which is
# said here too. Debian 13's is linked statically, and such a one can't load any.
set -eu

help=$(qemu-x86_64 -h)
case $help in *-plugin*) exit 0 ;; esac
echo "not tested: programs under the lens, since $(command -v qemu-x86_64) was built without plugins; hint: Debian 12's qemu-user has them, Debian 13's has not" >&2
echo "--cfg user_mode_without_plugins"
