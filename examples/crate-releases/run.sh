#!/bin/sh
# Finds the release of the crate arc-swap since which reading a shared value moves no cache lines:
# run.sh FAULTLINE [VERSION…]. Makes a repository with a commit per release, measures each, and
# prints the steps. Exits with 1 unless the one step is the release that theory names. Without
# versions it takes fourteen from 0.3.0 on. EXAMPLES_DB names another database than its own. An
# interrupted run continues.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=$here/../../target/examples/crate-releases
faultline=$1
shift
if [ $# -eq 0 ]; then
    set -- 0.3.0 0.3.3 0.3.6 0.3.9 0.3.11 0.4.0 0.4.8 1.1.0 1.3.0 1.5.1 1.6.0 1.7.1 1.8.2 1.9.2
fi
mkdir -p "$place"
"$here/make.sh" "$place/repository" "$@"

FAULTLINE_DB=${EXAMPLES_DB:-$place/runs.sqlite}
FAULTLINE_TRUST=1
export FAULTLINE_DB FAULTLINE_TRUST
history() { "$faultline" history "$@" --config "$here/faultline.toml"; }
history run --quiet
history changes
history changes --format json >"$place/changes.json"
python3 "$here/check.py" "$place/changes.json"
