# README's commands, in a bare root file system (enter.sh). `make run` and `make test`: first as an ordinary user, who must be told
# what is missing and nothing else; then as root, for whom it is installed; then as the user again, who must find nothing missing.
# And those of the lens, on machines of up to two CPUs.

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
# All parts, also after one that failed.
timed make --keep-going test

echo "== the lens, with the kernel that \`make guest\` unpacked"
faultline=target/release/faultline
timed make lens guest
timed "$faultline" lens kernel zero_fill:base map_churn:threads --cpus 1,2
timed "$faultline" lens types 2
timed "$faultline" lens kernel zero_fill:base --cpus 2 --budget 'zero_fill:base<=1000@2'
ends_with 1 "$faultline" lens kernel zero_fill:base --cpus 2 --budget 'zero_fill:base<=0.0001@2'
timed "$faultline" lens compare 2 3
# A program of one thread does for any.
timed "$faultline" lens program --threads-from 1,2 --ops 10000 -- /bin/true {threads}

echo "== as an ordinary user, after root"
as_visitor make --no-print-directory needs-test
