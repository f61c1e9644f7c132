//! Threads that fault, map and fork, as a program for `faultline lens program`: the lens counts what lies between the region
//! marks.
//!
//! What the threads share for synchronisation is the variable `TEAM`, so that its transfers can be separated from the memory
//! system's. Prints what the memory system counted within the region, a line `COUNT NAME` for each counter that is not 0.

mod machine;
mod patterns;

use crate::systems::{Backings, LocksByObject, OneToken, Ours, OursShared, Radix, Refused, SharedRetry, System};
use crate::team::{TEAM, Team};
use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use machine::Counted;
use patterns::{Pattern, Task};
use std::process::ExitCode;

/// Threads that fault, map and fork, to be counted by the lens
#[derive(Debug, Parser)]
#[command(
    name = "memory_loop",
    max_term_width = 100,
    after_help = "\
Examples:
  faultline lens program --threads-from 2,8,32 --ops 1024 -- \\
      target/release/memory_loop --pattern zero-fill --threads {threads} --ops 1024"
)]
struct Arguments {
    /// The design
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(DESIGNS.map(|design| design.name)), default_value = Ours::NAME)]
    design: String,

    /// The pattern of the threads
    #[arg(long, value_enum, default_value = "zero-fill")]
    pattern: Pattern,

    /// Number of threads, each a CPU of the memory system
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<u32>::new().range(1..=256))]
    threads: u32,

    /// Number of operations of each thread
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = RangedU64ValueParser::<u64>::new().range(1..=100_000))]
    ops: u64,

    /// Number of pages of each range, for `map`, `map-touch` and `protect`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..=256))]
    depth: u64,
}

/// A design, and its threads.
#[derive(Debug, Clone, Copy)]
pub struct Design {
    /// Its name.
    pub name: &'static str,
    /// The year of its source.
    pub year: &'static str,
    run: fn(&Task, &Team) -> Result<Counted, Refused>,
}

impl Design {
    const fn of<S: System>() -> Self {
        Design { name: S::NAME, year: S::YEAR, run: machine::run::<S> }
    }
}

/// All designs.
pub const DESIGNS: [Design; 7] = [
    Design::of::<OneToken>(),
    Design::of::<LocksByObject>(),
    Design::of::<SharedRetry>(),
    Design::of::<Radix>(),
    Design::of::<Backings>(),
    Design::of::<OursShared>(),
    Design::of::<Ours>(),
];

/// Parses the command line, and runs the threads.
pub fn run() -> ExitCode {
    let Arguments { design, pattern, threads, ops: operations, depth } = Arguments::parse();
    TEAM.set_members(threads as usize);
    let design = DESIGNS.iter().find(|known| known.name == design).expect("checked by the parser");
    match (design.run)(&Task { pattern, threads, operations, depth }, &TEAM) {
        Ok(counted) => {
            counted.iter().for_each(|(name, count)| println!("{count} {name}"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}\nhint: fewer --threads or --ops take less memory");
            ExitCode::FAILURE
        }
    }
}
