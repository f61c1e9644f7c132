//! The current CPU. The caller implements it.

use core::cell::Cell;
use core::marker::PhantomData;
use faultline_numbers::CpuNumber;

/// Identifies the CPU that the caller runs on, and pins the caller to it.
///
/// # Safety
/// From [`pin`](Self::pin) until the returned guard is dropped, no other CPU, thread or interrupt
/// handler uses the same CPU number with the same [`Frames`](crate::Frames). Otherwise a frame
/// could be given out twice.
///
/// In `pin` a kernel turns off preemption (and interrupts, if their handlers call the allocator)
/// and reads its per-CPU number. In the guard's `drop` it turns them on again. A host thread has
/// its own fixed number, and nothing to undo.
pub unsafe trait CurrentCpu {
    /// The guard that keeps the caller pinned to its CPU.
    type Pinned: PinnedCpu;

    /// Pins the caller to the CPU that it runs on.
    fn pin(&self) -> Self::Pinned;
}

/// The CPU that the caller is pinned to until this value is dropped.
pub trait PinnedCpu {
    /// Its index in [`Config::cpus`](crate::Config::cpus).
    fn number(&self) -> CpuNumber;
}

/// A CPU number whose drop undoes nothing.
impl PinnedCpu for CpuNumber {
    #[inline(always)]
    fn number(&self) -> CpuNumber {
        *self
    }
}

/// A fixed CPU number, for a thread that has its own handle: see [`Frames::on`](crate::Frames::on).
///
/// A handle with it can be sent to another thread, but not shared: two threads that call through
/// one handle would be on one CPU at the same time.
///
/// ```compile_fail,E0277
/// fn share<T: Sync>() {}
/// share::<faultline_frames::FixedCpu>();
/// ```
#[derive(Debug)]
pub struct FixedCpu {
    number: CpuNumber,
    // A cell is not `Sync`, so this type is not either.
    _not_shared: PhantomData<Cell<u32>>,
}

impl FixedCpu {
    /// CPU `number`.
    ///
    /// # Safety
    /// At any time, at most one value has this number for the same frames. If several follow each
    /// other, the calls on the later one happen after those on the earlier one.
    pub const unsafe fn new(number: CpuNumber) -> Self {
        Self { number, _not_shared: PhantomData }
    }
}

// SAFETY: 1. The number is the same in all calls. 2. No other value has it, as its creator has
// promised. 3. Calls with this value never overlap, because it is not `Sync`, and `pin` is only
// called through a reference to it.
unsafe impl CurrentCpu for FixedCpu {
    type Pinned = CpuNumber;

    #[inline(always)]
    fn pin(&self) -> CpuNumber {
        self.number
    }
}
