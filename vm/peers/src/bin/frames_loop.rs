//! The loop for `faultline lens program` with our design and LLFree: `make
//! bench-frames-lens-peers`.

use faultline_frame_designs::frames_loop::{Loop, run};
use faultline_frame_designs::{Ours, OursNearMarks};
use faultline_frame_peers::LlFree;
use std::process::ExitCode;

fn main() -> ExitCode {
    run(&[Loop::of::<Ours>(), Loop::of::<OursNearMarks>(), Loop::of::<LlFree>()])
}
