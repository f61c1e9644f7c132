//! The memory system's threads for `faultline lens program`.

use std::process::ExitCode;

fn main() -> ExitCode {
    faultline_frame_designs::memory_loop::run()
}
