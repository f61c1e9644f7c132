# README's commands of the lens, as root in a bare root file system (enter.sh), on machines of up to two CPUs; and the plugin's tests.

timed() {
    begin=$(date +%s)
    "$@"
    echo "== $*: $(($(date +%s) - begin)) s"
}

# The command ends with this status.
ends_with() {
    expected=$1 status=0
    shift
    timed "$@" || status=$?
    [ "$status" -eq "$expected" ] || { echo "$* ends with status $status instead of $expected" >&2; exit 1; }
}

export HOME=/root
cd /root/faultline
timed make build guest lens
timed make test-lens
timed make needs-guest

faultline=target/release/faultline
timed "$faultline" lens kernel zero_fill map_churn:threads --cpus 1,2
timed "$faultline" lens kernel zero_fill:base --cpus 2 --budget 'zero_fill:base<=1000@2'
ends_with 1 "$faultline" lens kernel zero_fill:base --cpus 2 --budget 'zero_fill:base<=0.0001@2'
timed "$faultline" lens compare 1 2

# A program of one thread does for any. Where QEMU's user mode has no plugins, it is refused.
status=0
[ -z "$(checks/user-mode-flags.sh)" ] || status=2
ends_with "$status" "$faultline" lens program --threads-from 1,2 --ops 10000 -- /bin/true {threads}
