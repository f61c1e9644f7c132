#!/bin/sh
# Builds the bare image and boots it with two CPUs on the emulated x86-64 machine.
#
#   vm/pmap/machine/run.sh [--if-possible] [--levels 4|5] [--count | --parallel]
#                           [--programs N] [--minutes N]
#
# --if-possible: without the Rust target or an emulator, prints a note and exits with status 0.
# --count: instructions are time, so ticks are instructions. --parallel: each CPU has a host thread;
# without it they take turns on one. --programs: random programs of both CPUs (default 1).
# --levels: of page tables (default 4). --minutes: a boot is ended after this time (default 1).
set -eu

cd "$(dirname "$0")"
status=1 emulator_options= threads=single levels=4 programs=1 minutes=1
while [ $# -gt 0 ]; do
	case $1 in
		--if-possible) status=0 ;;
		--parallel) threads=multi ;;
		--count) emulator_options="-icount shift=0,sleep=off" ;;
		--levels) levels=${2:?4 or 5} && shift ;;
		--programs) programs=${2:?a number} && shift ;;
		--minutes) minutes=${2:?a number} && shift ;;
		*) echo "usage: $0 [--if-possible] [--levels 4|5] [--count | --parallel] [--programs N] [--minutes N]" >&2; exit 2 ;;
	esac
	shift
done
missing() { # what, hint
	echo "not checked: page tables on the emulated machine, because $1 is missing; hint: $2" >&2
	exit "$status"
}
root=$(cd ../../.. && pwd) target=x86_64-unknown-none
[ -d "$(rustc --print target-libdir --target "$target")" ] || missing "Rust's target $target" "rustup target add $target"
command -v ld >/dev/null || missing ld "install binutils"
unpacked=$root/target/qemu
emulator=${FAULTLINE_QEMU:-$unpacked/usr/bin/qemu-system-x86_64}
[ -n "${FAULTLINE_QEMU:-}" ] || [ -x "$emulator" ] || emulator=qemu-system-x86_64
command -v "$emulator" >/dev/null || missing "an emulator" "make guest, at the root"
case $emulator in
	"$unpacked"/*)
		export LD_LIBRARY_PATH="$unpacked/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
		emulator_options="$emulator_options -L $unpacked/usr/share/qemu -L $unpacked/usr/share/seabios"
		;;
esac

case $levels in
	4) features= ;;
	5) features=la57 ;;
	*) echo "--levels $levels is neither 4 nor 5" >&2; exit 2 ;;
esac

folder=$root/target/vm/machine
cargo build --release --locked --quiet -p faultline-pmap-machine --features "$features" --target "$target" --target-dir "$folder"
ld --gc-sections -nostdlib -static -z max-page-size=4096 -z noexecstack --no-warn-rwx-segments -T image.ld -o "$folder/image" \
	"$folder/$target/release/libfaultline_pmap_machine.a"

ended=0
# shellcheck disable=SC2086 # options are words
timeout -k 5 $((minutes * 60)) "$emulator" $emulator_options -accel tcg,thread=$threads -cpu max -smp 2 -m 256 -display none -nodefaults -no-reboot \
	-serial stdio -device isa-debug-exit,iobase=0xf4,iosize=4 -kernel "$folder/image" -append "$programs" </dev/null || ended=$?
case $ended in
	33) echo "the emulated machine succeeded" ;;
	124 | 137) echo "the emulated machine did not end within $minutes min" >&2; exit 1 ;;
	*) echo "the emulated machine ended with status $ended" >&2; exit 1 ;;
esac
