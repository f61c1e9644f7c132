//! The trait of page-frame allocators, its types, a safe CPU handle, and per-CPU data.

use std::cell::UnsafeCell;

/// Number of a frame of 4 KiB, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame(pub u32);

impl Frame {
    /// The frame's number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of frames in a huge frame of 2 MiB, which begins at a multiple of this number.
pub const BLOCK_FRAMES: usize = 512;

/// Number of frames in a run, which begins at a multiple of this number.
pub const RUN_FRAMES: usize = 8;

/// The memory that a design manages: frames `0..frames`, all free. The sockets' parts are
/// contiguous and equal in size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Number of frames, a multiple of [`BLOCK_FRAMES`] times `sockets`.
    pub frames: usize,
    /// CPUs that will call, `0..cpus`: first all CPUs of a socket, then those of the next one.
    pub cpus: usize,
    /// Number of sockets.
    pub sockets: usize,
}

impl Memory {
    /// Memory of one socket.
    pub fn of_one_socket(frames: usize, cpus: usize) -> Self {
        Memory { frames, cpus, sockets: 1 }
    }
}

/// Counts of a design, summed over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Gets that a CPU's cache served.
    pub hits: u64,
    /// Gets that had to refill the cache.
    pub misses: u64,
    /// Frames in the CPUs' caches now.
    pub held: u64,
}

/// A page-frame allocator.
///
/// A frame is given out to at most one user at a time. Running out of frames is an ordinary result.
pub trait Design: Sync + Sized {
    /// Name in tables and arguments.
    const NAME: &'static str;

    /// True if the design has frames of 2 MiB: [`get_huge`](Design::get_huge).
    const HAS_HUGE: bool = false;

    /// An allocator of this memory, all of it free.
    fn new(memory: &Memory) -> Self;

    /// Allocates a frame. Returns `None` if the only free frames are in the caches of other CPUs,
    /// each of which holds at most [`held_most`](Design::held_most).
    ///
    /// # Safety
    /// 1. `cpu` is below `Memory::cpus`; 2. no other call with the same `cpu` runs meanwhile, as in
    ///    a kernel that keeps interrupts off; calls by several threads with one `cpu`, one after
    ///    the other, are ordered by some synchronisation.
    unsafe fn get(&self, cpu: usize) -> Option<Frame>;

    /// Frees a frame.
    ///
    /// # Safety
    /// As for [`get`](Design::get). Also, `frame` was got from this design, by any CPU, and not put
    /// since.
    unsafe fn put(&self, cpu: usize, frame: Frame);

    /// Frees frames, as when a process ends.
    ///
    /// # Safety
    /// As for [`put`](Design::put), for each of them; and no frame occurs twice.
    unsafe fn put_batch(&self, cpu: usize, frames: &[Frame]) {
        for &frame in frames {
            // SAFETY: the caller's promise.
            unsafe { self.put(cpu, frame) };
        }
    }

    /// Allocates 512 frames that begin at a multiple of 512. Returns `None` if no such frames are
    /// free, or if the design has no huge frames.
    ///
    /// # Safety
    /// As for [`get`](Design::get).
    unsafe fn get_huge(&self, _cpu: usize) -> Option<Frame> {
        None
    }

    /// Takes 512 frames back.
    ///
    /// # Safety
    /// As for [`put`](Design::put), with a frame that came from [`get_huge`](Design::get_huge).
    unsafe fn put_huge(&self, _cpu: usize, _first: Frame) {}

    /// Allocates 8 frames that begin at a multiple of 8. Returns `None` if no such frames are free,
    /// or if the design has no runs.
    ///
    /// # Safety
    /// As for [`get`](Design::get).
    unsafe fn get_run(&self, _cpu: usize) -> Option<Frame> {
        None
    }

    /// Takes 8 frames back.
    ///
    /// # Safety
    /// As for [`put`](Design::put), with a frame that came from [`get_run`](Design::get_run).
    unsafe fn put_run(&self, _cpu: usize, _first: Frame) {}

    /// Frees the frames in the CPU's cache.
    ///
    /// # Safety
    /// As for [`get`](Design::get).
    unsafe fn drain(&self, _cpu: usize) {}

    /// Maximum number of frames in a CPU's cache that other CPUs cannot get.
    fn held_most(&self) -> usize {
        0
    }

    /// The counts so far; `None` if the design counts nothing.
    fn counters(&self) -> Option<Counters> {
        None
    }
}

/// A CPU, owned by one thread.
///
/// It returns frames as numbers, so a number can be put twice by mistake. The caller must avoid
/// that, as in a kernel.
#[derive(Debug)]
pub struct Cpu<'d, D> {
    design: &'d D,
    number: usize,
}

impl<'d, D: Design> Cpu<'d, D> {
    /// The CPU with a number.
    ///
    /// # Safety
    /// 1. `number` is below `Memory::cpus`; 2. at most one `Cpu` of a design has it at a time; 3.
    ///    only frames that were got and not put since are put through it and the design's other
    ///    `Cpu`s.
    pub unsafe fn new(design: &'d D, number: usize) -> Self {
        Cpu { design, number }
    }

    /// See [`Design::get`].
    #[inline]
    pub fn get(&mut self) -> Option<Frame> {
        // SAFETY: `new`'s promise: the number belongs to a CPU, and only to us, while we are
        // borrowed mutably.
        unsafe { self.design.get(self.number) }
    }

    /// See [`Design::put`].
    #[inline]
    pub fn put(&mut self, frame: Frame) {
        // SAFETY: as in `get`; the third part of the promise.
        unsafe { self.design.put(self.number, frame) }
    }

    /// See [`Design::put_batch`].
    #[inline]
    pub fn put_batch(&mut self, frames: &[Frame]) {
        // SAFETY: as in `put`.
        unsafe { self.design.put_batch(self.number, frames) }
    }

    /// See [`Design::get_huge`].
    #[inline]
    pub fn get_huge(&mut self) -> Option<Frame> {
        // SAFETY: as in `get`.
        unsafe { self.design.get_huge(self.number) }
    }

    /// See [`Design::put_huge`].
    #[inline]
    pub fn put_huge(&mut self, first: Frame) {
        // SAFETY: as in `put`.
        unsafe { self.design.put_huge(self.number, first) }
    }

    /// See [`Design::get_run`].
    #[inline]
    pub fn get_run(&mut self) -> Option<Frame> {
        // SAFETY: as in `get`.
        unsafe { self.design.get_run(self.number) }
    }

    /// See [`Design::put_run`].
    #[inline]
    pub fn put_run(&mut self, first: Frame) {
        // SAFETY: as in `put`.
        unsafe { self.design.put_run(self.number, first) }
    }

    /// See [`Design::drain`].
    pub fn drain(&mut self) {
        // SAFETY: as in `get`.
        unsafe { self.design.drain(self.number) }
    }
}

/// On separate lines: two of 64 bytes, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

pub(crate) fn for_each_cpu<T: Default>(cpus: usize) -> Box<[Padded<T>]> {
    (0..cpus).map(|_| Padded::default()).collect()
}

/// Data that only its CPU touches.
#[derive(Debug, Default)]
pub(crate) struct Own<T>(UnsafeCell<T>);

// SAFETY: 1. `with` is the only access, and its caller promises that calls do not overlap and are
// ordered; 2. so the value only moves between threads, for which `Send` is enough.
unsafe impl<T: Send> Sync for Own<T> {}

impl<T> Own<T> {
    /// Calls `run` with the data.
    ///
    /// # Safety
    /// No other call on the same data runs meanwhile, including from within `run`. Earlier calls
    /// happened before this one.
    #[inline]
    pub(crate) unsafe fn with<R>(&self, run: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: there is no other reference, as the caller promises.
        run(unsafe { &mut *self.0.get() })
    }
}
