//! An example of embedding the allocator in a kernel: metadata from memory found at boot, the CPU's
//! number from a segment register, interrupts off while a CPU's cache is in use. `no-panic.sh`
//! checks that no call from here can panic.
//!
//! A C kernel links it as is. A kernel in Rust needs the same few pieces. The crate is empty on
//! other targets.

#![cfg(target_os = "none")]
#![no_std]

mod reach;

use core::arch::asm;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use faultline_frames::{
    Config, CpuNumber, CurrentCpu, DomainId, FrameNumber, Frames, HugeFrame, Late, MemoryArea, PinnedCpu, Watermarks,
};

/// The current CPU. The first 4 bytes of its own `gs` segment hold its number.
#[derive(Debug)]
pub(crate) struct ThisCpu;

/// A guard while interrupts are off. Dropping it turns them on again if they were on before.
#[derive(Debug)]
pub(crate) struct InterruptsOff {
    number: CpuNumber,
    flags: u64,
}

// SAFETY: 1. Interrupts are off until the guard is dropped, so neither an interrupt handler nor the
// scheduler gets the CPU. 2. Each CPU has its own number in its `gs` segment: the caller of
// `frames_init` has ensured it.
unsafe impl CurrentCpu for ThisCpu {
    type Pinned = InterruptsOff;

    #[inline(always)]
    fn pin(&self) -> InterruptsOff {
        let (number, flags): (u32, u64);
        // SAFETY: 1. Kernels may turn off interrupts and read `gs`. 2. The code uses the stack, as
        // the options permit. 3. The compiler must assume that memory changes, so it does not touch
        // the cache before.
        unsafe {
            asm!("pushfq", "pop {flags}", "cli", "mov {number:e}, gs:[0]", flags = out(reg) flags, number = out(reg) number)
        };
        InterruptsOff { number: CpuNumber(number), flags }
    }
}

impl PinnedCpu for InterruptsOff {
    #[inline(always)]
    fn number(&self) -> CpuNumber {
        self.number
    }
}

impl Drop for InterruptsOff {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: 1. The flags are those that `pin` found. 2. As in `pin`; the compiler does not
        // touch the cache after.
        unsafe { asm!("push {flags}", "popfq", flags = in(reg) self.flags) };
    }
}

/// No frame.
const NONE: u64 = u64::MAX;

static FRAMES: Late<ThisCpu> = Late::new();

#[inline(always)]
fn frames() -> Option<&'static Frames<'static, ThisCpu>> {
    FRAMES.get()
}

/// Hands `frames` frames from `first` on to the allocator, for `cpus` CPUs of one domain (at most
/// 64), with its metadata at the beginning of that memory. Returns the number of frames that the
/// metadata takes, or `NONE` on failure.
///
/// # Safety
/// - The frames are unused, and mapped at `map` + their address.
/// - Each CPU's `gs` segment begins with its number, below `cpus`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn frames_init(first: u64, frames: u64, map: *mut u8, cpus: usize) -> u64 {
    let domains = [DomainId(0); 64];
    let config = |first, frames| MemoryArea { first: FrameNumber(first), frames, domain: DomainId(0) };
    let Some(cpus) = domains.get(..cpus) else { return NONE };
    let marks = &[Watermarks { low: frames / 64, min: frames / 256 }];
    // Slightly larger than needed: the layout is for all of the memory, including the part that the
    // metadata then takes.
    let Ok(layout) = Frames::layout(&Config::new(&[config(first, frames)], cpus).with_marks(marks)) else {
        return NONE;
    };
    let own = (layout.size() as u64).div_ceil(faultline_frames::FRAME_BYTES);
    let Some(left) = frames.checked_sub(own) else { return NONE };
    // SAFETY: 1. The frames are mapped there and unused. 2. The allocator does not get them. 3.
    // They begin at a frame, which is aligned as the layout requires. 4. They stay forever.
    let metadata = unsafe {
        let begin = map.add(FrameNumber(first).address() as usize);
        core::slice::from_raw_parts_mut(begin.cast::<MaybeUninit<u8>>(), layout.size())
    };
    let memory = [config(first + own, left)];
    let Ok(frames) = Frames::new(&Config::new(&memory, cpus).with_marks(marks), metadata, ThisCpu) else {
        return NONE;
    };
    if FRAMES.set(frames).is_some() { own } else { NONE }
}

/// Returns a frame's number, or `NONE`.
#[unsafe(no_mangle)]
pub extern "C" fn frame_get() -> u64 {
    frames().and_then(|frames| frames.get().ok()).map_or(NONE, |frame| frame.0)
}

/// Takes a frame back. Returns false if it was not allocated.
#[unsafe(no_mangle)]
pub extern "C" fn frame_put(number: u64) -> bool {
    frames().is_some_and(|frames| frames.put(FrameNumber(number)).is_ok())
}

/// Returns the first frame of a huge frame, or `NONE`.
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

/// Empties the caches, for the page daemon. Returns the number of frames freed.
#[unsafe(no_mangle)]
pub extern "C" fn frames_drain() -> u64 {
    frames().map_or(0, Frames::drain)
}

/// Stops the CPU. A kernel has its own panic handler.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: kernels may execute it.
        unsafe { asm!("hlt") };
    }
}
