//! The functions that the rest of a kernel calls.

use crate::cpu::ThisCpu;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use faultline_frames::{Config, DomainId, FrameNumber, Frames, HugeFrame, MemoryArea, Watermarks};

/// No frame.
const NONE: u64 = u64::MAX;

/// Written once, before other CPUs run.
struct Boot(UnsafeCell<Option<Frames<'static, ThisCpu>>>);

// SAFETY: 1. Only `frames_init` writes it, before any other call, as its contract says. 2. Its content may be shared.
unsafe impl Sync for Boot {}

static FRAMES: Boot = Boot(UnsafeCell::new(None));

#[inline(always)]
fn frames() -> Option<&'static Frames<'static, ThisCpu>> {
    // SAFETY: nobody writes it any more: see `frames_init`.
    unsafe { (*FRAMES.0.get()).as_ref() }
}

/// Hands `frames` frames from `first` on to the allocator, for `cpus` CPUs of one domain (at most 64), with its
/// metadata at the beginning of that memory. Returns the number of frames that the metadata takes, or `NONE` on
/// failure.
///
/// # Safety
/// - It is called once, before any other call here, and before other CPUs run.
/// - Nobody uses the frames, and they are mapped at `map` + their address.
/// - Each CPU's `gs` segment begins with its number, below `cpus`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn frames_init(first: u64, frames: u64, map: *mut u8, cpus: usize) -> u64 {
    let domains = [DomainId(0); 64];
    let config = |first, frames| MemoryArea { first: FrameNumber(first), frames, domain: DomainId(0) };
    let Some(cpus) = domains.get(..cpus) else { return NONE };
    let marks = &[Watermarks { low: frames / 64, min: frames / 256 }];
    // Slightly larger than needed: the layout is for all of the memory, including the part that the metadata then
    // takes.
    let Ok(layout) = Frames::layout(&Config::new(&[config(first, frames)], cpus).with_marks(marks)) else {
        return NONE;
    };
    let own = (layout.size() as u64).div_ceil(faultline_frames::FRAME_BYTES);
    let Some(left) = frames.checked_sub(own) else { return NONE };
    // SAFETY: 1. The frames are mapped there and nobody uses them. 2. The allocator does not get them. 3. They begin at
    // a frame, which is aligned as the layout requires. 4. They stay forever.
    let metadata = unsafe {
        let begin = map.add(FrameNumber(first).address() as usize);
        core::slice::from_raw_parts_mut(begin.cast::<MaybeUninit<u8>>(), layout.size())
    };
    let memory = [config(first + own, left)];
    let Ok(frames) = Frames::new(&Config::new(&memory, cpus).with_marks(marks), metadata, ThisCpu) else {
        return NONE;
    };
    // SAFETY: nobody reads it yet.
    unsafe { *FRAMES.0.get() = Some(frames) };
    own
}

/// A frame's number, or `NONE`.
#[unsafe(no_mangle)]
pub extern "C" fn frame_get() -> u64 {
    frames().and_then(|frames| frames.get().ok()).map_or(NONE, |frame| frame.0)
}

/// Takes a frame back. Returns false if it was not allocated.
#[unsafe(no_mangle)]
pub extern "C" fn frame_put(number: u64) -> bool {
    frames().is_some_and(|frames| frames.put(FrameNumber(number)).is_ok())
}

/// The first frame of a huge frame, or `NONE`.
#[unsafe(no_mangle)]
pub extern "C" fn frame_get_huge() -> u64 {
    frames().and_then(|frames| frames.get_huge().ok()).map_or(NONE, |huge| huge.first().0)
}

/// Takes a huge frame back. Returns false if it was not allocated.
#[unsafe(no_mangle)]
pub extern "C" fn frame_put_huge(number: u64) -> bool {
    let huge = HugeFrame::beginning_at(FrameNumber(number));
    frames().zip(huge).is_some_and(|(frames, huge)| frames.put_huge(huge).is_ok())
}

/// For the page daemon: empties the caches. Returns the number of frames freed.
#[unsafe(no_mangle)]
pub extern "C" fn frames_drain() -> u64 {
    frames().map_or(0, Frames::drain)
}
