//! Benchmarks the designs of `faultline-frame-designs` and LLFree in one process: `make
//! bench-frames-peers`.

use faultline_frame_designs::measure::{Subject, run};
use faultline_frame_peers::LlFree;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut subjects = Subject::all();
    subjects.insert(1, Subject::of::<LlFree>());
    run(subjects)
}
