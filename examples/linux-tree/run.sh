#!/bin/sh
# Finds the commit of thirty in a Linux tree that made page faults move more cache lines and take
# longer: run.sh FAULTLINE. Makes the tree, measures some commits by transfers and by time, and
# searches around the step. Exits with 1 unless both searches name the commit that removes the
# per-CPU lists of free pages, and no other. About half an hour of CPU time the first time; an
# interrupted run continues.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=$here/../../target/examples/linux-tree
faultline=$1
wanted="mm/page_alloc: free pages go straight to the zone"
mkdir -p "$place"
"$here/tree.sh" "$place/repository"

history() { "$faultline" history "$@" --config "$here/faultline.toml"; }

# Each measure has a database of its own, so its newest run is its search.
FAULTLINE_DB=$place/transfers.sqlite
FAULTLINE_TRUST=1
export FAULTLINE_DB FAULTLINE_TRUST
# Other commits change which data share a line, by a few percent. The lists save several transfers
# per page.
history run linux --quiet
history show linux --min-change 30%
history changes linux --min-change 30%
bisect linux --min-change 30% --least 30% --quiet
"$faultline" show --format json >"$place/by-transfers.json"
python3 "$here/check.py" "$place/by-transfers.json" "$wanted"

FAULTLINE_DB=$place/time.sqlite
history run linux-time --quiet
history changes linux-time
bisect linux-time --quiet
"$faultline" show --format json >"$place/by-time.json"
python3 "$here/check.py" "$place/by-time.json" "$wanted"
