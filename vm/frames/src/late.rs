//! A handle that is made before its frames are: for a kernel's `static`.

use crate::frames::Frames;
use crate::primitive::AtomicU8;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const EMPTY: u8 = 0;
const BEING_SET: u8 = 1;
const SET: u8 = 2;

/// A place for [`Frames`] that is set once, when memory is known. Until then [`get`](Self::get)
/// finds none.
///
/// ```
/// use faultline_frames::{FixedCpu, Late};
/// # #[derive(Debug)]
/// # struct ThisCpu;
/// # // SAFETY: never called.
/// # unsafe impl faultline_frames::CurrentCpu for ThisCpu {
/// #     type Pinned = faultline_frames::CpuNumber;
/// #     fn pin(&self) -> faultline_frames::CpuNumber { unreachable!() }
/// # }
/// static FRAMES: Late<ThisCpu> = Late::new();
/// assert!(FRAMES.get().is_none());
/// ```
pub struct Late<C> {
    state: AtomicU8,
    frames: UnsafeCell<MaybeUninit<Frames<'static, C>>>,
}

// SAFETY: 1. The thread that sets it sends the frames to all others, so `C: Send`. 2. All get
// shared references, so `C: Sync`. 3. The content is written once, before it is shared.
unsafe impl<C: Send + Sync> Sync for Late<C> {}
// SAFETY: it owns its content.
unsafe impl<C: Send> Send for Late<C> {}

impl<C> core::fmt::Debug for Late<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Late").field("frames", &self.get()).finish()
    }
}

impl<C> Default for Late<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> Late<C> {
    /// An empty place.
    #[cfg(not(all(any(loom, shuttle), test)))]
    pub const fn new() -> Self {
        Self { state: AtomicU8::new(EMPTY), frames: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// An empty place.
    #[cfg(all(any(loom, shuttle), test))]
    pub fn new() -> Self {
        Self { state: AtomicU8::new(EMPTY), frames: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Sets the frames, and returns them. None, and drops the handle, if the place is set already,
    /// or another CPU is setting it.
    pub fn set(&self, frames: Frames<'static, C>) -> Option<&Frames<'static, C>> {
        // Relaxed: only decides which CPU writes.
        if self.state.compare_exchange(EMPTY, BEING_SET, Relaxed, Relaxed).is_err() {
            return None;
        }
        // SAFETY: 1. This CPU alone has left the state `EMPTY`. 2. No CPU reads it before the state
        // is `SET`.
        let set = unsafe { &*(*self.frames.get()).write(frames) };
        // Release: pairs with the acquire in `get`: the frames.
        self.state.store(SET, Release);
        Some(set)
    }

    /// The frames, once they are set.
    #[inline]
    pub fn get(&self) -> Option<&Frames<'static, C>> {
        // Acquire: pairs with the release in `set`. SAFETY: written before, and never again.
        (self.state.load(Acquire) == SET).then(|| unsafe { (*self.frames.get()).assume_init_ref() })
    }
}
