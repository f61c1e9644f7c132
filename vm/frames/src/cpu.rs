//! Tells on which CPU a call runs; the caller implements it.

/// Tells on which CPU the caller runs, and pins the caller to it.
///
/// # Safety
/// From [`pin`](Self::pin) until the returned guard is dropped, nobody else uses the same CPU number with the same
/// [`Frames`](crate::Frames): no other CPU, no other thread, no interrupt handler. Otherwise a frame could be given out
/// twice.
///
/// In `pin` a kernel turns off preemption (and interrupts, if their handlers call the allocator) and reads its per-CPU
/// number. In the guard's `drop` it turns them on again. A thread on a host has a fixed number of its own, and nothing
/// to undo.
pub unsafe trait CurrentCpu {
    /// The guard that keeps the caller pinned to its CPU.
    type Pinned: PinnedCpu;

    /// Pins the caller to the CPU that it runs on.
    fn pin(&self) -> Self::Pinned;
}

/// The CPU that the caller is pinned to until this value is dropped.
pub trait PinnedCpu {
    /// Its index in [`Config::cpus`](crate::Config::cpus).
    fn number(&self) -> u32;
}

/// A CPU number with nothing to undo.
impl PinnedCpu for u32 {
    #[inline(always)]
    fn number(&self) -> u32 {
        *self
    }
}

/// Always the same CPU: for a thread that has its own handle, see [`Frames::on`](crate::Frames::on).
#[derive(Debug)]
pub struct FixedCpu(u32);

impl FixedCpu {
    /// CPU `number`.
    ///
    /// # Safety
    /// Calls on handles with this number never overlap: one thread makes all of them, or hands the handle on.
    pub const unsafe fn new(number: u32) -> Self {
        Self(number)
    }
}

// SAFETY: 1. The number is the same in all calls. 2. The creator of the value has promised that calls with it never
// overlap.
unsafe impl CurrentCpu for FixedCpu {
    type Pinned = u32;

    #[inline(always)]
    fn pin(&self) -> u32 {
        self.0
    }
}
