# Starts the agent on the second serial port. It is the first file of the second disk, and runs
# from the shell at the serial console. The rest of the disk has the agents and the programs, in a
# directory for each system.
#
#   sh -s DISK
#
# Output at the console: faultline-started, or a line that begins with "faultline: ". All else goes
# over the port. The first line read from it is the directory for scratch files; it may be empty.
LC_ALL=C
umask 077
disk=/dev/$1

# Linux, FreeBSD, DragonFly, NetBSD, OpenBSD.
for port in ttyS1 cuau1 cuaa1 dty01 cua01; do
    [ ! -c /dev/$port ] || break
done
[ -c /dev/$port ] || { echo "faultline: there is no second serial port"; exit 1; }
(: <>/dev/$port) || { echo "faultline: /dev/$port cannot be used"; exit 1; }
exec 3<>/dev/$port
# Bytes go as they are in both directions.
stty raw -echo 115200 <&3 || { echo "faultline: /dev/$port is not a serial port"; exit 1; }
echo faultline-started

tell() {
    printf 'failed %s %s\n' ${#1} "$1" >&3
}

# As the directories are called.
machine=$(uname -m)
case $machine in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
esac
own=$machine-$(uname -s | tr '[:upper:]' '[:lower:]')

# A line of its own: what waited in the port may have no end.
printf '\nfaultline-host %s\n' "$(uname -sm)" >&3
IFS= read -r base <&3
if dir=$(mktemp -d "${base:-${TMPDIR:-/tmp}}/faultline.XXXXXX" 2>&1); then
    if said=$(tar -xf "$disk" -C "$dir" "$own" 2>&1 </dev/null); then
        "$dir/$own/agent" serve "$dir/$own" <&3 >&3
        status=$?
        [ $status -eq 0 ] || tell "the agent ended with status $status"
    else
        tell "$(printf '%s' "$said" | head -n 1)"
    fi
    rm -rf "$dir"
else
    tell "$(printf '%s' "$dir" | head -n 1)"
fi
printf '\nfaultline-ended\n' >&3
exit
