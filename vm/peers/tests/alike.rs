//! Runs the designs' common tests for LLFree.

#[path = "../../designs/tests/steps/mod.rs"]
mod steps;

use faultline_frame_designs::trial::{beside_bitmap, exactly_once, whole_again};
use faultline_frame_peers::LlFree;
use proptest::collection::vec;
use proptest::prelude::*;
use steps::{MEMORY, step};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_sequence_agrees_with_the_bitmap(steps in vec(step(), 1..120)) {
        beside_bitmap::<LlFree>(&MEMORY, &steps).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn no_frame_is_lost_or_given_twice_between_threads() {
    exactly_once::<LlFree>(&MEMORY, 20, 10_000, 0x5eed).unwrap();
}

#[test]
fn all_blocks_are_whole_again() {
    whole_again::<LlFree>(&MEMORY).unwrap();
}
