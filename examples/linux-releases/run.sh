#!/bin/sh
# Measures the distribution's kernels, from 5.10 to the newest, as a history of releases: run.sh
# FAULTLINE [TASKS [WORKLOADS [SUITE…]]]. Fetches the kernels (`make kernels`, 400 MB, once), writes
# target/examples/linux-releases/faultline.toml, measures what has no result yet, and prints values
# and steps. Without suites it also counts every workload under each kernel (figures.py; some hours
# of CPU time, once). Exits with 1 unless there is a step over Linux 6.4 that names the lock of the
# address space. TASKS and WORKLOADS are lists as in faultline.toml; a boot with 16 CPUs takes about
# two minutes of CPU time. Of the suites one must have a kernel older than Linux 6.4 and one a
# newer. EXAMPLES_DB names another database than its own. An interrupted run continues.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
faultline=$1
tasks=${2:-[1, 8, 16]}
workloads=${3:-[\"zero_fill:base\"]}
shift "$(($# < 3 ? $# : 3))"
every=
[ $# -gt 0 ] || { every=yes; set -- bullseye bookworm trixie sid; }
place=$root/target/examples/linux-releases
mkdir -p "$place"

{
    echo '# Written by examples/linux-releases/run.sh.'
    echo '[subject.linux]'
    echo 'work = "work"'
    echo "workloads = $workloads"
    echo 'mode = "thread"'
    echo "tasks = $tasks"
    # Six seeds would take six times as long. The step over 6.4 is far greater than what another
    # seed counts.
    echo 'seeds = 1'
    "$root/packages/kernels.sh" "$@" | while read -r kernel version; do
        echo
        echo '[[subject.linux.release]]'
        echo "name = \"${version%-amd64}\""
        echo "date = \"$(date --utc --reference="$root/$kernel" +%F)\""
        echo "kernel = \"../../../$kernel\""
    done
} >"$place/faultline.toml"

FAULTLINE_DB=${EXAMPLES_DB:-$place/runs.sqlite}
FAULTLINE_TRUST=1
export FAULTLINE_DB FAULTLINE_TRUST
"$faultline" history run --quiet --config "$place/faultline.toml"
"$faultline" history changes --config "$place/faultline.toml"
"$faultline" history changes --config "$place/faultline.toml" --format json >"$place/changes.json"
python3 "$(dirname "$0")/check.py" "$place/changes.json"

# draw.py draws the figures.json beside it; these are for comparison.
if [ -n "$every" ]; then
    kernels=$("$root/packages/kernels.sh" "$@" | while read -r kernel version; do echo "${version%-amd64}=$root/$kernel"; done)
    # shellcheck disable=SC2086 # a word for each kernel
    python3 "$(dirname "$0")/figures.py" "$faultline" "$place/every.sqlite" "$place/figures.json" $kernels
fi
