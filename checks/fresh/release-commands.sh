# First answers of a release in a bare root file system, and its Debian package (release.sh).

# Says how long a command took, and ends as it does.
timed() {
    begin=$(date +%s) status=0
    "$@" || status=$?
    echo "== $*: $(($(date +%s) - begin)) s"
    return "$status"
}

# Everything that an installation may leave behind.
files() { find / -xdev ! -path '/root*' ! -path '/tmp*' ! -path '/var/lib/dpkg*' ! -path '/var/log*' ! -path '/var/cache*' | sort; }

answers() { # the command
    timed "$1" run -- 'sleep 0.1'
    timed "$1" run --tasks 1 --repeats 6 fork_exit:small
    # A program of one thread does for any.
    timed "$1" lens program --tasks 1,2 --ops 1000 -- $program '{tasks}'
}

cd /root
program=/bin/true
[ ! -L "$program" ] || program="/bin/busybox true"
timed tar -xzf faultline.tar.gz
answers "$(echo /root/faultline-*/bin/faultline)"
rm -rf faultline-* .local .cache
[ -e faultline.deb ] || exit 0

files >/tmp/before
export DEBIAN_FRONTEND=noninteractive
timed dpkg --install faultline.deb
[ -z "$(dpkg --verify faultline)" ]
answers /usr/bin/faultline
timed dpkg --purge faultline
files >/tmp/after
diff /tmp/before /tmp/after && echo "== nothing is left"
