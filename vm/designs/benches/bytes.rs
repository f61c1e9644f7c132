//! Bytes allocated by the memory systems: per mapped page, map entry and space, and for many
//! processes that map one large object. Prints Markdown tables.
//!
//! Counts all requested bytes, except frames and per-frame data. Page tables are counted
//! separately: those of the hosted machine, and for `radix` those of each CPU.
//!
//! `cargo bench -p faultline-frame-designs --bench bytes -- --help`

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use faultline_frame_designs::systems::{Backings, Cpu, OneToken, Ours, OursShared, Radix, Shape, System, on_machine};
use faultline_frames::Policy;
use faultline_memory::hosted::{Hosted, PAGES as SPACE, PageTable};
use faultline_memory::{FrameNumber, Memory, PageRange, Pmap, Rights, Space, VirtualPage};
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The standard allocator, with a count of allocated bytes. Relaxed: a single thread reads them.
struct Counting;

static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: delegates to the standard allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { std::alloc::System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { std::alloc::System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result of `make`, and the bytes that it leaves allocated.
fn bytes_of<T>(make: impl FnOnce() -> T) -> (u64, T) {
    let before = BYTES.load(Relaxed);
    let made = make();
    (BYTES.load(Relaxed) - before, made)
}

/// Bytes that the memory systems take
#[derive(Debug, Parser)]
#[command(name = "bytes", max_term_width = 100)]
struct Arguments {
    /// Number of processes that map the object
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = RangedU64ValueParser::<u64>::new().range(1..=100_000))]
    processes: u64,

    /// Pages of the object; 262144 are 1 GiB
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = RangedU64ValueParser::<u64>::new().range(512..=262_144))]
    pages: u64,

    /// Designs
    #[arg(long, value_name = "NAME,NAME,…", value_delimiter = ',')]
    only: Vec<String>,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

const BOTH: Rights = Rights::from_bits(3);
/// Number of pages, entries and spaces averaged over.
const PAGES: u64 = 8192;
const ENTRIES: u64 = 1024;
const SPACES: u64 = 64;
const BASE: u64 = 1 << 20;

fn range(first: u64, pages: u64) -> PageRange {
    PageRange::new(VirtualPage(first), pages).expect("a range of the space")
}

fn fault_all<'m, S: System>(system: &S, cpu: &Cpu<'m>, space: &S::Space<'m>, first: u64, pages: u64) {
    for page in first..first + pages {
        system.fault(cpu, space, VirtualPage(page), Rights::WRITE).expect("there are frames");
    }
}

fn new_space<'m, S: System>(system: &S, cpu: &Cpu<'m>) -> S::Space<'m> {
    let space = system.new_space(cpu).expect("there is memory");
    system.activate(cpu, &space).expect("a fresh space");
    space
}

fn end<'m, S: System>(system: &S, cpu: &Cpu<'m>, space: S::Space<'m>) {
    system.deactivate(cpu, &space);
    system.exit(cpu, space).expect("active nowhere");
}

/// Bytes of page tables with these pages on the hosted machine, without their root.
fn table_bytes(first: u64, pages: u64) -> u64 {
    let table = PageTable::try_new(SPACE).expect("there is memory");
    let mut retired = Default::default();
    let fill = || {
        for page in first..first + pages {
            table.enter(VirtualPage(page), FrameNumber(1), BOTH, &mut retired).expect("there is memory");
        }
    };
    bytes_of(fill).0
}

/// Bytes of an empty page table.
fn root_bytes() -> u64 {
    bytes_of(|| PageTable::try_new(SPACE)).0
}

fn per(bytes: u64, count: u64) -> String {
    format!("{:.1}", bytes as f64 / count as f64)
}

fn is_ours<S: System>() -> bool {
    [Ours::NAME, OursShared::NAME].contains(&S::NAME)
}

/// Per-frame bytes of a system.
fn frame_bytes<S: System>() -> u64 {
    let frames = 1 << 15;
    let system = || S::new(1, frames);
    let memory = |frames| Memory::new(Hosted::new(1, FrameNumber(0), 1, 1).expect("there is memory"), 1, frames);
    // Our system's are in the `Memory`.
    let bytes = match is_ours::<S>() {
        true => bytes_of(|| memory(frames)).0 - bytes_of(|| memory(0)).0,
        false => bytes_of(system).0,
    };
    bytes / u64::from(frames)
}

/// Bytes by which the hosted machine knows page tables: part of each space; for ours, the space
/// itself.
fn known_bytes<S: System>() -> u64 {
    if is_ours::<S>() { 0 } else { size_of::<Space<'static, Hosted>>() as u64 }
}

/// Bytes per frame, page of a private range, page of a mapped object, entry and space.
fn row<S: System>() -> String {
    let shape = Shape { cpus: 1, frames: 1 << 15, frame_bytes: 1, policy: Policy::default() };
    let measure = |system: &S, cpus: Vec<Cpu<'_>>| {
        let cpu = &cpus[0];
        let (spaces, made) = bytes_of(|| (0..SPACES).map(|_| new_space(system, cpu)).collect::<Vec<_>>());
        made.into_iter().for_each(|space| end(system, cpu, space));

        let space = new_space(system, cpu);
        system.map(cpu, &space, range(BASE, PAGES), BOTH).expect("there is memory");
        let (private, ()) = bytes_of(|| fault_all(system, cpu, &space, BASE, PAGES));

        let object = system.new_object(cpu, PAGES).expect("there is memory");
        let maker = new_space(system, cpu);
        system.map_object(cpu, &maker, range(BASE, PAGES), BOTH, &object, 0).expect("there is memory");
        fault_all(system, cpu, &maker, BASE, PAGES);
        let other = new_space(system, cpu);
        system.map_object(cpu, &other, range(BASE, PAGES), BOTH, &object, 0).expect("there is memory");
        let (shared, ()) = bytes_of(|| fault_all(system, cpu, &other, BASE, PAGES));

        let many = new_space(system, cpu);
        let map_many = || {
            for entry in 0..ENTRIES {
                system.map(cpu, &many, range(BASE + 16 * entry, 8), BOTH).expect("there is memory");
            }
        };
        let (entries, ()) = bytes_of(map_many);
        [space, maker, other, many].into_iter().for_each(|space| end(system, cpu, space));
        system.drop_object(cpu, object);

        let tables = table_bytes(BASE, PAGES);
        format!(
            "| `{}` | {} | {} | {} | {} | {} |",
            S::NAME,
            frame_bytes::<S>(),
            per(private - tables, PAGES),
            per(shared - tables, PAGES),
            per(entries, ENTRIES),
            per(spaces - SPACES * (root_bytes() + known_bytes::<S>()), SPACES),
        )
    };
    on_machine::<S, _>(&shape, measure).expect("a machine").0
}

/// Bytes of processes that map and use a whole object: page tables, and everything else.
fn processes<S: System>(processes: u64, pages: u64) -> String {
    let frames = (pages + 4096).next_multiple_of(512);
    let shape = Shape { cpus: 1, frames, frame_bytes: 1, policy: Policy::default() };
    let measure = |system: &S, cpus: Vec<Cpu<'_>>| {
        let cpu = &cpus[0];
        let object = system.new_object(cpu, pages).expect("there is memory");
        let begin = || {
            let space = new_space(system, cpu);
            system.map_object(cpu, &space, range(BASE, pages), BOTH, &object, 0).expect("there is memory");
            fault_all(system, cpu, &space, BASE, pages);
            space
        };
        let maker = begin();
        let (bytes, made) = bytes_of(|| (0..processes).map(|_| begin()).collect::<Vec<_>>());
        made.into_iter().chain([maker]).for_each(|space| end(system, cpu, space));
        system.drop_object(cpu, object);
        let tables = processes * (table_bytes(BASE, pages) + root_bytes());
        let of_thousand = |bytes: u64| bytes as f64 * (1000.0 / processes as f64) * (262_144.0 / pages as f64) / 1e9;
        format!(
            "| `{}` | {:.3} | {:.3} | {:.2} | {:.2} |",
            S::NAME,
            (bytes - tables) as f64 / 1e9,
            tables as f64 / 1e9,
            of_thousand(bytes - tables),
            of_thousand(tables),
        )
    };
    on_machine::<S, _>(&shape, measure).expect("a machine").0
}

type Figure = (&'static str, fn() -> String, fn(u64, u64) -> String);

const fn figures<S: System>() -> Figure {
    (S::NAME, row::<S>, processes::<S>)
}

const DESIGNS: [Figure; 5] =
    [figures::<OneToken>(), figures::<Radix>(), figures::<Backings>(), figures::<OursShared>(), figures::<Ours>()];

fn main() {
    let arguments = Arguments::parse();
    let is_wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let designs: Vec<_> = DESIGNS.iter().filter(|(name, ..)| is_wanted(name)).collect();
    println!("| bytes, without page tables | frame | private page | page of an object | map entry | space |");
    println!("|---|---:|---:|---:|---:|---:|");
    designs.iter().for_each(|(_, row, _)| println!("{}", row()));
    let Arguments { processes, pages, .. } = arguments;
    println!();
    println!(
        "| GB of {processes} processes that use {pages} pages of one object | all else | page tables | 1000 × 1 GiB: all else | page tables |"
    );
    println!("|---|---:|---:|---:|---:|");
    designs.iter().for_each(|(.., of_processes)| println!("{}", of_processes(processes, pages)));
}
