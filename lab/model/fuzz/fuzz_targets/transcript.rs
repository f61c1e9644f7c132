//! Feeds any bytes to the reader of a workload's output. `tests/corpus.rs` holds the same properties over the kept corpus.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/properties/mod.rs"]
mod properties;

fuzz_target!(|data: &[u8]| properties::hold(data));
