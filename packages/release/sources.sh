#!/bin/sh
# Downloads the source packages of everything of Debian that a release contains, and packs them into
# DIRECTORY/faultline-VERSION-sources.tar: QEMU's and Linux's licence want them beside the binaries.
#
#   packages/release/sources.sh VERSION BUILT DIRECTORY    BUILT: where build.sh built
#
# They come from this machine's mirror, by the versions of the binary packages. About 500 MB.
set -eu

version=$1 built=$2 out=$3
cd "$(dirname "$0")/../.."
place=$PWD/target/dist-sources
rm -rf "$place/files" "$place/parts"
mkdir -p "$place/lists/partial" "$place/files" "$place/parts"

# This machine's own sources of Debian, and the suites of the bundled packages from the same mirror.
. /etc/os-release
keys=/usr/share/keyrings/debian-archive-keyring
own=$(grep -ls "^Signed-By: $keys" /etc/apt/sources.list.d/*.sources || true)
mirror=$(awk -v suite="$VERSION_CODENAME" '$1 == "URIs:" { uri = $2 } $1 == "Suites:" && $2 == suite { print uri; exit }' $own /dev/null)
[ -n "$mirror" ] || { echo "no .sources file of $VERSION_CODENAME in /etc/apt; hint: releases are made on Debian" >&2; exit 1; }
for file in $own; do
    sed 's/^Types: deb$/Types: deb deb-src/' "$file" >"$place/parts/${file##*/}"
done
for suite in bookworm trixie; do
    [ "$suite" = "$VERSION_CODENAME" ] || sed 's/^  *//' >"$place/parts/$suite.sources" <<END
        Types: deb deb-src
        URIs: $mirror
        Suites: $suite
        Components: main
        Signed-By: $(ls $keys.pgp $keys.gpg 2>/dev/null | head -n 1)
END
done
set -- -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$place/parts" -o Dir::State::lists="$place/lists" \
    -o Dir::State::status=/dev/null -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root
apt-get "$@" -qq update

# Several binary packages have one source, and each architecture lists the same packages.
cat "$built"/*/qemu/packages "$built"/*/kernels/bookworm/packages "$built"/*/linked-packages | sort -u >"$place/packages"
while read -r name number; do
    source=$(apt-cache "$@" show "$name=$number" | awk -v name="$name" -v number="$number" -v binary="$number" '
        $1 == "Source:" { name = $2; if ($3) { number = $3; gsub(/[()]/, "", number) } }
        # The source of a signed kernel has only signatures.
        name ~ /^linux-signed/ { name = "linux"; number = binary }
        END { print name "=" number }')
    [ "$source" != "=" ] || { echo "the mirror no longer has $name $number; hint: build again" >&2; exit 1; }
    echo "$source"
done <"$place/packages" >"$place/named"
sort -u "$place/named" >"$place/sources"
(cd "$place/files" && xargs apt-get "$@" -qq --download-only --only-source source <"$place/sources")
tar --sort=name --owner=root:0 --group=root:0 --mode=644 --mtime="@${SOURCE_DATE_EPOCH:-0}" --format=gnu \
    -cf "$out/faultline-$version-sources.tar" -C "$place/files" .
(cd "$out" && sha256sum "faultline-$version-sources.tar" >>SHA256SUMS)
