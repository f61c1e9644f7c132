//! The designs of `faultline-frame-designs` and LLFree in one process: `make bench-frames-peers`.

use faultline_frame_designs::measure::{Subject, run};
use faultline_frame_designs::{Array16, ColourQueues, GlobalMutex, Magazines, Ours, SpinBuddy, SpinList};
use faultline_frame_peers::LlFree;
use std::process::ExitCode;

fn main() -> ExitCode {
    run(vec![
        Subject::of::<Ours>(),
        Subject::of::<LlFree>(),
        Subject::of::<GlobalMutex>(),
        Subject::of::<Array16>(),
        Subject::of::<Magazines>(),
        Subject::of::<ColourQueues>(),
        Subject::of::<SpinBuddy>(),
        Subject::of::<SpinList>(),
    ])
}
