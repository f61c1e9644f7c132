//! Which CPU a call runs on: the caller's to say.

/// Tells the CPU that runs, and holds the caller to it.
///
/// # Safety
/// From [`pin`](Self::pin) until what it returned is dropped, nobody else uses the same CPU number with the same
/// [`Frames`](crate::Frames): no other CPU, no other thread, no interrupt handler. Else a frame could be given out twice.
///
/// A kernel turns off preemption (and interrupts, if their handlers call the allocator) in `pin`, reads its per-CPU number,
/// and turns them on again in the guard's `drop`. A thread on a host brings a number of its own, and nothing to undo.
pub unsafe trait CurrentCpu {
    /// What holds the caller to its CPU.
    type Pinned: PinnedCpu;

    /// Holds the caller to the CPU that it runs on.
    fn pin(&self) -> Self::Pinned;
}

/// The CPU that a caller is held to until this is dropped.
pub trait PinnedCpu {
    /// Its index in [`Config::cpus`](crate::Config::cpus).
    fn number(&self) -> u32;
}

/// A number with nothing to undo.
impl PinnedCpu for u32 {
    #[inline(always)]
    fn number(&self) -> u32 {
        *self
    }
}

/// Always the same CPU: for a thread that has a handle of its own, see [`Frames::on`](crate::Frames::on).
#[derive(Debug)]
pub struct FixedCpu(u32);

impl FixedCpu {
    /// CPU `number`.
    ///
    /// # Safety
    /// Calls on handles with this number never overlap: one thread has them all, or hands them on.
    pub const unsafe fn new(number: u32) -> Self {
        Self(number)
    }
}

// SAFETY: 1. The number is the same in all calls. 2. Whoever made the value has promised that calls with it never overlap.
unsafe impl CurrentCpu for FixedCpu {
    type Pinned = u32;

    #[inline(always)]
    fn pin(&self) -> u32 {
        self.0
    }
}
