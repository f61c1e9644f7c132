//! Feeds any bytes to the parser of a workload's output. `tests/corpus.rs` checks these properties
//! over the saved corpus.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/properties/mod.rs"]
mod properties;

fuzz_target!(|data: &[u8]| properties::hold(data));
