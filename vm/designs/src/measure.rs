//! The benchmarks: the cost of a get and a put in nanoseconds, with all designs interleaved in one
//! run; and the number of huge frames left whole by a long mixed run.
//!
//! `bulk`, `repeat` and `rand` come from LLFree's evaluation (Wrenger et al., USENIX ATC 2023).
//! Each of `threads` threads works on N = frames / threads / 2 frames, and each sample starts with
//! a fresh allocator. A benchmark of another crate passes its designs to [`run`] as further
//! [`Subject`]s.

mod benchmark;
mod fragmentation;
mod host;
mod huge;
mod rounds;
mod samples;
mod single;
mod table;

use crate::BLOCK_FRAMES;
use crate::measure::fragmentation::Trace;
use crate::measure::rounds::Plan;
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use std::process::ExitCode;

pub use benchmark::cpu_time;
pub use rounds::Subject;

/// Benchmarks of page-frame allocators, with all designs interleaved in one run
#[derive(Debug, Parser)]
#[command(
    name = "frames",
    max_term_width = 100,
    after_help = "\
Examples:
  cargo bench -p faultline-frame-designs --bench frames                        all of it, some minutes
  cargo bench -p faultline-frame-designs --bench frames -- --quick             a look, half a minute
  cargo bench -p faultline-frame-designs --bench frames -- --threads 2 --rounds 31 --mixed-runs 0 --only ours,spin-list"
)]
struct Arguments {
    /// Fewer rounds, less memory, shorter mixed runs: for a first impression only
    #[arg(long)]
    quick: bool,

    /// Rounds, in addition to one warm-up round that is discarded [default: 11, quick 3]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    rounds: Option<usize>,

    /// Numbers of threads; if there are more threads than CPUs, they share them
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [1, 2, 8], value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    threads: Vec<usize>,

    /// MiB of frames that the allocators have [default: 4096, quick 512]
    #[arg(long, value_name = "MIB", value_parser = RangedU64ValueParser::<usize>::new().range(64..=1 << 20))]
    memory_mib: Option<usize>,

    /// Seed of the random numbers [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    seed: u64,

    /// Designs to measure [default: all]
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',')]
    only: Vec<String>,

    /// Number of mixed runs of each kind; 0: none [default: 3, quick 1]
    #[arg(long, value_name = "N")]
    mixed_runs: Option<u64>,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    fn plan(&self) -> Plan {
        let or_quick = |full: usize, quick: usize| if self.quick { quick } else { full };
        let mixed = |huge| Trace {
            frames: or_quick(512, 128) * BLOCK_FRAMES,
            gets: or_quick(36_000_000, 4_000_000),
            huge,
            seed: self.seed,
        };
        let seeds_of_mixed_runs = self.mixed_runs.unwrap_or(if self.quick { 1 } else { 3 });
        Plan {
            rounds: self.rounds.unwrap_or(or_quick(11, 3)),
            threads: self.threads.clone(),
            frames: self.memory_mib.unwrap_or(or_quick(4096, 512)) / 2 * BLOCK_FRAMES,
            mixed_runs: if seeds_of_mixed_runs == 0 { Vec::new() } else { vec![mixed(false), mixed(true)] },
            seeds_of_mixed_runs,
            seed: self.seed,
        }
    }
}

/// Parses the command line, measures, and prints tables on standard output; progress goes to
/// standard error. Measures `designs` in the given order, and the host's kernel last.
pub fn run(mut designs: Vec<Subject>) -> ExitCode {
    let arguments = Arguments::parse();
    designs.push(Subject::host());
    if let Some(name) = arguments.only.iter().find(|name| !designs.iter().any(|design| design.name == **name)) {
        let names: Vec<&str> = designs.iter().map(|design| design.name).collect();
        eprintln!("error: no design is called {name:?}\nhint: there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    if !arguments.only.is_empty() {
        designs.retain(|design| arguments.only.iter().any(|name| name == design.name));
    }
    let plan = arguments.plan();
    let samples = rounds::take(&plan, &designs);
    print!("{}", table::of_samples(&samples, &plan, &designs));
    let mixed = rounds::mix(&plan, &designs);
    print!("{}", table::of_mixed_runs(&mixed));
    println!("Goals: median of the ratios of the rounds (quartiles)");
    let leavings: Vec<_> = mixed.into_iter().map(|(_, leavings)| leavings).collect();
    table::verdicts(&samples, &leavings).iter().for_each(|verdict| println!("{verdict}"));
    ExitCode::SUCCESS
}
