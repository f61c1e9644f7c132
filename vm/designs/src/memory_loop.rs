//! Threads that fault, map and fork, as a program for `faultline lens program`: the lens counts
//! what runs between the region marks.
//!
//! The variable `TEAM` has the threads' shared synchronisation data, so its transfers can be
//! separated from the memory system's. Prints the memory system's counts within the region, a line
//! `COUNT NAME` for each counter that is not 0.

mod patterns;

use crate::memory_loop::patterns::{FORKED_PAGES, Member, Pattern, Task};
use crate::systems::{Backings, Cpu, OneToken, Ours, OursShared, Radix, Refused, Shape, System, on_machine};
use crate::team::{TEAM, Team};
use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use faultline_frames::Policy;
use faultline_memory::Event;
use std::process::ExitCode;

/// Threads that fault, map and fork, to be counted by the lens
#[derive(Debug, Parser)]
#[command(
    name = "memory_loop",
    max_term_width = 100,
    after_help = "\
Examples:
  faultline lens program --tasks 2,8,32 --ops 1024 -- \\
      target/vm/release/memory_loop --pattern zero-fill --threads {tasks} --ops 1024"
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
    /// The name.
    pub name: &'static str,
    /// The year of its source.
    pub year: &'static str,
    run: fn(&Task, &Team) -> Result<Counted, Refused>,
}

impl Design {
    const fn of<S: System>() -> Self {
        Design { name: S::NAME, year: S::YEAR, run: run_on_machine::<S> }
    }
}

/// All designs.
pub const DESIGNS: [Design; 5] = [
    Design::of::<OneToken>(),
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

/// Count of each event in the region.
pub(super) type Counted = Vec<(&'static str, u64)>;

/// Contents are not measured: as small as a frame can be on lines of its own.
const FRAME_BYTES: usize = 128;

/// Frames of an allocator's block, one of which each CPU reserves.
const BLOCK_FRAMES: u64 = 512;

/// Runs the threads on a fresh machine.
fn run_on_machine<S: System>(task: &Task, team: &Team) -> Result<Counted, Refused> {
    let shape = Shape { cpus: task.threads, frames: frames(task), frame_bytes: FRAME_BYTES, policy: Policy::default() };
    on_machine::<S, _>(&shape, |system, cpus| {
        let (count, pages) = task.objects();
        let objects = (0..count).map(|_| system.new_object(&cpus[0], pages)).collect::<Result<Vec<_>, _>>()?;
        let spaces = if task.pattern.is_of_threads() { &cpus[..1] } else { &cpus[..] };
        let spaces = spaces.iter().map(|cpu| system.new_space(cpu)).collect::<Result<Vec<_>, _>>()?;
        Ok(in_threads(task, team, system, cpus, &spaces, &objects))
    })?
    .0
}

/// Twice the number of resident pages, and some blocks for each thread's cache.
fn frames(task: &Task) -> u64 {
    let of_thread = (2 * (task.part_pages() + FORKED_PAGES)).next_multiple_of(BLOCK_FRAMES) + 4 * BLOCK_FRAMES;
    let (objects, pages) = task.objects();
    u64::from(task.threads) * of_thread + (objects * pages).next_multiple_of(BLOCK_FRAMES)
}

fn in_threads<'m, S: System>(
    task: &Task,
    team: &Team,
    system: &S,
    cpus: Vec<Cpu<'m>>,
    spaces: &[S::Space<'m>],
    objects: &[S::Object<'m>],
) -> Counted {
    let parts: Vec<[u64; Event::ALL.len()]> = std::thread::scope(|scope| {
        let start = |(number, cpu): (u32, Cpu<'m>)| {
            let space = &spaces[number as usize % spaces.len()];
            scope.spawn(move || {
                let member = Member { task, number, system, cpu, space, objects };
                member.work(team).unwrap_or_else(|refused| give_up(&refused))
            })
        };
        let members: Vec<_> = (0..).zip(cpus).map(start).collect();
        team.start();
        members.into_iter().map(|member| member.join().expect("members do not panic")).collect()
    });
    let sum = |event: &Event| (event.words(), parts.iter().map(|part| part[*event as usize]).sum());
    Event::ALL.iter().map(sum).filter(|(_, count)| *count > 0).collect()
}

/// Ends the program: the other threads would wait for this one.
fn give_up(refused: &Refused) -> ! {
    eprintln!("error: {refused}");
    std::process::exit(1)
}
