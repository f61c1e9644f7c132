//! Threads that get and put frames of a design, as a program for `faultline lens program`: the lens
//! counts what runs between the region marks.
//!
//! The variable `TEAM` has the threads' shared synchronisation data, so its transfers can be
//! separated from the design's. Prints `counters HITS MISSES HELD`, if the design counts.

mod patterns;

use crate::team::{TEAM, Team};
use crate::{Counters, Design};
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use patterns::{MOST_PASSED, Pattern, Task};
use std::process::ExitCode;

/// Threads that get and put page frames, to be counted by the lens
#[derive(Debug, Parser)]
#[command(
    name = "frames_loop",
    max_term_width = 100,
    after_help = "\
Examples:
  faultline lens program --tasks 2,8,32 --ops 4096 -- \\
      target/vm/release/frames_loop --design ours --pattern local --threads {tasks} --ops 4096"
)]
struct Arguments {
    /// The design
    #[arg(long, value_name = "NAME", default_value = "ours")]
    design: String,

    /// The pattern of the threads
    #[arg(long, value_enum, default_value = "local")]
    pattern: Pattern,

    /// Number of threads, each a CPU of the design
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    threads: usize,

    /// Number of operations of each thread
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000_000))]
    ops: usize,

    /// Maximum number of frames, huge frames or runs that a thread holds, for `local`, `huge` and
    /// `runs`; number of frames that are passed on at once, for `pipeline` and `passed`, at most
    /// 32. Divides the operations
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    depth: usize,

    /// Number of sockets, a power of two that divides the threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    sockets: usize,
}

/// A design, and its threads.
pub struct Loop {
    name: &'static str,
    run: fn(&Task, &Team) -> Option<Counters>,
}

impl Loop {
    /// The loop of a design.
    pub fn of<D: Design>() -> Self {
        Loop { name: D::NAME, run: patterns::run::<D> }
    }
}

fn refuse(what: &str, hint: &str) -> ExitCode {
    eprintln!("error: {what}\nhint: {hint}");
    ExitCode::from(2)
}

/// Parses the command line, and runs the threads of the design that it names.
pub fn run(loops: &[Loop]) -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { pattern, threads, ops: operations, depth, sockets, .. } = arguments;
    if !sockets.is_power_of_two() || !threads.is_multiple_of(sockets) {
        return refuse(
            "threads don't divide among the sockets",
            "as many sockets as 1, 2, 4, …, and a multiple of threads",
        );
    }
    if pattern.has_depth() && !operations.is_multiple_of(depth) {
        return refuse("--ops is no multiple of --depth", "for example --depth 64 --ops 4096");
    }
    if pattern.is_in_pairs() && (!threads.is_multiple_of(2) || depth > MOST_PASSED) {
        return refuse(
            &format!("frames are passed on between pairs of threads, at most {} at once", MOST_PASSED),
            "for example --threads 2 --depth 32",
        );
    }
    let Some(chosen) = loops.iter().find(|of| of.name == arguments.design) else {
        let names: Vec<&str> = loops.iter().map(|of| of.name).collect();
        return refuse(
            &format!("no design is called {:?}", arguments.design),
            &format!("there are {}", names.join(", ")),
        );
    };
    TEAM.set_members(threads);
    let task = Task { pattern, threads, sockets, operations, depth };
    if let Some(Counters { hits, misses, held }) = (chosen.run)(&task, &TEAM) {
        println!("counters {hits} {misses} {held}");
    }
    ExitCode::SUCCESS
}
