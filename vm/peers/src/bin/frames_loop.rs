//! The threads of our design and of LLFree for `faultline lens program`: `make bench-frames-lens-peers`.

use faultline_frame_designs::frames_loop::{Loop, run};
use faultline_frame_designs::{Ours, OursNearMarks};
use faultline_frame_peers::LlFree;
use std::process::ExitCode;

fn main() -> ExitCode {
    run(&[Loop::of::<Ours>(), Loop::of::<OursNearMarks>(), Loop::of::<LlFree>()])
}
