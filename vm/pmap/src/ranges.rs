//! Ranges of the kernel: direct maps, devices, its own text. Uses the largest pages that fit,
//! divides them where a call ends within one, and merges small ones.
//!
//! These calls are for page tables that one CPU changes at a time. `flush` makes every CPU forget
//! pages, and returns when all have. `unmap` and `merge` then free tables, which other spaces may
//! share: there it must also make CPUs forget the tables on the way to the pages, in all spaces
//! (x86-64: of all PCIDs; RISC-V: `SFENCE.VMA` without an address; AArch64: `TLBI VAAE1IS`).

use crate::format::{FAN_OUT, Format, Leaf, Mark, span};
use crate::page_tables::{Node, PageTables, RetiredTables, Way};
use crate::primitive::AtomicU64;
use crate::stack::NONE;
use crate::table::TableMemory;
use core::error::Error;
use core::fmt::{self, Display};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use faultline_memory::{NoMemory, PageRange, Rights, VirtualPage};
use faultline_numbers::FrameNumber;

/// Error of [`PageTables::map`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapError {
    /// No memory for a table.
    NoMemory,
    /// A page of the range is mapped.
    Busy,
}

impl From<NoMemory> for MapError {
    fn from(_: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMemory => "no memory for a page table",
            Self::Busy => "a page of the range is mapped",
        })
    }
}

impl Error for MapError {}

/// First page, and one past the last.
fn bounds(range: PageRange) -> (u64, u64) {
    (range.first().0, range.first().0 + range.pages())
}

/// The pages of the entry of a level that translates a page.
fn whole(page: u64, level: usize) -> PageRange {
    let first = page & !(span(level) - 1);
    PageRange::new(VirtualPage(first), span(level)).unwrap_or(PageRange::X86_64)
}

impl<F: Format, M: TableMemory> PageTables<F, M> {
    /// Maps a range to contiguous frames from `leaf.frame` on. If it fails, nothing is mapped. Its
    /// new tables stay in place, because CPUs may have cached them: later calls use them.
    pub fn map(&self, range: PageRange, leaf: Leaf) -> Result<(), MapError> {
        self.each_fitting(range, leaf, |page, level, _| {
            loop {
                let (reached, way) = self.descend(page, level);
                // Relaxed: only this CPU changes the entry.
                let now = way.at(reached).table.entry(page, reached).load(Relaxed);
                if reached == level || F::decoded(reached, now).is_some() {
                    return if now == 0 { Ok(()) } else { Err(MapError::Busy) };
                }
                let new = self.memory.get()?;
                // Only this CPU changes the tables, so none is dead.
                way.at(reached).record.hold();
                // AcqRel: as in `table_below`.
                way.at(reached).table.entry(page, reached).swap(F::table(new), AcqRel);
                F::publish();
            }
        })?;
        self.each_fitting(range, leaf, |page, level, leaf| {
            let node = self.descend(page, level).1.at(level);
            node.record.hold();
            // AcqRel: as in `enter`.
            node.table.entry(page, level).swap(F::leaf(level, leaf), AcqRel);
            Ok(())
        })?;
        F::publish();
        Ok(())
    }

    /// Unmaps what is mapped in a range. Fails before it changes anything that a CPU could notice.
    pub fn unmap(&self, range: PageRange, mut flush: impl FnMut(PageRange)) -> Result<(), NoMemory> {
        self.divide_at_ends(range, &mut flush)?;
        let mut retired = RetiredTables::default();
        self.each(range, |page, level, way| {
            // AcqRel: as in `remove`.
            if let Some(leaf) = F::decoded(level, way.at(level).table.entry(page, level).swap(0, AcqRel)) {
                if leaf.mark == Mark::Backed {
                    self.put_reserved(way.at(level).record);
                }
                self.let_go(page, level, way, &mut retired);
            }
        });
        F::publish();
        flush(range);
        self.put_all(retired);
        Ok(())
    }

    /// Gives what is mapped in a range these rights. Fails like `unmap`.
    pub fn set_rights(
        &self,
        range: PageRange,
        rights: Rights,
        mut flush: impl FnMut(PageRange),
    ) -> Result<(), NoMemory> {
        self.divide_at_ends(range, &mut flush)?;
        self.each(range, |page, level, way| {
            Self::change(level, way.at(level).table.entry(page, level), |leaf| Leaf { rights, ..leaf });
        });
        F::publish();
        flush(range);
        Ok(())
    }

    /// Merges the entries around a page into one of a level, if they say the same, and their table
    /// was not prepared. Returns true if it did. Between two calls of `flush` CPUs may fault on
    /// the pages, unless they are the kernel's and the format divides in place.
    pub fn merge(&self, page: VirtualPage, level: usize, mut flush: impl FnMut(PageRange)) -> bool {
        let Some(small) = level.checked_sub(1).filter(|_| level <= self.largest) else { return false };
        let (reached, way) = self.descend(page.0, small);
        let (entry, node) = (way.at(level).table.entry(page.0, level), way.at(small));
        // A prepared table is also counted for itself: spaces point to it.
        let may_go = reached == small && node.record.held() == FAN_OUT as u32;
        let Some(leaf) = Self::merged(node, small, level).filter(|_| may_go) else { return false };
        let range = whole(page.0, level);
        let Some(table) = (if F::IN_PLACE && !leaf.is_user {
            // AcqRel: as in `enter`. CPUs set no bits in entries of the kernel.
            F::below(level, entry.swap(F::leaf(level, leaf), AcqRel))
        } else {
            // AcqRel: as in `remove`.
            let table = F::below(level, entry.swap(0, AcqRel));
            F::publish();
            flush(range);
            // No CPU sets bits any more.
            let leaf = Self::merged(node, small, level).unwrap_or(leaf);
            entry.swap(F::leaf(level, leaf), AcqRel);
            table
        }) else {
            return false;
        };
        F::publish();
        flush(range);
        // Relaxed: no CPU walks it.
        node.table.entries().iter().for_each(|entry| entry.store(0, Relaxed));
        let mut retired = RetiredTables(NONE);
        self.retire(table, &mut retired);
        self.put_all(retired);
        true
    }

    /// Level of a page's entry, and its contents.
    pub fn leaf(&self, page: VirtualPage) -> Option<(usize, Leaf)> {
        let (level, entry) = self.entry(page.0);
        // Acquire: as in `query`.
        F::decoded(level, entry.load(Acquire)).map(|leaf| (level, leaf))
    }

    /// The entry of `level` that says the same as a table's entries of level `small`.
    fn merged(node: Node<'_>, small: usize, level: usize) -> Option<Leaf> {
        let mut all: Option<Leaf> = None;
        for (entry, index) in node.table.entries().iter().zip(0..) {
            // Acquire: as in `query`.
            let leaf = F::decoded(small, entry.load(Acquire)).filter(|leaf| leaf.mark == Mark::Plain)?;
            let first = FrameNumber(leaf.frame.0.checked_sub(index * span(small))?);
            let (accessed, dirty) = all.map_or((false, false), |all| (all.accessed, all.dirty));
            let now = Leaf { frame: first, accessed: leaf.accessed || accessed, dirty: leaf.dirty || dirty, ..leaf };
            if all.is_some_and(|all| Leaf { accessed: now.accessed, dirty: now.dirty, ..all } != now) {
                return None;
            }
            all = Some(now);
        }
        all.filter(|leaf| leaf.frame.0.is_multiple_of(span(level)))
    }

    /// Calls `act` with the first page, the level and the contents of each of the largest entries
    /// that fit into a range, and replace no table.
    fn each_fitting(
        &self,
        range: PageRange,
        leaf: Leaf,
        mut act: impl FnMut(u64, usize, Leaf) -> Result<(), MapError>,
    ) -> Result<(), MapError> {
        let ((mut page, end), mut frame) = (bounds(range), leaf.frame.0);
        while page < end {
            let fits = |level: &usize| (page | frame).is_multiple_of(span(*level)) && span(*level) <= end - page;
            let is_table = |level: usize| level > 0 && self.descend(page, level - 1).0 < level;
            let level = (0..=self.largest).rev().filter(fits).find(|level| !is_table(*level)).unwrap_or(0);
            act(page, level, Leaf { frame: FrameNumber(frame), ..leaf })?;
            page += span(level);
            frame += span(level);
        }
        Ok(())
    }

    /// Calls `act` with the lowest entry on the way to each page of a range, once.
    fn each(&self, range: PageRange, mut act: impl FnMut(u64, usize, &Way<'_>)) {
        let (mut page, end) = bounds(range);
        while page < end {
            let (level, way) = self.descend(page, 0);
            act(page, level, &way);
            page = (page | (span(level) - 1)) + 1;
        }
    }

    fn divide_at_ends(&self, range: PageRange, flush: &mut impl FnMut(PageRange)) -> Result<(), NoMemory> {
        let (first, end) = bounds(range);
        self.divide_before(first, flush)?;
        self.divide_before(end, flush)
    }

    /// Divides entries until one begins at a page.
    fn divide_before(&self, page: u64, flush: &mut impl FnMut(PageRange)) -> Result<(), NoMemory> {
        loop {
            let (level, entry) = self.entry(page);
            // Acquire: as in `query`.
            if F::decoded(level, entry.load(Acquire)).is_none() || page.is_multiple_of(span(level)) {
                return Ok(());
            } else if level == 1 && F::IN_PLACE {
                if !self.divide_in_place(page) {
                    return Err(NoMemory);
                }
            } else {
                self.divide_alone(page, level, entry, flush)?;
            }
        }
    }

    /// Divides an entry that only this CPU changes.
    pub(crate) fn divide_alone(
        &self,
        page: u64,
        level: usize,
        entry: &AtomicU64,
        flush: &mut impl FnMut(PageRange),
    ) -> Result<(), NoMemory> {
        let table = self.memory.get()?;
        if !F::IN_PLACE {
            // AcqRel: as in `remove`.
            let old = entry.swap(0, AcqRel);
            F::publish();
            flush(whole(page, level));
            if let Some(leaf) = F::decoded(level, old) {
                self.fill(table, level, leaf);
            }
            entry.swap(F::table(table), AcqRel);
        } else {
            // Acquire, AcqRel: as in `divide_in_place`.
            let mut old = entry.load(Acquire);
            while let Some(leaf) = F::decoded(level, old) {
                self.fill(table, level, leaf);
                match entry.compare_exchange(old, F::table(table), AcqRel, Acquire) {
                    Ok(_) => break,
                    Err(found) => old = found,
                }
            }
        }
        F::publish();
        Ok(())
    }
}
