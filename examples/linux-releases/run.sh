#!/bin/sh
# The distribution's kernels, from 5.10 to the newest, as a history of releases: run.sh FAULTLINE [CPUS [WORKLOADS [SUITE…]]]. Without suites it also counts every
# workload under each of them, with transfers, instructions and predicted rate (figures.py; some hours of CPU time, once). Fetches them (`make kernels`, 400 MB, once), writes
# target/examples/linux-releases/faultline.toml with what was fetched, measures what has no result yet, and prints what was measured and the steps. Ends with 1 unless the step over Linux 6.4 is there, and names the lock of the address space. CPUS and
# WORKLOADS are lists as faultline.toml has them; a boot with 16 CPUs takes about two minutes of CPU time. With suites of Debian, it takes their kernels alone, of
# which one must be older than Linux 6.4 and one newer. Started again, it goes on.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
faultline=$1
cpus=${2:-[1, 8, 16]}
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
    echo "cpus = $cpus"
    # Six seeds would take six times as long. The step over 6.4 is far greater than what another seed counts.
    echo 'seeds = 1'
    "$root/packages/kernels.sh" "$@" | while read -r kernel version; do
        echo
        echo '[[subject.linux.release]]'
        echo "name = \"${version%-amd64}\""
        echo "date = \"$(date --utc --reference="$root/$kernel" +%F)\""
        echo "kernel = \"../../../$kernel\""
    done
} >"$place/faultline.toml"

FAULTLINE_DB=$place/runs.sqlite
export FAULTLINE_DB
"$faultline" history run --quiet --config "$place/faultline.toml"
"$faultline" history changes --config "$place/faultline.toml"
"$faultline" history changes --config "$place/faultline.toml" --format json >"$place/changes.json"
python3 "$(dirname "$0")/check.py" "$place/changes.json"

# What draw.py draws is figures.json beside it; these are for whoever compares.
if [ -n "$every" ]; then
    kernels=$("$root/packages/kernels.sh" "$@" | while read -r kernel version; do echo "${version%-amd64}=$root/$kernel"; done)
    # shellcheck disable=SC2086 # a word for each kernel
    python3 "$(dirname "$0")/figures.py" "$faultline" "$place/every.sqlite" "$place/figures.json" $kernels
fi
