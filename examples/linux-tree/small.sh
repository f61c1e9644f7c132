#!/bin/sh
# A small version of the Linux tree: nine commits that select kernels built already. small.sh
# FAULTLINE makes it in target/examples/linux-tree-small from the distribution's kernels of two ages
# (170 MB, once). Commit 7 takes the newer one, with the per-mapping locks of Linux 6.4. Commit 4
# adds unused bytes to the image. The others change a text beside it. Every third commit is measured
# by transfers, with a search around the step. Exits with 1 unless the search names commit 7 alone,
# commit 4 counts the same as those before it, and commits with one image share counts. Five boots.
# An interrupted run continues.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
faultline=${1:?"usage: small.sh FAULTLINE; hint: make build, then target/debug/faultline"}
place=$root/target/examples/linux-tree-small
repository=$place/repository
older=bookworm newer=trixie
"$root/packages/kernels.sh" $older $newer >/dev/null

# The user's configuration must not change the names of commits.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME='A. Uthor' GIT_AUTHOR_EMAIL=author@example.org GIT_COMMITTER_NAME='A. Uthor' GIT_COMMITTER_EMAIL=author@example.org
step='mm: page faults take the lock of their mapping'
commit() { # NUMBER SUBJECT
    moment="$((1700000000 + $1 * 86400)) +0000"
    echo "$1: $2" >>NEWS
    git add --all
    GIT_AUTHOR_DATE=$moment GIT_COMMITTER_DATE=$moment git commit --quiet --message "$2"
}
make_repository() (
    rm -rf "$repository"
    mkdir -p "$repository"
    cd "$repository"
    git init --quiet --initial-branch=main
    # The build: KERNELS is the directory of the unpacked kernels.
    cat >build.sh <<'BUILD'
#!/bin/sh
set -eu
cat "$1/$(cat kernel)/vmlinuz" >bzImage
[ ! -e unrelated ] || cat unrelated >>bzImage
BUILD
    echo $older >kernel
    commit 1 'Linux, as the distribution has it'
    for number in 2 3 4 5 6 7 8 9; do
        subject="NEWS: note that it was read"
        case $number in
            4) subject='lib: add bytes that nothing reads'; echo 'nothing reads this' >unrelated ;;
            7) subject=$step; echo $newer >kernel ;;
        esac
        commit $number "$subject"
    done
)
[ -e "$repository/.git/faultline-made" ] && cmp -s "$here/small.sh" "$repository/.git/faultline-made" || {
    make_repository
    cp "$here/small.sh" "$repository/.git/faultline-made"
}

cat >"$place/faultline.toml" <<TOML
# Written by examples/linux-tree/small.sh.
[subject.linux]
repository = "repository"
work = "work"
pick = "every 3"
build = ["sh", "build.sh", "$root/target/kernels"]
image = "bzImage"
workloads = ["zero_fill:base"]
mode = "thread"
tasks = [8]
measure = "transfers"
# The step over Linux 6.4 is far greater than what another schedule counts.
seeds = 1
TOML

FAULTLINE_DB=$place/runs.sqlite
FAULTLINE_TRUST=1
export FAULTLINE_DB FAULTLINE_TRUST
history() { "$faultline" history "$@" --config "$place/faultline.toml"; }
history run --quiet
history show linux --format json >"$place/history.json"
bisect linux --quiet >/dev/null
"$faultline" show --format json >"$place/search.json"
python3 "$here/check.py" "$place/search.json" "$step"
python3 "$here/check_shared.py" "$place/history.json"
