#!/bin/sh
# Fuzzes the parser of workloads' output: run.sh SECONDS. Keeps its corpus in target/fuzz-corpus.
set -eu

cd "$(dirname "$0")/../../.."
checks/need.sh g++=g++
target=$PWD/target
cargo metadata --quiet --locked --format-version 1 --manifest-path lab/record/fuzz/Cargo.toml >/dev/null
cargo install --quiet --locked --root target/tools cargo-fuzz
mkdir -p target/fuzz-corpus
cd lab/record
PATH="$target/tools/bin:$PATH" RUSTC_BOOTSTRAP=1 cargo fuzz run transcript --sanitizer none \
    --target-dir "$target/fuzz" "$target/fuzz-corpus" fuzz/corpus/transcript \
    -- -max_total_time="$1" -max_len=4096 -dict=fuzz/transcript.dict -verbosity=0 -print_final_stats=1
