//! The designs' threads for `faultline lens program`.

use faultline_frame_designs::frames_loop::{Loop, run};
use faultline_frame_designs::{
    Array16, ColourQueues, GlobalMutex, Magazines, Ours, OursNearMarks, SpinBuddy, SpinList,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    run(&[
        Loop::of::<Ours>(),
        Loop::of::<OursNearMarks>(),
        Loop::of::<GlobalMutex>(),
        Loop::of::<Array16>(),
        Loop::of::<Magazines>(),
        Loop::of::<ColourQueues>(),
        Loop::of::<SpinBuddy>(),
        Loop::of::<SpinList>(),
    ])
}
