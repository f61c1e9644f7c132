//! Duration of our own allocator's calls on much memory, and how long they keep their caller
//! pinned: with one CPU and a terabyte that is all taken, so every call fails. Also the set-up. CPU
//! times exclude other processes, but include interrupts and the hypervisor's share. So repeatable
//! calls are repeated, and the least time of each step over all repeats is reported too:
//! interruptions rarely hit the same step twice.
//!
//! `cargo bench -p faultline-frame-designs --bench steps`

use clap::Parser;
use faultline_frame_designs::measure::cpu_time;
use faultline_frames::{
    Config, CpuNumber, CurrentCpu, DomainId, FrameNumber, Frames, GetError, HUGE_FRAMES, MemoryArea, PinnedCpu,
    RangeRequest, Urgency,
};
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;

/// Number of repeats of a call.
const REPEATS: usize = 5;

/// Duration of calls on much memory, and how long they keep their caller pinned
#[derive(Debug, Parser)]
#[command(name = "steps", max_term_width = 100)]
struct Arguments {
    /// GiB of memory
    #[arg(long, value_name = "GIB", default_value_t = 1024)]
    memory_gib: u64,

    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// CPU time of this thread, in nanoseconds.
fn now() -> u64 {
    cpu_time().as_nanos() as u64
}

/// Number and duration of a caller's pinned steps.
#[derive(Debug, Default)]
struct Pins {
    count: Cell<usize>,
    longest: Cell<u64>,
    /// The least time of each step of a repeated call, in nanoseconds; empty for others.
    least: RefCell<Vec<u64>>,
}

impl Pins {
    fn note(&self, took: u64) {
        let step = self.count.get();
        self.count.set(step + 1);
        self.longest.set(self.longest.get().max(took));
        if let Some(least) = self.least.borrow_mut().get_mut(step) {
            *least = (*least).min(took);
        }
    }

    /// Starts a call.
    fn reset(&self) {
        self.count.set(0);
        self.longest.set(0);
    }
}

struct Pinned<'a> {
    pins: &'a Pins,
    begin: u64,
}

// SAFETY: this program has one thread and one handle.
unsafe impl<'a> CurrentCpu for &'a Pins {
    type Pinned = Pinned<'a>;

    fn pin(&self) -> Pinned<'a> {
        Pinned { pins: self, begin: now() }
    }
}

impl PinnedCpu for Pinned<'_> {
    fn number(&self) -> CpuNumber {
        CpuNumber(0)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        self.pins.note(now() - self.begin);
    }
}

/// Makes a call and prints its time.
fn show<T>(what: &str, pins: &Pins, call: impl FnOnce() -> T) -> T {
    pins.reset();
    let begin = now();
    let result = call();
    let all = (now() - begin) as f64 / 1e3;
    print!("\n{what:42} {all:12.1} {:10} {:12.1}", pins.count.get(), pins.longest.get() as f64 / 1e3);
    result
}

/// Repeats a call; prints the first one's time, and the longest step by least time. `back` undoes
/// the call.
fn show_repeated<T: PartialEq>(what: &str, pins: &Pins, call: impl Fn() -> T, back: impl Fn(&T)) -> T {
    let result = show(what, pins, &call);
    *pins.least.borrow_mut() = vec![u64::MAX; pins.count.get()];
    for _ in 0..REPEATS {
        back(&result);
        pins.reset();
        assert!(call() == result, "it was undone");
    }
    let longest = pins.least.borrow_mut().drain(..).max().unwrap_or(0);
    print!(" {:12.1}", longest as f64 / 1e3);
    result
}

fn main() {
    let Arguments { memory_gib, .. } = Arguments::parse();
    let memory = [MemoryArea { first: FrameNumber(0), frames: memory_gib << 18, domain: DomainId(0) }];
    let config = Config::new(&memory, &[DomainId(0)]);
    let layout = Frames::layout(&config).expect("a sound configuration");
    let mut metadata: Vec<MaybeUninit<u8>> = Vec::with_capacity(layout.size() + layout.align());
    // SAFETY: uninitialised bytes are valid contents.
    unsafe { metadata.set_len(layout.size() + layout.align()) };
    let pins = Pins::default();
    print!(
        "{:42} {:>12} {:>10} {:>12} {:>12}",
        format!("{memory_gib} GiB"),
        "microseconds",
        "steps",
        "longest step",
        "repeated"
    );
    let frames = show("set-up, metadata not touched before", &pins, || Frames::new(&config, &mut metadata, &pins));
    let frames = frames.expect("a sound configuration");
    let first = show("the first get, which opens a block", &pins, || frames.get()).expect("all is free");
    frames.put(first).expect("it is ours");
    let blocks = memory_gib << 9;
    let put_all = |_: &u64| {
        (0..blocks)
            .rev()
            .for_each(|block| frames.put_huge(FrameNumber(block * HUGE_FRAMES).huge()).expect("it is ours"));
    };
    let get_all = || std::iter::from_fn(|| frames.get_huge().ok()).count() as u64;
    assert_eq!(show_repeated("all huge frames", &pins, get_all, put_all), blocks);
    let keep = |_: &Option<GetError>| {};
    let exhausted = [
        show_repeated("a get that finds nothing", &pins, || frames.get().err(), keep),
        show_repeated("a get of a huge frame that finds nothing", &pins, || frames.get_huge().err(), keep),
        show_repeated(
            "a get of 2 frames that finds nothing",
            &pins,
            || frames.get_range(&RangeRequest::of(2)).err(),
            keep,
        ),
    ];
    assert_eq!(exhausted, [Some(GetError::Exhausted); 3]);
    let at_hand = [
        show("try_get", &pins, || frames.try_get(Urgency::Normal).err()),
        show("try_get_huge", &pins, || frames.try_get_huge(Urgency::Normal).err()),
        show("try_get_range of 2 frames", &pins, || frames.try_get_range(&RangeRequest::of(2), Urgency::Normal).err()),
    ];
    assert_eq!(at_hand, [Some(GetError::NotAtHand); 3]);
    // Every second frame of the last half of memory: leaves no range of two, and all words must be
    // read.
    for huge in (blocks / 2..blocks).map(|block| FrameNumber(block * HUGE_FRAMES).huge()) {
        frames.split_huge(huge).expect("it is ours");
        let odd: Vec<FrameNumber> = huge.frames().skip(1).step_by(2).collect();
        frames.put_batch(&odd).expect("they are ours");
    }
    let two = || frames.get_range(&RangeRequest::of(2)).err();
    let checkerboard = show_repeated("2 frames, every second frame of half taken", &pins, two, keep);
    assert_eq!(checkerboard, Some(GetError::Exhausted));
    show("a census, which is not pinned", &pins, || frames.census());
    show_puts(&frames, &pins, blocks);
    show_large_ranges(&frames, &pins);
    println!();
}

/// Worst case of calls that free frames: each frame is of another block, on uncached lines. The
/// blocks from 1024 on are ours as huge frames, and every second frame of the last half of memory.
fn show_puts(frames: &Frames<'_, &Pins>, pins: &Pins, blocks: u64) {
    let spread = |count: u64| (0..count).map(move |number| blocks / 2 + blocks / 2 / count * number);
    let batch: Vec<FrameNumber> = spread(64).map(|block| FrameNumber(block * HUGE_FRAMES)).collect();
    show("a put_batch of 64 frames of 64 blocks", pins, || frames.put_batch(&batch)).expect("they are ours");
    let first = FrameNumber(1024 * HUGE_FRAMES);
    for block in 1024..1024 + 64 {
        frames.split_huge(FrameNumber(block * HUGE_FRAMES).huge()).expect("it is ours");
    }
    show("a put_range of 64 blocks", pins, || frames.put_range(first, 64 * HUGE_FRAMES)).expect("it is ours");
    while frames.get_huge().is_ok() {}
    // One free frame in each of many blocks, then got and put: the frames are in the cache.
    for block in 1024..1024 + 96 {
        let huge = FrameNumber(block * HUGE_FRAMES).huge();
        frames.split_huge(huge).expect("it is ours");
        frames.put_batch(&[huge.first()]).expect("it is ours");
    }
    let single: Vec<FrameNumber> = (0..96).map(|_| frames.get().expect("96 are free")).collect();
    single.iter().for_each(|frame| frames.put(*frame).expect("it is ours"));
    show("a drain of 96 frames of as many blocks", pins, || frames.drain());
}

/// A range is parked and taken in one step, whatever its length. The first 1024 blocks are ours as
/// huge frames.
fn show_large_ranges(frames: &Frames<'_, &Pins>, pins: &Pins) {
    for (what, length) in [("a get of 1 GiB", 512), ("a get of 1 GiB, words made before", 512)] {
        for block in 0..length {
            frames.put_huge(FrameNumber(block * HUGE_FRAMES).huge()).expect("it is ours");
        }
        let first = show(what, pins, || frames.get_range(&RangeRequest::of(length * HUGE_FRAMES)));
        assert_eq!(first, Ok(FrameNumber(0)));
        for block in 0..length {
            frames.join_huge(FrameNumber(block * HUGE_FRAMES).huge()).expect("it is ours");
        }
    }
}
