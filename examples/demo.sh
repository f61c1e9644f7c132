#!/bin/sh
# Writes the demo site, pages of real histories as files, to target/demo: demo.sh FAULTLINE [small].
#
# The site has releases of Linux, releases of a crate with the search for its step, and curves of
# this machine. Fetches kernels and packages (400 MB, once; small: 170 MB) and measures what has no
# result yet, for some minutes of CPU time. An interrupted run continues. Exits with 1 if a
# history has another step than theory names, or if the site is larger than 3 MB.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
faultline=$1 size=${2:-whole}
site=$(dirname "$here")/target/demo
place=$(dirname "$here")/target/examples/demo-$size
most_bytes=3000000

mkdir -p "$place"
EXAMPLES_DB=$place/runs.sqlite
FAULTLINE_DB=$EXAMPLES_DB
FAULTLINE_TRUST=1
export EXAMPLES_DB FAULTLINE_DB FAULTLINE_TRUST

case $size in
    small)
        "$here/crate-releases/run.sh" "$faultline" 0.3.0 0.3.11 0.4.0
        "$here/linux-releases/run.sh" "$faultline" '[8]' '["zero_fill:base"]' bookworm trixie
        ;;
    whole)
        "$here/crate-releases/run.sh" "$faultline"
        "$here/linux-releases/run.sh" "$faultline" '[1, 8, 16]' '["zero_fill:base"]' bullseye bookworm trixie sid
        ;;
    *)
        echo "there is no demo '$size'; hint: small, or nothing" >&2
        exit 2
        ;;
esac
if [ ! -e "$place/measured" ]; then
    "$faultline" bisect load --quiet --config "$here/crate-releases/faultline.toml"
    "$faultline" run map_churn zero_fill --quiet --time 30s
    touch "$place/measured"
fi

"$faultline" serve --export "$site"
bytes=$(find "$site" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
echo "$site/index.html: $bytes bytes"
[ "$bytes" -le "$most_bytes" ] || {
    echo "the demo site is larger than $most_bytes bytes; its largest files:" >&2
    find "$site" -type f -printf '%s %P\n' | sort -rn | head >&2
    exit 1
}
