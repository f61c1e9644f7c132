//! Pairs of operations that commute by the specification, each in a state of its own, as a program
//! for `faultline lens program`. The lens counts the two operations of each pair between the region
//! marks, the first on one CPU and the second on another. A line that moves is used by both and
//! written by at least one.
//!
//! After A. T. Clements et al., "The Scalable Commutativity Rule", SOSP 2013, whose tool also
//! derives tests from a specification and runs the two operations one after the other on two CPUs.
//!
//! A pair's memory has an address derived from its number ([`arena`]), so each moving line
//! identifies its pair. Prints a line per pair, tab-separated: number, the two operations, their
//! relation, and their parameters.

mod arena;
mod operation;
mod pairs;
mod specification;
mod system;

use crate::team::{pin_to, region_begin, region_end, usable_cpus};
pub use arena::Arenas;
use arena::Part;
use clap::Parser;
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type Problem = Box<dyn Error + Send + Sync>;

/// Pairs of operations that commute, to be counted by the lens
#[derive(Debug, Parser)]
#[command(
    name = "commute_loop",
    max_term_width = 100,
    after_help = "\
Examples:
  faultline lens program --tasks 2 --ops 1 -- \\
      target/vm/release/commute_loop --threads {tasks} --first 0 --pairs 64"
)]
struct Arguments {
    /// Number of the first pair
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: usize,

    /// Number of pairs; without it, all from the first one on
    #[arg(long, value_name = "N")]
    pairs: Option<usize>,

    /// Pairs for every two kinds of operations
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1000))]
    each: usize,

    /// Seed of the pairs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of threads: two
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=2))]
    threads: usize,
}

/// Parses the command line, and runs the pairs.
pub fn run() -> ExitCode {
    match run_pairs(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run_pairs(arguments: &Arguments) -> Result<(), Problem> {
    let all = pairs::count(arguments.each);
    let left = all.checked_sub(arguments.first).ok_or_else(|| format!("there are {all} pairs"))?;
    let count = arguments.pairs.unwrap_or(left).min(left);
    let usable = usable_cpus()?;
    let [.., first, second] = usable[..] else {
        return Err("one CPU; hint: each operation of a pair has a CPU of its own".into());
    };
    pin_to(first)?;
    // One more arena, for the controls.
    arena::make(arguments.first, count + 1)?;
    for number in arguments.first..arguments.first + count {
        let Some(pair) = pairs::pair(number, arguments.each, arguments.seed) else { continue };
        // SAFETY: 1. Made above. 2. Once for each.
        let parts = [0, 1].map(|cpu| unsafe { Part::of(number, cpu) });
        let names = system::run(&pair, parts, [first, second]);
        let [one, other] = &pair.operations;
        let [name, other_name] = names.map_err(|problem| format!("pair {number}, {one} and {other}: {problem}"))?;
        println!("{number}\t{name}\t{other_name}\t{}\t{one}\t{other}", pair.relation);
    }
    control(arguments.first + count, second)
}

/// A control, in an arena after the pairs: two CPUs write one line, which the lens must find, and
/// each a line of its own, which it must not report.
fn control(number: usize, second: usize) -> Result<(), Problem> {
    // SAFETY: 1. Made with the pairs. 2. Once.
    let mut part = unsafe { Part::of(number, 0) };
    let lines = part.within(|| -> [Box<AtomicU64>; 3] { std::array::from_fn(|_| Box::default()) });
    let write = |both: [&AtomicU64; 2]| {
        // Not read from the caller's stack in the region.
        let [shared, own] = std::hint::black_box(both);
        region_begin();
        shared.store(1, Relaxed);
        own.store(1, Relaxed);
        region_end();
    };
    write([&lines[0], &lines[1]]);
    std::thread::scope(|scope| {
        let on_second = || -> Result<(), Problem> {
            pin_to(second)?;
            write([&lines[0], &lines[2]]);
            Ok(())
        };
        scope.spawn(on_second).join().unwrap_or_else(|_| Err("a panic".into()))
    })
}
