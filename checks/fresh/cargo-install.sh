# `cargo install --path` alone, in a bare root file system (enter.sh) with a C compiler and git: the
# command has nothing beside it, and runs, compares and bisects.

# Says how long a command took, and ends as it does.
timed() {
    begin=$(date +%s) status=0
    "$@" || status=$?
    echo "== $*: $(($(date +%s) - begin)) s"
    return "$status"
}

export HOME=/root DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
apt-get install -y -q --no-install-recommends gcc libc6-dev git >/dev/null
cd /root/faultline
timed cargo install --quiet --locked --path lab/faultline --root /opt/faultline
times # of this shell and of its children, which include the build
[ "$(ls /opt/faultline)" = bin ]
export PATH="/opt/faultline/bin:$PATH"

mkdir /root/words
cd /root/words
git init --quiet
git config user.name "A. Uthor"
git config user.email author@example.org
printf 'words: words.c\n\tcc -O1 -o $@ $<\n' >Makefile
for commit in 1 2 3 4 5 6; do
    rounds=20000000
    [ "$commit" -lt 4 ] || rounds=40000000
    printf 'int main(void) { for (volatile long i = 0; i < %s; i++) {} return 0; } /* %s */\n' "$rounds" "$commit" >words.c
    git add --all
    git commit --quiet --message "commit $commit"
done

timed faultline run -- 'sleep 0.1'
timed faultline run --tasks 1 --repeats 6 fork_exit:small
timed faultline compare 'sleep 0.01' 'sleep 0.03'
timed faultline compare HEAD~3 HEAD --build make -- ./words
timed faultline bisect HEAD~5 HEAD --build make -- ./words >bisect.txt
cat bisect.txt
grep -q "commit 4" bisect.txt
