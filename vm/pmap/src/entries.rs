//! Single pages, and the interface of the memory system.

use crate::format::{FAN_OUT, Format, Leaf};
use crate::page_tables::{PageTables, RetiredTables};
use crate::primitive::relax;
use crate::stack::NONE;
use crate::table::TableMemory;
use core::sync::atomic::Ordering::{AcqRel, Acquire};
use faultline_memory::{NoMemory, Pmap, Rights, Translation, VirtualPage};
use faultline_numbers::FrameNumber;

/// An entry, for one of its pages.
pub(crate) fn translation(level: usize, page: u64, leaf: Leaf) -> Translation {
    Translation { frame: leaf.at(level, page), rights: leaf.rights, accessed: leaf.accessed, dirty: leaf.dirty }
}

/// The entry with these rights at most.
pub(crate) fn restricted(leaf: Leaf, rights: Rights) -> Leaf {
    Leaf { rights: Rights::from_bits(leaf.rights.bits() & rights.bits()), ..leaf }
}

/// The entry as if no CPU had used it.
pub(crate) fn unused(leaf: Leaf) -> Leaf {
    Leaf { accessed: false, dirty: false, ..leaf }
}

// SAFETY: 1. An entry is what `enter` made of it until `remove`; only rights are taken and bits set
// in between. 2. A table is put back by `free` alone, or with all others.
unsafe impl<F: Format, M: TableMemory> Pmap for PageTables<F, M> {
    type Retired = RetiredTables;

    const LARGE_PAGES: u64 = if F::IN_PLACE { FAN_OUT as u64 } else { 1 };

    fn enter(
        &self,
        page: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut RetiredTables,
    ) -> Result<(), NoMemory> {
        let new = Leaf::user(frame, rights, self.memory.memory_type(frame));
        loop {
            let (level, way) = self.descend(page.0, 0);
            let entry = way.at(level).table.entry(page.0, level);
            if level > 0 {
                // Acquire: as in `descend`.
                if F::decoded(level, entry.load(Acquire)).is_some() {
                    debug_assert!(false, "a large entry is divided first");
                    return Err(NoMemory);
                }
                if !self.table_below(page.0, level, &way, retired)? {
                    relax();
                }
                continue;
            }
            let more = |leaf: Leaf| {
                debug_assert_eq!(leaf.frame, frame, "an entry is removed before its frame changes");
                Leaf { rights: leaf.rights | rights, ..leaf }
            };
            if Self::change(0, entry, more).is_some() {
                break;
            } else if way.at(0).record.hold() {
                // AcqRel: a CPU that finds the entry finds earlier writes to the frame. No other
                // CPU makes or removes this page's entry meanwhile, so it was 0.
                entry.swap(F::leaf(0, new), AcqRel);
                break;
            }
            // Dead: being taken out.
            relax();
        }
        F::publish();
        Ok(())
    }

    fn remove(&self, page: VirtualPage, retired: &mut RetiredTables) -> Option<Translation> {
        let (level, way) = self.descend(page.0, 0);
        if level > 0 {
            return None;
        }
        // AcqRel: bits that CPUs have set come after what they read and wrote.
        let old = F::decoded(0, way.at(0).table.entry(page.0, 0).swap(0, AcqRel))?;
        self.let_go(page.0, 0, &way, retired);
        F::publish();
        Some(translation(0, page.0, old))
    }

    fn protect(&self, page: VirtualPage, rights: Rights) -> Option<Translation> {
        let old = Self::change(0, self.small_entry(page.0)?, |leaf| restricted(leaf, rights))?;
        F::publish();
        Some(translation(0, page.0, old))
    }

    fn query(&self, page: VirtualPage) -> Option<Translation> {
        let (level, entry) = self.entry(page.0);
        // Acquire: as in `change`.
        F::decoded(level, entry.load(Acquire)).map(|leaf| translation(level, page.0, leaf))
    }

    fn harvest(&self, page: VirtualPage) -> Option<Translation> {
        let old = Self::change(0, self.small_entry(page.0)?, unused)?;
        F::publish();
        Some(translation(0, page.0, old))
    }

    fn enter_large(
        &self,
        first: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut RetiredTables,
    ) -> Result<(), NoMemory> {
        self.make_large(first.0, Leaf::user(frame, rights, self.memory.memory_type(frame)), retired)
    }

    fn divide(&self, page: VirtualPage) -> bool {
        self.divide_in_place(page.0)
    }

    fn remove_large(&self, first: VirtualPage, retired: &mut RetiredTables) -> Option<Translation> {
        self.take_large(first.0, retired).map(|leaf| translation(1, first.0, leaf))
    }

    fn protect_large(&self, first: VirtualPage, rights: Rights) -> Option<Translation> {
        self.change_large(first.0, |leaf| restricted(leaf, rights)).map(|leaf| translation(1, first.0, leaf))
    }

    fn harvest_large(&self, page: VirtualPage) -> Option<Translation> {
        self.change_large(page.0, unused).map(|leaf| translation(1, page.0, leaf))
    }

    fn is_empty(retired: &RetiredTables) -> bool {
        retired.0 == NONE
    }

    fn free(&self, retired: RetiredTables) {
        self.put_all(retired);
    }
}
