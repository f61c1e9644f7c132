#!/bin/sh
# Makes a git repository of the distribution's Linux 6.1 with thirty commits: tree.sh DIRECTORY. One
# removes the per-CPU lists of free pages, one adds an unused function, and 27 change comments. The
# same source package gives the same commits. An existing repository is kept. Takes two minutes and
# 2 GB.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
directory=$1
source=/usr/src/linux-source-6.1.tar.xz
[ -e "$source" ] || { echo "missing: $source; hint: apt-get install linux-source-6.1" >&2; exit 1; }

# Positions of the commits with changes.
no_page_lists=19
unrelated=8
commits=30

wanted=$(cat "$source" "$here/tree.sh" "$here/build.sh" "$here/kernel.config" "$here/no-page-lists.patch" "$here/unrelated.c" | sha256sum)
if [ "$(cat "$directory/.git/faultline-made" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
[ ! -e "$directory" ] || [ -d "$directory/.git" ] || { echo "$directory is no repository; hint: name another directory" >&2; exit 1; }
rm -rf "$directory"
mkdir -p "$directory"
tar -xf "$source" --strip-components=1 -C "$directory"
cd "$directory"
mkdir faultline
cp "$here/build.sh" "$here/kernel.config" faultline/

# The user's configuration must not change the names of commits.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME='A. Uthor' GIT_AUTHOR_EMAIL=author@example.org GIT_COMMITTER_NAME='A. Uthor' GIT_COMMITTER_EMAIL=author@example.org
day_s=86400
commit() { # NUMBER SUBJECT
    moment="$((1700000000 + $1 * day_s)) +0000"
    git add --all
    GIT_AUTHOR_DATE=$moment GIT_COMMITTER_DATE=$moment git commit --quiet --message "$2"
}

git init --quiet --initial-branch=main
git config core.compression 1
git config gc.auto 0
git add --all --force
commit 1 'Linux 6.1, as the distribution has it'

number=2
for file in compaction filemap gup internal interval_tree list_lru madvise memblock memcontrol memory mempolicy migrate mincore mlock mmap mmap_lock \
    mprotect mremap msync oom_kill page-writeback page_io page_vma_mapped pagewalk percpu readahead rmap shmem slab_common; do
    case $number in
        "$no_page_lists")
            patch --strip=1 --quiet --no-backup-if-mismatch <"$here/no-page-lists.patch"
            subject='mm/page_alloc: free pages go straight to the zone' ;;
        "$unrelated")
            cat "$here/unrelated.c" >>mm/util.c
            subject='mm/util: add count_runs_of_ones()' ;;
        *)
            [ -e "mm/$file.c" ] || file=util
            printf '\n/* Read through, part %s. */\n' "$number" >>"mm/$file.c"
            subject="mm/$file: note that it was read" ;;
    esac
    commit "$number" "$subject"
    number=$((number + 1))
done
[ "$(git rev-list --count HEAD)" = "$commits" ] || { echo "the series has $(git rev-list --count HEAD) commits, not $commits" >&2; exit 1; }
echo "$wanted" >.git/faultline-made
