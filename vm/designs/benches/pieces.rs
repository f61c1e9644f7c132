//! Longest pieces of the memory system's long calls: CPU time of the thread between two pauses, on
//! one CPU of the hosted machine. Frames have one byte each, so neither zeroing nor copying counts.
//! CPU time includes interrupts and the hypervisor's share, so calls are repeated, and the least of
//! the longest pieces is reported too.
//!
//! The host's allocator may give memory back to the kernel in the middle of an exit, which takes a
//! millisecond: turn that off to see the memory system alone.
//!
//! `GLIBC_TUNABLES=glibc.malloc.trim_threshold=17179869184 cargo bench -p faultline-frame-designs
//! --bench pieces`

use clap::Parser;
use faultline_frame_designs::measure::cpu_time;
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea};
use faultline_memory::hosted::Hosted;
use faultline_memory::{Anywhere, CpuNumber, FrameNumber, Memory, PageRange, Rights, VirtualPage};
use std::error::Error;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of repeats of a call.
const REPEATS: usize = 5;

/// Longest pieces of the memory system's long calls
#[derive(Debug, Parser)]
#[command(name = "pieces", max_term_width = 100)]
struct Arguments {
    /// GiB of memory that the calls change
    #[arg(long, value_name = "GIB", default_value_t = 4)]
    memory_gib: u64,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// CPU time of this thread, in nanoseconds.
fn now() -> u64 {
    cpu_time().as_nanos() as u64
}

/// Pieces of a call. Relaxed: one thread uses it, and the machine's hook only has to be shareable.
#[derive(Debug, Default)]
struct Pieces {
    begin: AtomicU64,
    longest: AtomicU64,
    count: AtomicU64,
}

impl Pieces {
    fn begin(&self) {
        self.longest.store(0, Relaxed);
        self.count.store(0, Relaxed);
        self.begin.store(now(), Relaxed);
    }

    fn end(&self) {
        self.longest.fetch_max(now() - self.begin.load(Relaxed), Relaxed);
        self.count.fetch_add(1, Relaxed);
        self.begin.store(now(), Relaxed);
    }
}

/// Longest pieces of a call's repeats, in nanoseconds, and the number of pieces.
#[derive(Debug, Default)]
struct Row {
    longest: Vec<u64>,
    count: u64,
}

impl Row {
    fn measure<R>(&mut self, pieces: &Pieces, call: impl FnOnce() -> R) -> R {
        pieces.begin();
        let result = call();
        pieces.end();
        self.longest.push(pieces.longest.load(Relaxed));
        self.count = pieces.count.load(Relaxed);
        result
    }

    fn print(&self, what: &str) {
        let micro = |time: Option<&u64>| time.map_or(0.0, |time| *time as f64 / 1e3);
        let (least, most) = (micro(self.longest.iter().min()), micro(self.longest.iter().max()));
        println!("{what:42} {:10} {most:14.1} {least:22.1}", self.count);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { memory_gib, .. } = Arguments::parse();
    let (first, count) = (FrameNumber(0x200), memory_gib << 18);
    let area = [MemoryArea { first, frames: count + (1 << 12), domain: DomainId(0) }];
    let config = Config::new(&area, &[DomainId(0)]);
    let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config)?.size() + 127];
    let frames = Frames::new(&config, &mut metadata, ())?;
    let pieces = Arc::new(Pieces::default());
    let its = pieces.clone();
    let machine = Hosted::new(1, first, area[0].frames, 1)?.with_pause(Arc::new(move |_| its.end()));
    let memory = Memory::new(machine, 1, frames.index_count())?;
    // SAFETY: the number has one handle; the frames are one allocator's.
    let cpu = unsafe { memory.cpu(CpuNumber(0), frames.on(FixedCpu::new(CpuNumber(0)))) }.ok_or("no such CPU")?;
    let both = Rights::READ | Rights::WRITE;
    let [mut map, mut any, mut odd, mut protect, mut fork, mut exit, mut unmap] =
        [const { Row { longest: Vec::new(), count: 0 } }; 7];
    for _ in 0..REPEATS {
        let space = cpu.new_space()?;
        cpu.activate(&space)?;
        cpu.set_large_pages(&space, false);
        // Not aligned to a node: the ends are divided.
        let range = PageRange::new(VirtualPage(0x1001), count)?;
        map.measure(&pieces, || cpu.map(&space, range, both))?;
        for page in range.first().0..range.first().0 + range.pages() {
            cpu.fault(&space, VirtualPage(page), Rights::WRITE)?;
        }
        protect.measure(&pieces, || cpu.protect(&space, range, both))?;
        let child = fork.measure(&pieces, || cpu.fork(&space))?;
        exit.measure(&pieces, || cpu.exit(child)).map_err(|(_, error)| error)?;
        any.measure(&pieces, || cpu.map_anywhere(&space, Anywhere::new(count), both))?;
        odd.measure(&pieces, || cpu.map_anywhere(&space, Anywhere::new(count - 63), both))?;
        unmap.measure(&pieces, || cpu.unmap(&space, range))?;
        cpu.deactivate(&space);
        cpu.exit(space).map_err(|(_, error)| error)?;
    }
    println!(
        "{:42} {:>10} {:>14} {:>22}",
        format!("{memory_gib} GiB"),
        "pieces",
        "longest, µs",
        "least of 5 repeats, µs"
    );
    map.print("map, untouched");
    any.print("map_anywhere, untouched");
    odd.print("map_anywhere, odd number of pages");
    protect.print("protect, all pages touched");
    fork.print("fork, all pages touched");
    exit.print("exit of the child");
    unmap.print("unmap, all pages touched");
    Ok(())
}
