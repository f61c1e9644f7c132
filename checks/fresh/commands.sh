# The README's commands in a bare root file system (enter.sh). `make run` and `make test` run first
# as an ordinary user, for whom they must list what is missing and nothing else; then as root, which
# installs it; then as the user again, who must find nothing missing. The lens commands use machines
# of up to two CPUs.

as_visitor() {
    cd /home/visitor/faultline
    setpriv --reuid visitor --regid visitor --init-groups env HOME=/home/visitor "$@"
}

# One list of packages, one hint, and no other output except make's own.
refused_to_visitor() {
    if said=$(as_visitor make --no-print-directory "$1" 2>&1); then
        echo "$said"
        echo "make $1 ends well for an ordinary user, where packages are missing" >&2
        exit 1
    fi
    echo "$said"
    words=$(echo "$said" | grep -v '^make: \*\*\*')
    packages=$(echo "$words" | sed -n 's/^missing: //p')
    [ "$words" = "missing: $packages
hint: install them, for example with: sudo apt-get install $packages" ] || { echo "make $1 says something else to an ordinary user" >&2; exit 1; }
}

# Says how long a command took, and ends as it does.
timed() {
    begin=$(date +%s) status=0
    "$@" || status=$?
    echo "== $*: $(($(date +%s) - begin)) s"
    return "$status"
}

# The command ends with this status.
ends_with() {
    expected=$1 ended=0
    shift
    timed "$@" || ended=$?
    [ "$ended" -eq "$expected" ] || { echo "$* ends with status $ended instead of $expected" >&2; exit 1; }
}

echo "== as an ordinary user"
refused_to_visitor run
refused_to_visitor test

echo "== as root"
export HOME=/root
cd /root/faultline
timed make run
[ -s faultline-report.html ]
# The whole suite from directories of different lengths: no result may depend on one. All parts run,
# also after one that failed.
failed=
for directory in ${DIRECTORIES:-/root/faultline /f /root/a/directory/whose/name/is/rather/long/faultline}; do
    [ "$directory" = "$PWD" ] || { mkdir -p "${directory%/*}" && mv "$PWD" "$directory" && cd "$directory"; }
    echo "== in $directory, with temporary files in ${TMPDIR:-/tmp}"
    timed make --keep-going test || failed="$failed $directory"
    export TMPDIR="${directory%/*}/temporary"
    mkdir -p "$TMPDIR"
done
unset TMPDIR
[ "$PWD" = /root/faultline ] || { mv "$PWD" /root/faultline && cd /root/faultline; }
[ -z "$failed" ] || { echo "make test failed in:$failed" >&2; exit 1; }

echo "== the lens, with the kernel that \`make guest\` unpacked"
faultline=target/debug/faultline
timed make lens guest
timed "$faultline" lens kernel zero_fill:base map_churn:threads --tasks 1,2
timed "$faultline" lens types 2
timed "$faultline" lens kernel zero_fill:base --tasks 2 --budget 'zero_fill:base<=1000@2'
ends_with 1 "$faultline" lens kernel zero_fill:base --tasks 2 --budget 'zero_fill:base<=0.0001@2'
timed "$faultline" lens compare 2 3
# A program of one thread does for any.
timed "$faultline" lens program --tasks 1,2 --ops 10000 -- /bin/true {tasks}

echo "== as an ordinary user, after root"
as_visitor make --no-print-directory needs-test
