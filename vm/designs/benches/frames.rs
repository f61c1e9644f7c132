//! Compares the designs of this crate: `cargo bench -p faultline-frame-designs --bench frames --
//! --help`.

use faultline_frame_designs::measure::{Subject, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(Subject::all())
}
