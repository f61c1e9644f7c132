//! The embedder's interface: CPUs, page tables, contents of frames, and the source of frames.

use crate::address::{PageRange, Rights, VirtualPage};
use crate::broken::Broken;
use crate::cpu_set::CpuSet;
use crate::error::NoMemory;
use faultline_frames::{CurrentCpu, Frames, Urgency, ZeroedFrame};
use faultline_numbers::{CpuNumber, FrameNumber, HUGE_FRAMES};

/// A number of each live space, for TLBs that tell spaces apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpaceId(pub u64);

/// Pages that a TLB must forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flush {
    /// The space of the pages.
    pub space: SpaceId,
    /// The pages.
    pub pages: PageRange,
    /// True if page tables of these pages were taken out, and are freed or used for other pages
    /// afterwards: CPUs that cache entries above the pages must forget those too. `INVLPG` always
    /// does; RISC-V's `SFENCE.VMA` does without an address (`rs1` is `x0`), AArch64's `TLBI VAE1`
    /// does and `VALE1` does not.
    pub frees_tables: bool,
}

/// A machine.
///
/// # Safety
/// 1. `shoot` returns when no CPU of the set has a translation of these pages that it had before
///    the call (a large translation is one of each page that it translates), or a pointer to a
///    table that was taken out, if the flush frees tables; and each guard of
///    `pin` that one of them had at the call has been dropped. A CPU that a kernel interrupts
///    answers when interrupts are on, so a guard turns them off. Calls of `shoot` may overlap; the
///    caller has no guard of its own.
/// 2. `flush` does the same for the calling CPU.
/// 3. `zero` and `copy` write all of a frame, and nothing else.
pub unsafe trait Machine {
    /// Its page tables.
    type Pmap: Pmap;
    /// Guard that keeps a CPU from answering shoot-downs until it is dropped.
    type Pinned<'a>
    where
        Self: 'a;

    /// Keeps the calling CPU from answering shoot-downs. Held for some hundred instructions; for
    /// some thousand where a large page is made or divided.
    fn pin(&self, cpu: CpuNumber) -> Self::Pinned<'_>;

    /// True if each CPU that uses a space has its own page tables of it, and translates only with
    /// them ([`Space::pmap`](crate::Space::pmap)). Then only CPUs that used a page are asked to
    /// forget it, and threads of a space share no page tables; in return each CPU takes a fault on
    /// each page that it uses, and tables take memory once per CPU. If false, all CPUs share a
    /// space's page tables, and all on which it is active are asked. Must be constant.
    fn has_tables_of_each_cpu(&self) -> bool {
        false
    }

    /// The pages that programs may use: the widest limits of a space. Its page tables translate all
    /// of them. [`PageRange`] has those of some machines. Must be constant.
    fn pages(&self) -> PageRange;

    /// Page tables without entries.
    fn new_pmap(&self) -> Result<Self::Pmap, NoMemory>;

    /// Flushes pages from the calling CPU's TLB.
    fn flush(&self, cpu: CpuNumber, flush: &Flush);

    /// Flushes pages from the TLBs of other CPUs, and waits until they have answered.
    fn shoot(&self, cpus: &CpuSet, flush: &Flush);

    /// Called between two pieces of a long call, and where a call waits for another CPU's fork: at
    /// least every 50 µs or so. The calling thread holds no slot and no guard of `pin`. May run
    /// other threads on this CPU, which may make calls with the same handle, and may take as long
    /// as it likes; returns on the same CPU, with the same spaces active there. Waiting threads
    /// call it until the other call is over, so each runnable thread must get its turn. Default:
    /// does nothing.
    fn pause(&self, cpu: CpuNumber) {
        let _ = cpu;
    }

    /// Fills a frame with zeroes.
    fn zero(&self, frame: FrameNumber);

    /// Copies a frame's contents.
    fn copy(&self, from: FrameNumber, to: FrameNumber);

    /// A transfer of the frame with this index is over: waiting faults retry. See
    /// [`FaultError::Wait`](crate::FaultError::Wait).
    fn wake(&self, page: u32) {
        let _ = page;
    }

    /// An invariant is broken. Called in every build, possibly with slots locked or the CPU pinned:
    /// must not call this crate. A kernel prints a warning with a backtrace, or halts. Each is also
    /// counted as [`Event::Broken`](crate::Event::Broken). Default: panics with debug assertions,
    /// does nothing without.
    fn broken(&self, broken: &Broken) {
        debug_assert!(false, "{broken}");
    }
}

/// A CPU's source of frames: [`Frames`], or a test's list.
///
/// # Safety
/// 1. A frame that `get` returns belongs to the caller until it is put.
/// 2. Each frame has an index of its own, which never changes.
/// 3. All frames of `get_large` belong to the caller until each is put. They are contiguous, and so
///    are their indices.
pub unsafe trait FrameSource {
    /// Allocates a frame.
    fn get(&self) -> Result<ZeroedFrame, NoMemory>;

    /// Frees frames. False if one was refused.
    fn put(&self, frames: &[FrameNumber]) -> bool;

    /// A frame's index.
    fn index_of(&self, frame: FrameNumber) -> Option<u32>;

    /// The frame with an index.
    fn frame_at(&self, index: u32) -> Option<FrameNumber>;

    /// One more than the largest index.
    fn index_count(&self) -> u32;

    /// Allocates `count` contiguous frames with contiguous indices, for a large page. `count` is a
    /// power of two, and the first number is a multiple of it. They are freed one by one. `None` if
    /// there are none, or frames are short: then pages are made one by one.
    fn get_large(&self, count: u64) -> Option<ZeroedFrame> {
        let _ = count;
        None
    }

    /// True if enough frames are free for speculative use: reading ahead, large pages.
    fn has_plenty(&self) -> bool {
        false
    }
}

// SAFETY: 1. Frames are given out once. 2. Indices are offsets within spans, which are fixed at the
// start.
unsafe impl<C: CurrentCpu> FrameSource for Frames<'_, C> {
    fn get(&self) -> Result<ZeroedFrame, NoMemory> {
        self.get_zeroed_as(Urgency::Normal).map_err(|_| NoMemory)
    }

    fn put(&self, frames: &[FrameNumber]) -> bool {
        // One by one into the CPU's cache, where the next fault finds them.
        // All of them, also after one is refused.
        frames.iter().filter(|frame| Frames::put(self, **frame).is_err()).count() == 0
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

    /// A block that is free as a whole, while an eighth of the frames is free. Drains and searches
    /// nothing.
    fn get_large(&self, count: u64) -> Option<ZeroedFrame> {
        if count != HUGE_FRAMES || !FrameSource::has_plenty(self) {
            return None;
        }
        let huge = self.try_get_huge(Urgency::Normal).ok()?;
        // It was just got, so it is not refused.
        self.split_huge(huge).ok()?;
        Some(ZeroedFrame { number: huge.first(), zeroed: false })
    }

    /// At least an eighth of the frames is free.
    fn has_plenty(&self) -> bool {
        self.free() >= u64::from(Frames::index_count(self) / 8)
    }
}

/// An entry of a page table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Translation {
    /// The frame.
    pub frame: FrameNumber,
    /// Rights that the hardware allows.
    pub rights: Rights,
    /// True if a CPU used the entry.
    pub accessed: bool,
    /// True if a CPU wrote through the entry.
    pub dirty: bool,
}

/// Page tables of a space, on all CPUs or on one
/// ([`Machine::has_tables_of_each_cpu`](crate::Machine::has_tables_of_each_cpu)). CPUs read them,
/// and set their accessed and dirty bits, at any time.
///
/// Calls on different pages may be concurrent; calls on one page are not, because the memory system
/// holds the page's slot. It calls within [`Machine::pin`](crate::Machine::pin). Page tables of one
/// CPU are also called by others, one at a time: that order keeps tables on the way alive, not the
/// pin, which only keeps the caller from answering.
///
/// A *large entry* translates [`LARGE_PAGES`](Self::LARGE_PAGES) pages to contiguous frames. It is
/// made, removed and protected while the slots of all its pages are held; it may be divided and
/// harvested for several of its pages concurrently. It is divided before any other call but `query`
/// on one of its pages. So making one sets aside the memory that dividing it takes.
///
/// # Safety
/// 1. A page translates to the frame of the last `enter`, or of the last `enter_large` by its place
///    in the range, with no more rights than `enter`, `protect` and `protect_large` left, and to
///    nothing after `remove` or `remove_large`. `divide` changes nothing of that. Writing and
///    executing may include reading.
/// 2. A table without entries may be taken out, but its memory stays a table until `free` is called
///    with the `Retired` that holds it: CPUs may be reading it.
pub unsafe trait Pmap: Sized {
    /// Tables that were taken out. Dropping it without `free` must be sound; it may leak.
    type Retired: Default;

    /// Pages of a large entry, a power of two: 512 on x86-64; 1 means no large entries. Must be 1
    /// if a TLB may not hold a large and a small translation of one page at the same time: a large
    /// entry is divided without a shoot-down.
    const LARGE_PAGES: u64 = 1;

    /// Makes an entry, or adds rights to one of the same frame. Fails if there is no memory for a
    /// table; then there is no entry.
    fn enter(
        &self,
        page: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut Self::Retired,
    ) -> Result<(), NoMemory>;

    /// Removes an entry, and tables left empty. Returns the entry.
    fn remove(&self, page: VirtualPage, retired: &mut Self::Retired) -> Option<Translation>;

    /// Restricts an entry to these rights. Returns its old value.
    fn protect(&self, page: VirtualPage, rights: Rights) -> Option<Translation>;

    /// The entry.
    fn query(&self, page: VirtualPage) -> Option<Translation>;

    /// The entry; clears its accessed and dirty bits. A CPU with the entry in its TLB may not set
    /// them again until it is shot down.
    fn harvest(&self, page: VirtualPage) -> Option<Translation>;

    /// Makes a large entry for pages from `first` on, which have no entries, to frames from `frame`
    /// on. Both are multiples of `LARGE_PAGES`. Fails if there is no memory for it, or for dividing
    /// it; then there is no entry.
    fn enter_large(
        &self,
        first: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut Self::Retired,
    ) -> Result<(), NoMemory> {
        let _ = (first, frame, rights, retired);
        Err(NoMemory)
    }

    /// Divides a page's large entry, if any, into entries with equal contents, and returns true if
    /// it did. Afterwards the page is in no large entry. TLBs may keep the large translation: it is
    /// equivalent.
    fn divide(&self, page: VirtualPage) -> bool {
        let _ = page;
        false
    }

    /// Removes the large entry that begins at `first`, if any, and tables left empty. Returns the
    /// entry.
    fn remove_large(&self, first: VirtualPage, retired: &mut Self::Retired) -> Option<Translation> {
        let _ = (first, retired);
        None
    }

    /// Restricts the large entry that begins at `first`, if any, to these rights. Returns its old
    /// value.
    fn protect_large(&self, first: VirtualPage, rights: Rights) -> Option<Translation> {
        let _ = (first, rights);
        None
    }

    /// A page's large entry, if any, as an entry of this page; clears the accessed and dirty bits
    /// of all of it, as `harvest` does.
    fn harvest_large(&self, page: VirtualPage) -> Option<Translation> {
        let _ = page;
        None
    }

    /// True if no table was taken out.
    fn is_empty(retired: &Self::Retired) -> bool;

    /// Frees tables that were taken out before every CPU that translates with them answered a
    /// shoot-down. If each CPU has page tables of its own, they may be those of another set of the
    /// same space.
    fn free(&self, retired: Self::Retired);
}
