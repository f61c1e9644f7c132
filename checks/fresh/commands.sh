# README's two commands, in a bare root file system (enter.sh): first as an ordinary user, who must be told what is missing and
# nothing else; then as root, for whom it is installed; then as the user again, who must find nothing missing.

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

timed() {
    begin=$(date +%s)
    "$@"
    echo "== $*: $(($(date +%s) - begin)) s"
}

echo "== as an ordinary user"
refused_to_visitor run
refused_to_visitor test

echo "== as root"
export HOME=/root
cd /root/faultline
timed make run
[ -s faultline-report.html ]
timed make test

echo "== as an ordinary user, after root"
as_visitor make --no-print-directory needs-test
