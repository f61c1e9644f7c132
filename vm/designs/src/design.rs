//! What a page-frame allocator is here: the trait that all designs share, and the words of it.

/// Number of a frame of 4 KiB, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame(pub u32);

impl Frame {
    /// The frame's number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Frames in a huge frame of 2 MiB, which begins at a multiple of as many.
pub const BLOCK_FRAMES: usize = 512;

/// What a design is given: frames `0..frames`, all free, the sockets' shares one after the other and of the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Number of frames, a multiple of [`BLOCK_FRAMES`] times `sockets`.
    pub frames: usize,
    /// CPUs that will call, `0..cpus`: first all of a socket, then the next socket's.
    pub cpus: usize,
    /// Sockets.
    pub sockets: usize,
}

impl Memory {
    /// Memory of one socket.
    pub fn of_one_socket(frames: usize, cpus: usize) -> Self {
        Memory { frames, cpus, sockets: 1 }
    }
}

/// What a design counts, over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Gets that a CPU's cache served by itself.
    pub hits: u64,
    /// Gets for which it had to be refilled.
    pub misses: u64,
    /// Frames in the CPUs' caches now.
    pub held: u64,
}

/// A page-frame allocator.
///
/// A frame is given out to at most one user at a time. Running out of frames is an ordinary answer.
pub trait Design: Sync + Sized {
    /// Name in tables and arguments.
    const NAME: &'static str;

    /// Whether frames of 2 MiB can be had: [`get_huge`](Design::get_huge).
    const HAS_HUGE: bool = false;

    /// An allocator of that memory, all of it free.
    fn new(memory: &Memory) -> Self;

    /// A frame; none if there is none but those that other CPUs' caches hold, of which there are at most
    /// [`held_most`](Design::held_most) to a CPU.
    ///
    /// # Safety
    /// 1. `cpu` is below `Memory::cpus`; 2. no other call with the same `cpu` runs meanwhile, as in a kernel that keeps
    ///    interrupts off; calls by several threads with one `cpu`, after each other, are ordered by something that
    ///    synchronises.
    unsafe fn get(&self, cpu: usize) -> Option<Frame>;

    /// Takes a frame back.
    ///
    /// # Safety
    /// As for [`get`](Design::get); and `frame` was got from this design, by whichever CPU, and not put since.
    unsafe fn put(&self, cpu: usize, frame: Frame);

    /// Takes frames back, as when a process ends.
    ///
    /// # Safety
    /// As for [`put`](Design::put), for each of them; and no frame is there twice.
    unsafe fn put_batch(&self, cpu: usize, frames: &[Frame]) {
        for &frame in frames {
            // SAFETY: the caller's promise.
            unsafe { self.put(cpu, frame) };
        }
    }

    /// The first of 512 frames that begin at a multiple of 512; none if there are none together, or no such thing.
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

    /// Gives back what the CPU's cache holds.
    ///
    /// # Safety
    /// As for [`get`](Design::get).
    unsafe fn drain(&self, _cpu: usize) {}

    /// Most frames that a CPU's cache holds back from other CPUs' gets.
    fn held_most(&self) -> usize {
        0
    }

    /// What was counted so far; none if the design counts nothing.
    fn counters(&self) -> Option<Counters> {
        None
    }
}
