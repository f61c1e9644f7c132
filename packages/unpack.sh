#!/bin/sh
# Unpacks packages of another suite of this machine's distribution into a directory, without root.
# Package sources, package lists and installed packages of the machine stay unchanged.
#
#   packages/unpack.sh DIRECTORY SUITE PACKAGE PATTERN [FILES…]
#
# PATTERN is an extended regular expression: dependencies of PACKAGE whose whole name matches are
# unpacked too. FILES are tar patterns of files to leave out. DIRECTORY is either complete or
# absent. An existing one is kept, unless other files were left out of it: then it is replaced once
# the new one is complete. Its file `packages` lists the packages, `left-out` the patterns.
#
# Mirror and key come from this machine's source of its own suite. apt checks the signature of the
# package list, and the packages by the list.
set -eu

directory=$1 suite=$2 package=$3 pattern=$4
shift 4
is_there() { [ -e "$directory" ] && { printf '%s\n' "$@" | cmp -s - "$directory/left-out" || [ $# -eq 0 ]; }; }
! is_there "$@" || exit 0

fail() { # problem, hint
    if [ -e "$directory" ]; then
        echo "$directory stays as an older version unpacked it: $1" >&2
        exit 0
    fi
    echo "cannot get $package of $suite: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

command -v apt-get >/dev/null || fail "this machine has no apt" "packages are unpacked only on Debian and its derivatives"
place=$(cd "$(dirname "$0")/.." && pwd)/target/packages
mkdir -p "$place" && chmod 755 "$place"

# One at a time. The lock ends with this process. Whoever waited may find that the work is done.
exec 9>"$place/lock"
flock 9
! is_there "$@" || exit 0
lists=$place/$suite new=$place/new log=$place/log
rm -rf --one-file-system "$new"
mkdir -p "$lists/partial" "$new/sources" "$new/debs" "$new/files" "$(dirname "$directory")"
trap 'rm -rf --one-file-system "$new"' EXIT
trap 'exit 130' INT TERM HUP

# This machine's source of its own suite, in either of apt's formats, rewritten for the wanted
# suite.
own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
eval "$(apt-config shell parts Dir::Etc::sourceparts/d list Dir::Etc::sourcelist/f)"
for source in "$list" "$parts"*.list "$parts"*.sources; do
    [ -r "$source" ] || continue
    made=$new/sources/source.${source##*.}
    awk -v own="$own" -v suite="$suite" -v stanzas="${source##*.}" '
        function end_of_stanza() {
            if (of_own && of_packages && !disabled && !found) { printf "%s", stanza; found = 1 }
            stanza = ""; of_own = of_packages = disabled = 0
        }
        stanzas != "sources" && $1 == "deb" && !found {
            for (i = 2; i < NF; i++) if ($i ~ /:\// && $(i + 1) == own) {
                for (j = 1; j <= i; j++) printf "%s ", $j
                print suite, "main"; found = 1; break
            }
        }
        stanzas != "sources" || /^#/ { next }
        /^[[:space:]]*$/ { end_of_stanza(); next }
        { field = tolower($1); kept = $0 }
        field == "suites:" { for (i = 2; i <= NF; i++) of_own = of_own || $i == own; kept = "Suites: " suite }
        field == "types:" { for (i = 2; i <= NF; i++) of_packages = of_packages || $i == "deb"; kept = "Types: deb" }
        field == "enabled:" { disabled = tolower($2) == "no" }
        field == "components:" { kept = "Components: main" }
        { stanza = stanza kept "\n" }
        END { end_of_stanza() }' "$source" >"$made"
    [ ! -s "$made" ] || break
    rm "$made"
done
[ -n "$(ls "$new/sources")" ] || fail "this machine's apt has no source of its own suite '$own'" "the same mirror is asked for $suite; add it to /etc/apt/sources.list"

left_out=$new/left-out
printf '%s\n' "$@" >"$left_out"
set -- -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$new/sources" -o Dir::State::lists="$lists" -o Dir::State::status=/dev/null \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Dir::Cache::archives="$new/debs" -o APT::Sandbox::User=root -o Acquire::Languages=none
for target in $(apt-config dump | sed -n 's/^Acquire::IndexTargets::deb::\([^:]*\)::MetaKey .*/\1/p'); do
    [ "$target" = Packages ] || set -- "$@" -o "Acquire::IndexTargets::deb::$target::DefaultEnabled=false"
done

# apt's first error.
complaint() { sed -n 's/^E: //p' "$log" | head -n 1; }

export LC_ALL=C.UTF-8
if ! apt-get "$@" -qq update --error-on=any >"$log" 2>&1 9>&-; then
    case $(cat "$log") in
        *"does not have a Release file"*) fail "$(complaint)" "this machine's mirror has no suite $suite" ;;
        *"is not signed"*) fail "$(complaint)" "the mirror's key is missing or old: install the newest debian-archive-keyring" ;;
        *) fail "$(complaint)" "this machine's mirror must be reachable; try again later" ;;
    esac
fi
names=$(apt-cache "$@" depends --recurse --important "$package" 2>"$log" | awk -v package="$package" -v pattern="^($pattern)\$" '
    /^[^ <|]/ && ($1 == package || $1 ~ pattern) && !seen[$1]++ { print $1 }')
[ -n "$names" ] || fail "there is no such package" "the suite may have renamed it"
# shellcheck disable=SC2086 # words are packages
(cd "$new/debs" && apt-get "$@" -qq download $names >"$log" 2>&1 9>&-) || fail "$(complaint)" "this machine's mirror must be reachable; try again later"

for deb in "$new"/debs/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" 2>"$log" | tar -x -C "$new/files" --exclude-from "$left_out" 2>>"$log" || fail "$(tail -n 1 "$log")" "there may be no space left in $place"
    dpkg-deb -f "$deb" Package Version | awk '{ printf "%s%s", $2, NR % 2 ? " " : "\n" }' >>"$new/files/packages"
done
cp "$left_out" "$new/files/left-out"
chmod 755 "$new/files"
[ ! -e "$directory" ] || mv -T "$directory" "$new/older"
mv -T "$new/files" "$directory"
