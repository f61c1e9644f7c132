//! Defines a page-frame allocator: the trait that all designs implement, and its types.

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

/// The memory that a design manages: frames `0..frames`, all free. The sockets' parts follow each other and are of
/// equal size.
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

/// What a design counts, summed over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Gets that a CPU's cache served.
    pub hits: u64,
    /// Gets for which the cache had to be refilled.
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

    /// Whether the design can allocate frames of 2 MiB: [`get_huge`](Design::get_huge).
    const HAS_HUGE: bool = false;

    /// An allocator of that memory, all of it free.
    fn new(memory: &Memory) -> Self;

    /// Returns a frame. Returns none if the only free frames are in the caches of other CPUs, each of which holds at
    /// most [`held_most`](Design::held_most).
    ///
    /// # Safety
    /// 1. `cpu` is below `Memory::cpus`; 2. no other call with the same `cpu` runs meanwhile, as in a kernel that keeps
    ///    interrupts off; calls by several threads with one `cpu`, one after the other, are ordered by some
    ///    synchronisation.
    unsafe fn get(&self, cpu: usize) -> Option<Frame>;

    /// Takes a frame back.
    ///
    /// # Safety
    /// As for [`get`](Design::get). Also, `frame` was got from this design, by any CPU, and not put since.
    unsafe fn put(&self, cpu: usize, frame: Frame);

    /// Takes frames back, as when a process ends.
    ///
    /// # Safety
    /// As for [`put`](Design::put), for each of them; and no frame occurs twice.
    unsafe fn put_batch(&self, cpu: usize, frames: &[Frame]) {
        for &frame in frames {
            // SAFETY: the caller's promise.
            unsafe { self.put(cpu, frame) };
        }
    }

    /// Returns the first of 512 frames that begin at a multiple of 512. Returns none if no such frames are free, or if
    /// the design has no huge frames.
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

    /// Returns the first of 8 frames that begin at a multiple of 8. Returns none if no such frames are free, or if the
    /// design has no runs.
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

    /// The counts so far; none if the design counts nothing.
    fn counters(&self) -> Option<Counters> {
        None
    }
}
