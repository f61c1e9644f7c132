//! What an embedder provides: CPUs, page tables, the contents of frames, and frames.

use crate::address::PageRange;
use crate::cpu_set::CpuSet;
use crate::error::NoMemory;
use crate::pmap::Pmap;
use faultline_frames::{CurrentCpu, Frames, Urgency, ZeroedFrame};
use faultline_numbers::{CpuNumber, FrameNumber, HUGE_FRAMES};

/// A number for each space that is alive, for TLBs that tell spaces apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpaceId(pub u64);

/// The pages that a TLB must forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flush {
    /// Of which space.
    pub space: SpaceId,
    /// All pages that lie in it.
    pub pages: PageRange,
}

/// A machine.
///
/// # Safety
/// 1. `shoot` returns when no CPU of the set has a translation of these pages that it had before the call (a large translation is one of each
///    page that it translates), and each guard of
///    `pin` that one of them had at the call has been dropped. A CPU that a kernel interrupts answers when interrupts are on,
///    so a guard turns them off. Calls of `shoot` may overlap; the caller has no guard of its own.
/// 2. `flush` does the same for the calling CPU.
/// 3. `zero` and `copy` write all of a frame, and nothing else.
pub unsafe trait Machine {
    /// Its page tables.
    type Pmap: Pmap;
    /// What keeps a CPU from answering shoot-downs until it is dropped.
    type Pinned<'a>
    where
        Self: 'a;

    /// Keeps the calling CPU from answering shoot-downs. Held for some hundred instructions; for some thousand where a large page is made or divided.
    fn pin(&self, cpu: CpuNumber) -> Self::Pinned<'_>;

    /// Whether each CPU that uses a space has page tables of its own of it, by which it alone translates ([`Space::pmap`](crate::Space::pmap)).
    /// Then only CPUs that used a page are asked to forget it, and threads of a space share no page tables; but each takes a fault on each page
    /// that it uses, and the tables take memory once for each CPU. If not, all CPUs share a space's page tables, and all on which it is active
    /// are asked. Always the same.
    fn has_tables_of_each_cpu(&self) -> bool {
        false
    }

    /// Page tables without entries.
    fn new_pmap(&self) -> Result<Self::Pmap, NoMemory>;

    /// Makes the calling CPU's TLB forget.
    fn flush(&self, cpu: CpuNumber, flush: &Flush);

    /// Makes the TLBs of other CPUs forget, and waits until they have answered.
    fn shoot(&self, cpus: &CpuSet, flush: &Flush);

    /// Fills a frame with zeroes.
    fn zero(&self, frame: FrameNumber);

    /// Copies a frame's contents.
    fn copy(&self, from: FrameNumber, to: FrameNumber);

    /// A transfer of the frame with this index is over: whoever waits for it tries again. See [`FaultError::Wait`](crate::FaultError::Wait).
    fn wake(&self, page: u32) {
        let _ = page;
    }
}

/// Where a CPU's frames come from: [`Frames`], or a test's list.
///
/// # Safety
/// 1. A frame that `get` returns belongs to the caller until it is put.
/// 2. Each frame has an index of its own, which never changes.
/// 3. All frames of `get_large` belong to the caller until each is put. They follow each other, and so do their indices.
pub unsafe trait FrameSource {
    /// A frame.
    fn get(&self) -> Result<ZeroedFrame, NoMemory>;

    /// Takes frames back.
    fn put(&self, frames: &[FrameNumber]);

    /// A frame's index.
    fn index_of(&self, frame: FrameNumber) -> Option<u32>;

    /// The frame of an index.
    fn frame_at(&self, index: u32) -> Option<FrameNumber>;

    /// One more than the largest index.
    fn index_count(&self) -> u32;

    /// So many frames that follow each other, as their indices do, the first of whose numbers is a multiple of `count`, a power of two:
    /// for a large page. They are put one by one. None if there are none, or frames are short: then pages are made one by one.
    fn get_large(&self, count: u64) -> Option<ZeroedFrame> {
        let _ = count;
        None
    }

    /// Whether so many frames are free that some may be used for what nobody has asked for yet: pages behind one that is read.
    fn has_plenty(&self) -> bool {
        false
    }
}

// SAFETY: 1. Frames are given out once. 2. Indices are offsets within spans, which are fixed at the start.
unsafe impl<C: CurrentCpu> FrameSource for Frames<'_, C> {
    fn get(&self) -> Result<ZeroedFrame, NoMemory> {
        self.get_zeroed_as(Urgency::Normal).map_err(|_| NoMemory)
    }

    fn put(&self, frames: &[FrameNumber]) {
        // One by one into the CPU's cache, where the next fault finds them. None is refused: all were got.
        for frame in frames {
            let _ = Frames::put(self, *frame);
        }
    }

    fn index_of(&self, frame: FrameNumber) -> Option<u32> {
        Frames::index_of(self, frame)
    }

    fn frame_at(&self, index: u32) -> Option<FrameNumber> {
        Frames::frame_at(self, index)
    }

    fn index_count(&self) -> u32 {
        Frames::index_count(self)
    }

    /// A block that is free as a whole, while an eighth of the frames is free. Nothing is drained or searched for it.
    fn get_large(&self, count: u64) -> Option<ZeroedFrame> {
        if count != HUGE_FRAMES || !FrameSource::has_plenty(self) {
            return None;
        }
        let huge = self.try_get_huge(Urgency::Normal).ok()?;
        let split = self.split_huge(huge);
        debug_assert!(split.is_ok(), "it was just got: {split:?}");
        Some(ZeroedFrame { number: huge.first(), zeroed: false })
    }

    /// An eighth.
    fn has_plenty(&self) -> bool {
        self.free() >= u64::from(Frames::index_count(self) / 8)
    }
}
