//! Pairs of commuting operations, each on two CPUs: see `faultline_frame_designs::commute_loop`.

use faultline_frame_designs::commute_loop::{Arenas, run};

#[global_allocator]
static ALLOCATOR: Arenas = Arenas;

fn main() -> std::process::ExitCode {
    run()
}
