#!/bin/sh
# Records in checks/fresh/passed that the bare root passed: a digest of all files that decide what a
# fresh machine needs. `passed.sh --check` ends with 1 if one of them has changed since.
set -eu

cd "$(dirname "$0")/../.."
digest=$(git ls-files -z -- .ci Makefile '*/Makefile' '*.lock' '*package-lock.json' '*requirements.txt' rust-toolchain.toml \
    packages checks/need.sh checks/nextest.txt checks/fresh ':!checks/fresh/passed' | sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
[ "${1-}" = --check ] || { echo "$digest" >checks/fresh/passed; exit 0; }
[ "$digest" = "$(cat checks/fresh/passed 2>/dev/null)" ]
