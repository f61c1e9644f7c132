#!/bin/sh
# Which of thirty commits of a Linux tree made page faults move more cache lines? run.sh FAULTLINE makes the tree, measures every tenth commit, and searches
# between the two around the step. Ends with 1 unless the commit that takes the per-CPU lists of free pages out is named, and no other. About ten minutes of
# CPU time the first time; started again, it goes on.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=$here/../../target/examples/linux-tree
faultline=$1
mkdir -p "$place"
"$here/tree.sh" "$place/repository"

FAULTLINE_DB=$place/runs.sqlite
export FAULTLINE_DB
# Other commits shift what shares a line, by a few per cent. The lists are worth several transfers for each page.
history() { "$faultline" history "$@" --config "$here/faultline.toml"; }
history run --quiet
history show --min-change 30%
history changes --min-change 30%
history drill linux --min-change 30% --least 30% --quiet
# What was saved of it.
"$faultline" show --format json >"$place/drill.json"
python3 "$here/check.py" "$place/drill.json"
