//! Our own design: `faultline-frames`, with per-CPU magazines over a lock-free range layer; and
//! memory for its records.

use crate::{Counters, Design, Frame, Memory, RUN_FRAMES};
use faultline_frames::{
    Config, CpuNumber, DomainId, Event, FixedCpu, FrameNumber, Frames, MemoryArea, Order, Watermarks,
};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Frames of a magazine.
const MAGAZINE: usize = 32;
/// Number of frames converted at once.
const BATCH: usize = 64;

/// Our own allocator.
#[derive(Debug)]
pub struct Ours {
    // Before the memory that it uses: fields are dropped in this order.
    handles: Vec<Handle>,
    stock_most: u8,
    _metadata: Metadata,
}

/// A CPU's handle. Made once: a handle made for each call would be copied each time.
#[derive(Debug)]
struct Handle(Frames<'static, FixedCpu>);

// SAFETY: calls with the same CPU never overlap, as the callers of `Design`'s functions promise,
// and each CPU has one handle.
unsafe impl Sync for Handle {}

impl Ours {
    /// `marks`: the watermarks of a domain with that many frames.
    fn with_marks(memory: &Memory, marks: impl Fn(usize) -> Watermarks) -> Self {
        let share = memory.frames / memory.sockets;
        let area = |socket: usize| MemoryArea {
            first: FrameNumber((socket * share) as u64),
            frames: share as u64,
            domain: DomainId(socket as u8),
        };
        let areas: Vec<MemoryArea> = (0..memory.sockets).map(area).collect();
        let cpus_per_socket = memory.cpus.div_ceil(memory.sockets);
        let cpus: Vec<DomainId> = (0..memory.cpus).map(|cpu| DomainId((cpu / cpus_per_socket) as u8)).collect();
        let marks = vec![marks(share); memory.sockets];
        let config = Config::new(&areas, &cpus).with_marks(&marks);
        let mut metadata = Metadata::new(Frames::layout(&config).expect("a sound configuration"));
        // SAFETY: 1. lent once; 2. to `frames`, which is dropped first and whose copies live no
        // longer than a call.
        let lent = unsafe { metadata.lend() };
        let frames = Frames::new(&config, lent, ()).expect("a sound configuration");
        // SAFETY: each number has one handle.
        let handle = |cpu: usize| Handle(frames.on(unsafe { FixedCpu::new(CpuNumber(cpu as u32)) }));
        let handles = (0..memory.cpus).map(handle).collect();
        Ours { handles, stock_most: config.policy.stock_most, _metadata: metadata }
    }

    /// The allocator itself, for one CPU.
    ///
    /// # Safety
    /// As for [`Design::get`], for all calls on it.
    #[inline(always)]
    unsafe fn on(&self, cpu: usize) -> &Frames<'static, FixedCpu> {
        &self.handles[cpu].0
    }
}

fn number(frame: Frame) -> FrameNumber {
    FrameNumber(frame.0.into())
}

/// For a frame that `new` gave to the allocator, so its number fits 32 bits.
fn frame(number: FrameNumber) -> Frame {
    Frame(number.0 as u32)
}

impl Design for Ours {
    const NAME: &'static str = "ours";
    const HAS_HUGE: bool = true;

    fn new(memory: &Memory) -> Self {
        Ours::with_marks(memory, |_| Watermarks::default())
    }

    #[inline]
    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        // SAFETY: the caller's promise.
        unsafe { self.on(cpu) }.get().ok().map(frame)
    }

    #[inline]
    unsafe fn put(&self, cpu: usize, frame: Frame) {
        // SAFETY: the caller's promise.
        unsafe { self.on(cpu) }.put(number(frame)).expect("a frame that was got");
    }

    unsafe fn put_batch(&self, cpu: usize, frames: &[Frame]) {
        // SAFETY: the caller's promise.
        let on = unsafe { self.on(cpu) };
        let mut numbers = [FrameNumber(0); BATCH];
        for batch in frames.chunks(BATCH) {
            numbers.iter_mut().zip(batch).for_each(|(to, &frame)| *to = number(frame));
            on.put_batch(&numbers[..batch.len()]).expect("frames that were got");
        }
    }

    unsafe fn get_huge(&self, cpu: usize) -> Option<Frame> {
        // SAFETY: the caller's promise.
        unsafe { self.on(cpu) }.get_huge().ok().map(|huge| frame(huge.first()))
    }

    unsafe fn put_huge(&self, cpu: usize, first: Frame) {
        // SAFETY: the caller's promise.
        unsafe { self.on(cpu) }.put_huge(number(first).huge()).expect("a huge frame that was got");
    }

    unsafe fn get_run(&self, cpu: usize) -> Option<Frame> {
        // SAFETY: the caller's promise.
        unsafe { self.on(cpu) }.get_run(Order::holding(RUN_FRAMES as u64)).ok().map(frame)
    }

    unsafe fn put_run(&self, cpu: usize, first: Frame) {
        // SAFETY: the caller's promise.
        unsafe { self.on(cpu) }.put_range(number(first), RUN_FRAMES as u64).expect("a run that was got");
    }

    unsafe fn drain(&self, cpu: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.on(cpu) }.drain_own();
    }

    fn held_most(&self) -> usize {
        MAGAZINE * (1 + usize::from(self.stock_most))
    }

    fn counters(&self) -> Option<Counters> {
        let counters = self.handles.first()?.0.counters();
        Some(Counters { hits: counters.of(Event::GetHit), misses: counters.of(Event::GetMiss), held: counters.held })
    }
}

/// Our own allocator near its low watermark: that is at 7/8 of the memory, and the min watermark at
/// 3/4.
#[derive(Debug)]
pub struct OursNearMarks(Ours);

impl Design for OursNearMarks {
    const NAME: &'static str = "ours-near-marks";
    const HAS_HUGE: bool = true;

    fn new(memory: &Memory) -> Self {
        OursNearMarks(Ours::with_marks(memory, |frames| Watermarks {
            low: frames as u64 / 8 * 7,
            min: frames as u64 / 4 * 3,
        }))
    }

    #[inline]
    unsafe fn get(&self, cpu: usize) -> Option<Frame> {
        // SAFETY: the caller's promise.
        unsafe { self.0.get(cpu) }
    }

    #[inline]
    unsafe fn put(&self, cpu: usize, frame: Frame) {
        // SAFETY: the caller's promise.
        unsafe { self.0.put(cpu, frame) }
    }

    unsafe fn get_huge(&self, cpu: usize) -> Option<Frame> {
        // SAFETY: the caller's promise.
        unsafe { self.0.get_huge(cpu) }
    }

    unsafe fn put_huge(&self, cpu: usize, first: Frame) {
        // SAFETY: the caller's promise.
        unsafe { self.0.put_huge(cpu, first) }
    }

    unsafe fn drain(&self, cpu: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.0.drain(cpu) }
    }

    fn held_most(&self) -> usize {
        self.0.held_most()
    }

    fn counters(&self) -> Option<Counters> {
        self.0.counters()
    }
}

/// Zeroed memory for an allocator's own records, at a fixed address, freed when its holder is
/// dropped.
#[derive(Debug)]
pub struct Metadata {
    first: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is only memory; `lend` settles its use.
unsafe impl Send for Metadata {}
// SAFETY: as above; a shared reference gives no access to the memory.
unsafe impl Sync for Metadata {}

impl Metadata {
    /// Zeroed memory of this size and alignment.
    ///
    /// # Panics
    /// If the size is 0.
    pub fn new(layout: Layout) -> Self {
        assert!(layout.size() > 0, "no memory asked for");
        // SAFETY: the size is not 0.
        let first = unsafe { alloc_zeroed(layout) };
        Metadata { first: NonNull::new(first).unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }

    /// All of the memory, for a lifetime that the caller chooses.
    ///
    /// # Safety
    /// 1. Called once; 2. the borrower is gone before `self` is.
    pub unsafe fn lend<'m>(&mut self) -> &'m mut [MaybeUninit<u8>] {
        // SAFETY: 1. allocated with that size; 2. not used elsewhere, and it lives long enough, as
        // the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.first.cast().as_ptr(), self.layout.size()) }
    }
}

impl Drop for Metadata {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout; the borrower is gone.
        unsafe { dealloc(self.first.as_ptr(), self.layout) }
    }
}
