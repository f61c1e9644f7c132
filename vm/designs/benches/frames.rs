//! Compares the designs of this crate: `cargo bench -p faultline-frame-designs --bench frames -- --help`.

use faultline_frame_designs::measure::{Subject, run};
use faultline_frame_designs::{Array16, ColourQueues, GlobalMutex, Magazines, Ours, SpinBuddy, SpinList};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(vec![
        Subject::of::<Ours>(),
        Subject::of::<GlobalMutex>(),
        Subject::of::<Array16>(),
        Subject::of::<Magazines>(),
        Subject::of::<ColourQueues>(),
        Subject::of::<SpinBuddy>(),
        Subject::of::<SpinList>(),
    ])
}
