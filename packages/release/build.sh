#!/bin/sh
# Builds the programs of a release for one architecture into DIRECTORY, laid out as `target/` is:
# the command, workloads, parts of guests, the lens's plugin and a kernel.
#
#   packages/release/build.sh ARCH DIRECTORY    ARCH: x86_64 or aarch64
#
# The command is linked statically with musl by Rust's own linker; C code of its crates is compiled
# by the cross compiler that `make guest-bsd` uses. Workloads are linked statically with glibc, as
# in guests. Paths of this machine are replaced in all of them.
set -eu

cd "$(dirname "$0")/../.."
arch=$1 out=$2
case $arch in
    x86_64) gcc=gcc needs="gcc libc6-dev" ;;
    aarch64) gcc=aarch64-linux-gnu-gcc needs="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
    *) echo "there are no releases for '$arch'; hint: x86_64 or aarch64" >&2; exit 2 ;;
esac
command=$arch-unknown-linux-musl plugin=$arch-unknown-linux-gnu
# shellcheck disable=SC2086 # words are packages
checks/need.sh $needs gcc=gcc libc6-dev make=make node=nodejs npm=npm python3-venv
mkdir -p "$out"
out=$(cd "$out" && pwd)

for target in "$command" "$plugin"; do
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || rustup target add "$target" ||
        { echo "Rust has no library for $target here; hint: install Rust with rustup" >&2; exit 1; }
done
compiler=$PWD/target/cross-compiler
make --no-print-directory -C workloads "$compiler/installed"

# --- The command and the plugin ---

home=${CARGO_HOME:-$HOME/.cargo}
unit=$(printf '\037')
remapped="--remap-path-prefix=$PWD=/faultline$unit--remap-path-prefix=$home=/cargo"
C_FLAGS="-ffile-prefix-map=$home=/cargo -ffile-prefix-map=$out=/build -g0"
export CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1

variable=$(echo "$command" | tr - _)
env "CC_$variable=$PWD/packages/release/musl-cc" "CFLAGS_$variable=$C_FLAGS" "AR_$variable=ar" \
    MUSL_CC_COMPILER="$compiler" MUSL_CC_ARCH="$arch" ZIG_GLOBAL_CACHE_DIR="$out/cross-cache" \
    CARGO_ENCODED_RUSTFLAGS="$remapped$unit-Clinker=rust-lld" \
    cargo build --release --locked -p faultline-cli --target "$command" --target-dir "$out/cargo"
install "$out/cargo/$command/release/faultline" "$out/faultline"

CARGO_ENCODED_RUSTFLAGS="$remapped$unit-Clinker=$gcc" \
    cargo build --release --locked --manifest-path lens/plugin/Cargo.toml --target "$plugin" --target-dir "$out/cargo"
mkdir -p "$out/lens"
install -m 644 "$out/cargo/$plugin/release/libfaultline_lens.so" "$out/lens/"

# --- C programs ---

# Guests are x86-64 on every host.
flags="-O2 -ffile-prefix-map=$PWD=/faultline"
make --no-print-directory -C workloads guest BUILD="$out/guest/workloads" CC=gcc CFLAGS="$flags" LDFLAGS=-static
make --no-print-directory -C lab/targets/guest BUILD="$out/guest" CC=gcc CFLAGS="$flags"
make --no-print-directory -C workloads guest BUILD="$out/workloads" CC="$gcc" CFLAGS="$flags" LDFLAGS=-static
make --no-print-directory -C workloads "$out/workloads/self_exec_image.dynamic" BUILD="$out/workloads" CC="$gcc" CFLAGS="$flags"
make --no-print-directory -C workloads cross BUILD="$out/workloads" CROSS="$out/guest" CFLAGS="$flags" CROSS_TARGETS='$(BSD_TARGETS)'
make --no-print-directory -C lab/targets/guest cross BUILD="$out/guest" CFLAGS="$flags"

# --- Programs of others ---

python3 packages/release/emulator.py "$arch" "$out"
packages/kernels.sh bookworm >/dev/null
mkdir -p "$out/kernels/bookworm"
cp -L target/kernels/bookworm/vmlinuz "$out/kernels/bookworm/vmlinuz"
cp target/kernels/bookworm/packages "$out/kernels/bookworm/packages"
# The C library in static programs.
dpkg-query --show --showformat '${Package} ${Version}\n' libc6-dev >"$out/linked-packages"
