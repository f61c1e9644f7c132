#!/bin/sh
# Provides QEMU of sid to try the lens with it, and prints the path of its program. It is unpacked
# into target/qemu-newest with all its libraries and started by their own loader, so it runs on an
# older system.
#
#   packages/newest-emulator.sh
set -eu

cd "$(dirname "$0")/.."
tree=$PWD/target/qemu-newest
[ -e "$tree" ] || echo "unpacking QEMU of sid into target/qemu-newest" >&2
packages/unpack.sh "$tree" sid qemu-system-x86 'qemu-system-(common|data)|seabios|lib.*|zlib1g' \
    ./usr/bin/qemu-system-i386 '*-microvm' './usr/share/man' './usr/share/icons' './usr/share/locale'

# QEMU looks for its files beside the loader, which it takes for its program.
loader=$(readlink -f "$tree"/usr/lib64/ld-linux-x86-64.so.2)
libraries=$(dirname "$loader")
ln -sfn "$(realpath --relative-to "$libraries" "$tree")" "$libraries/qemu-bundle"
start=$tree/qemu-system-x86_64
cat >"$start.new" <<END
#!/bin/sh
exec "$loader" --library-path "$libraries" --argv0 qemu-system-x86_64 "$tree/usr/bin/qemu-system-x86_64" "\$@"
END
chmod 755 "$start.new"
mv "$start.new" "$start"
version=$("$start" --version 2>&1 | head -n 1)
case $version in
    "QEMU emulator version "*) echo "$start" ;;
    *) echo "target/qemu-newest does not start: $version; hint: delete it and try again" >&2; exit 1 ;;
esac
