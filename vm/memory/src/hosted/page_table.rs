//! Page tables in software, shaped like those of x86-64 and others. An entry is changed by one
//! compare-and-swap, and a table without entries is taken out.
//!
//! Each table counts its entries and the CPUs about to make one. The CPU that brings the count to 0
//! tries to make the table *dead*; no entry can be made in it from then on, so it can be taken out
//! of the table above. A CPU that finds a dead table on its way begins at the root again. A dead
//! table's memory is freed when every CPU has answered a shoot-down.
//!
//! A large entry is kept beside the entries of a leaf, which is allocated with it and has none
//! while the large one exists. So dividing it needs no memory: the entries are written, and then
//! the large one is cleared by one step that fails if a CPU has set a bit in it since.

use crate::address::{PageRange, Rights, SPACE_PAGES, VirtualPage};
use crate::error::NoMemory;
use crate::machine::{Pmap, Translation};
use crate::primitive::{AtomicPtr, AtomicU32, AtomicUsize, Lifetime, relax, try_box};
use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use faultline_numbers::FrameNumber;

/// Entries of a table, as a power of two.
#[cfg(not(all(loom, test)))]
const BITS: u32 = 9;
/// Small, so that loom can explore all interleavings.
#[cfg(all(loom, test))]
const BITS: u32 = 1;
const FAN_OUT: usize = 1 << BITS;
/// Levels for all pages of any space.
const MOST_LEVELS: usize = (SPACE_PAGES.trailing_zeros() / BITS) as usize;

const _: () = assert!(1 << (MOST_LEVELS * BITS as usize) == SPACE_PAGES);

const VALID: usize = 1;
const RIGHTS_SHIFT: u32 = 1;
const RIGHTS: usize = 7 << RIGHTS_SHIFT;
const ACCESSED: usize = 1 << 4;
const DIRTY: usize = 1 << 5;
/// In a large entry: a CPU is dividing it.
const DIVIDING: usize = 1 << 6;
const FRAME_SHIFT: u32 = 12;

/// The count of a table that is being taken out.
const DEAD: u32 = u32::MAX;

/// A table. Fields: \[a] changed by compare-and-swap, or by a swap; \[r] written by the CPU that
/// took the table out.
#[derive(Debug)]
#[repr(align(64))]
struct Table {
    /// \[a] Above the leaves a pointer to a table; in a leaf an entry's bits, as an address without
    /// provenance.
    entries: [AtomicPtr<Table>; FAN_OUT],
    /// \[a] Entries that are not null, and CPUs that are about to make one; or `DEAD`.
    held: AtomicU32,
    /// \[r] Next table of a list of those taken out. Relaxed: used by one CPU only.
    next: AtomicPtr<Table>,
    /// \[a] Of a leaf: a large entry in place of all its entries, or 0.
    large: AtomicUsize,
    lifetime: Lifetime,
}

impl Table {
    /// Without entries, or with a large one.
    fn new(large: usize) -> Self {
        Self {
            entries: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            held: AtomicU32::new(if large == 0 { 0 } else { FAN_OUT as u32 }),
            next: AtomicPtr::new(ptr::null_mut()),
            large: AtomicUsize::new(large),
            lifetime: Lifetime::new(),
        }
    }

    fn entry(&self, page: VirtualPage, level: usize) -> &AtomicPtr<Table> {
        &self.entries[(page.0 >> (BITS as usize * level)) as usize % FAN_OUT]
    }

    /// Counts a CPU that is about to make an entry. False if the table is dead.
    fn hold(&self) -> bool {
        // Relaxed: a guess. AcqRel: the count's steps are in one order, in which no CPU counts
        // after the table died.
        let mut held = self.held.load(Relaxed);
        while held != DEAD {
            match self.held.compare_exchange(held, held + 1, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(found) => held = found,
            }
        }
        false
    }

    /// Decreases the count. True if the table is dead then, and the caller must take it out.
    fn let_go(&self, count: u32) -> bool {
        // AcqRel: as in `hold`. The CPU that makes it dead has seen that all entries are null.
        self.held.fetch_sub(count, AcqRel) == count && self.held.compare_exchange(0, DEAD, AcqRel, Relaxed).is_ok()
    }

    /// Changes the large entry, if any, by `change`. Returns its old value, as an entry of a page.
    fn change_large(&self, page: VirtualPage, change: impl Fn(usize) -> usize) -> Option<Translation> {
        // Acquire, AcqRel: as in `change_entry`; a CPU that finds none finds the entries made from
        // it.
        let mut old = self.large.load(Acquire);
        while old & VALID != 0 {
            let new = change(old);
            match if new == old { Ok(old) } else { self.large.compare_exchange(old, new, AcqRel, Acquire) } {
                Ok(_) => return Some(decoded(of_page(old, page))),
                Err(found) => old = found,
            }
        }
        None
    }

    fn debug_assert_divided(&self) {
        // Relaxed: there has been none since before this call.
        debug_assert_eq!(self.large.load(Relaxed), 0, "a large entry is divided before a part of it changes");
    }

    /// Divides the large entry, if any, and returns true if it did. If another CPU is dividing it,
    /// waits for that: for the writing of a table.
    fn divide(&self) -> bool {
        // Acquire: as in `change_large`.
        let mut large = self.large.load(Acquire);
        loop {
            if large & VALID == 0 {
                return false;
            } else if large & DIVIDING != 0 {
                relax();
                large = self.large.load(Acquire);
                continue;
            }
            // Relaxed: only decides which CPU writes the entries. Acquire on failure: as above.
            match self.large.compare_exchange(large, large | DIVIDING, Relaxed, Acquire) {
                Ok(_) => break,
                Err(found) => large = found,
            }
        }
        large |= DIVIDING;
        loop {
            for (entry, number) in self.entries.iter().zip(0..) {
                let bits = of_page(large & !DIVIDING, VirtualPage(number));
                // Relaxed: no CPU looks at the entries before the next step.
                entry.store(ptr::without_provenance_mut(bits), Relaxed);
            }
            // AcqRel: releases the entries. Fails if a CPU has set a bit meanwhile, which all
            // entries must have.
            match self.large.compare_exchange(large, 0, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(found) => large = found,
            }
        }
    }
}

/// A page's entry, derived from the bits of its large entry.
fn of_page(large: usize, page: VirtualPage) -> usize {
    large + ((page.0 as usize % FAN_OUT) << FRAME_SHIFT)
}

/// Tables that were taken out. Dropped without `Pmap::free`, they leak.
#[derive(Debug)]
pub struct RetiredTables(*mut Table);

impl Default for RetiredTables {
    fn default() -> Self {
        Self(ptr::null_mut())
    }
}

/// Page tables of a space.
#[derive(Debug)]
pub struct PageTable {
    /// Counted once for itself, so that it never dies.
    root: Box<Table>,
    levels: usize,
}

/// The tables above an entry, from the leaf at index 0 to the root, which is also behind it.
type Way<'a> = [&'a Table; MOST_LEVELS];

impl PageTable {
    /// Without entries, for these pages.
    pub fn try_new(pages: PageRange) -> Result<Self, NoMemory> {
        let root = try_box(Table::new(0))?;
        root.hold();
        let levels = (2..MOST_LEVELS).find(|levels| pages.end() <= 1 << (BITS as usize * levels));
        Ok(Self { root, levels: levels.unwrap_or(MOST_LEVELS) })
    }

    /// The tables above a page's entry, or `Err` with the lowest level reached, and null if there
    /// is no table below.
    ///
    /// # Safety
    /// Tables that are taken out meanwhile are not freed.
    unsafe fn way(&self, page: VirtualPage) -> Result<Way<'_>, (usize, Way<'_>)> {
        let mut way: Way<'_> = [&self.root; MOST_LEVELS];
        for level in (1..self.levels).rev() {
            // Acquire: pairs with the release in `table_below`: the new table's contents.
            let below = way[level].entry(page, level).load(Acquire);
            // SAFETY: 1. Above the leaves an entry points to a table. 2. It is not freed meanwhile,
            // as the caller promises.
            way[level - 1] = unsafe { below.as_ref() }.ok_or((level, way))?;
            way[level - 1].lifetime.read();
        }
        Ok(way)
    }

    /// Makes a table below one of `level` on the way to a page, if there is none; with a large
    /// entry if `large` is not 0. False if the table above is dead.
    #[cold]
    #[inline(never)]
    fn table_below(
        &self,
        page: VirtualPage,
        level: usize,
        way: &Way<'_>,
        large: usize,
        retired: &mut RetiredTables,
    ) -> Result<bool, NoMemory> {
        if !way[level].hold() {
            return Ok(false);
        }
        let new = try_box(Table::new(large)).map(Box::into_raw);
        if let Ok(new) = new {
            // AcqRel: releases the new table's contents.
            if way[level].entry(page, level).compare_exchange(ptr::null_mut(), new, AcqRel, Relaxed).is_ok() {
                return Ok(true);
            }
            // SAFETY: from `into_raw` above, and not yet shared.
            drop(unsafe { Box::from_raw(new) });
        }
        self.let_go(1, page, level, way, retired);
        new.map(|_| true)
    }

    /// Decreases the count of the table of `level`; takes it out if it is dead, and so on upwards.
    fn let_go(&self, mut count: u32, page: VirtualPage, level: usize, way: &Way<'_>, retired: &mut RetiredTables) {
        for level in level..self.levels {
            if !way[level].let_go(count) {
                return;
            }
            count = 1;
            let above = way[level + 1].entry(page, level + 1);
            // AcqRel: a CPU that finds null finds the count of the table above as it was before the
            // next step or later; only the CPU that made the table dead comes here.
            let out = above.swap(ptr::null_mut(), AcqRel);
            // SAFETY: it was in the tree until now, and the list is the caller's.
            unsafe { &*out }.next.store(retired.0, Relaxed);
            retired.0 = out;
        }
    }

    /// Changes an existing entry by `change`. Returns its old value.
    fn change(&self, page: VirtualPage, change: impl Fn(usize) -> usize) -> Option<Translation> {
        let leaf = self.leaf(page)?;
        leaf.debug_assert_divided();
        Self::change_entry(leaf.entry(page, 0), change)
    }

    /// The leaf with a page's entry, or with its large entry.
    fn leaf(&self, page: VirtualPage) -> Option<&Table> {
        // SAFETY: `Pmap`'s callers are pinned, or one at a time with tables of one CPU: nothing on
        // the way is freed.
        let [leaf, ..] = unsafe { self.way(page) }.ok()?;
        Some(leaf)
    }

    fn change_entry(entry: &AtomicPtr<Table>, change: impl Fn(usize) -> usize) -> Option<Translation> {
        // Acquire, AcqRel: bits that CPUs have set come after what they read and wrote.
        let mut old = entry.load(Acquire);
        while old.addr() & VALID != 0 {
            let new = ptr::without_provenance_mut(change(old.addr()));
            match entry.compare_exchange(old, new, AcqRel, Acquire) {
                Ok(_) => return Some(decoded(old.addr())),
                Err(found) => old = found,
            }
        }
        None
    }

    /// Walks the tables as hardware does: finds the entry, and if it allows the access, sets its
    /// accessed bit, and the dirty bit for a write. Otherwise `None`. The caller's CPU answers no
    /// shoot-down meanwhile.
    pub(crate) fn walk(&self, page: VirtualPage, access: Rights) -> Option<Translation> {
        let used = ACCESSED | if access.allows(Rights::WRITE) { DIRTY } else { 0 };
        let used = |bits| if decoded(bits).rights.allows(access) { bits | used } else { bits };
        let leaf = self.leaf(page)?;
        leaf.change_large(page, used)
            .or_else(|| Self::change_entry(leaf.entry(page, 0), used))
            .filter(|entry| entry.rights.allows(access))
    }

    /// Number of tables below the root.
    pub fn tables(&self) -> u64 {
        fn below(table: &Table, level: usize) -> u64 {
            if level == 0 {
                return 0;
            }
            // Acquire: as in `way`. SAFETY: as there; for callers with exclusive access.
            let of = |entry: &AtomicPtr<Table>| unsafe { entry.load(Acquire).as_ref() };
            table.entries.iter().filter_map(of).map(|table| 1 + below(table, level - 1)).sum()
        }
        below(&self.root, self.levels - 1)
    }
}

/// The bits of the rights that are not in this set.
fn lost(rights: Rights) -> usize {
    RIGHTS & !(usize::from(rights.bits()) << RIGHTS_SHIFT)
}

fn encoded(frame: FrameNumber, rights: Rights) -> usize {
    VALID | usize::from(rights.bits()) << RIGHTS_SHIFT | (frame.0 as usize) << FRAME_SHIFT
}

fn decoded(bits: usize) -> Translation {
    Translation {
        frame: FrameNumber((bits >> FRAME_SHIFT) as u64),
        rights: Rights::from_bits((bits >> RIGHTS_SHIFT) as u8),
        accessed: bits & ACCESSED != 0,
        dirty: bits & DIRTY != 0,
    }
}

// SAFETY: 1. An entry is what `enter` made of it until `remove`; only rights are taken and bits set
// in between. 2. A table is freed by `free` alone, or with all others.
unsafe impl Pmap for PageTable {
    type Retired = RetiredTables;

    const LARGE_PAGES: u64 = FAN_OUT as u64;

    fn enter(
        &self,
        page: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut RetiredTables,
    ) -> Result<(), NoMemory> {
        let new = encoded(frame, rights);
        loop {
            // SAFETY: as in `leaf`.
            match unsafe { self.way(page) } {
                Ok(way) if Self::change_entry(way[0].entry(page, 0), |bits| bits | new).is_some() => return Ok(()),
                Ok(way) if way[0].hold() => {
                    // AcqRel: a CPU that finds the entry finds earlier writes to the frame. No
                    // other CPU makes or removes this page's entry meanwhile, so it was null.
                    way[0].entry(page, 0).swap(ptr::without_provenance_mut(new), AcqRel);
                    return Ok(());
                }
                // Dead: being taken out.
                Ok(_) => relax(),
                Err((level, way)) => {
                    if !self.table_below(page, level, &way, 0, retired)? {
                        relax();
                    }
                }
            }
        }
    }

    fn enter_large(
        &self,
        first: VirtualPage,
        frame: FrameNumber,
        rights: Rights,
        retired: &mut RetiredTables,
    ) -> Result<(), NoMemory> {
        loop {
            // SAFETY: as in `leaf`.
            match unsafe { self.way(first) } {
                // Relaxed: the large entry is this CPU's, or there is none.
                Ok(way) if way[0].large.load(Relaxed) != 0 => return Ok(()),
                Ok(_) => return Err(NoMemory),
                Err((level, way)) => {
                    let large = if level == 1 { encoded(frame, rights) } else { 0 };
                    if !self.table_below(first, level, &way, large, retired)? {
                        relax();
                    }
                }
            }
        }
    }

    fn divide(&self, page: VirtualPage) -> bool {
        self.leaf(page).is_some_and(Table::divide)
    }

    fn remove_large(&self, first: VirtualPage, retired: &mut RetiredTables) -> Option<Translation> {
        // SAFETY: as in `leaf`.
        let way = unsafe { self.way(first) }.ok()?;
        let removed = way[0].change_large(first, |_| 0)?;
        self.let_go(FAN_OUT as u32, first, 0, &way, retired);
        Some(removed)
    }

    fn protect_large(&self, first: VirtualPage, rights: Rights) -> Option<Translation> {
        let lost = lost(rights);
        self.leaf(first)?.change_large(first, |bits| bits & !lost)
    }

    fn harvest_large(&self, page: VirtualPage) -> Option<Translation> {
        self.leaf(page)?.change_large(page, |bits| bits & !(ACCESSED | DIRTY))
    }

    fn remove(&self, page: VirtualPage, retired: &mut RetiredTables) -> Option<Translation> {
        // SAFETY: as in `leaf`.
        let way = unsafe { self.way(page) }.ok()?;
        way[0].debug_assert_divided();
        // AcqRel: bits that CPUs have set come after what they read and wrote.
        let old = way[0].entry(page, 0).swap(ptr::null_mut(), AcqRel);
        if old.is_null() {
            return None;
        }
        self.let_go(1, page, 0, &way, retired);
        Some(decoded(old.addr()))
    }

    fn protect(&self, page: VirtualPage, rights: Rights) -> Option<Translation> {
        let lost = lost(rights);
        self.change(page, |bits| bits & !lost)
    }

    fn query(&self, page: VirtualPage) -> Option<Translation> {
        let leaf = self.leaf(page)?;
        leaf.change_large(page, |bits| bits).or_else(|| Self::change_entry(leaf.entry(page, 0), |bits| bits))
    }

    fn harvest(&self, page: VirtualPage) -> Option<Translation> {
        self.change(page, |bits| bits & !(ACCESSED | DIRTY))
    }

    fn is_empty(retired: &RetiredTables) -> bool {
        retired.0.is_null()
    }

    fn free(&self, mut retired: RetiredTables) {
        while !retired.0.is_null() {
            // SAFETY: 1. Made by `try_box` in `table_below`. 2. Taken out, and every CPU has
            // answered since.
            let table = unsafe { Box::from_raw(retired.0) };
            retired.0 = table.next.load(Relaxed);
            Lifetime::end(table, |table| &table.lifetime);
        }
    }
}

impl Drop for PageTable {
    fn drop(&mut self) {
        fn free(table: &Table, level: usize) {
            for entry in table.entries.iter().filter(|_| level > 0) {
                // Acquire: as in `way`.
                let below = entry.load(Acquire);
                if !below.is_null() {
                    // SAFETY: 1. Made by `try_box` in `table_below`. 2. The tables are ours alone.
                    let table = unsafe { Box::from_raw(below) };
                    free(&table, level - 1);
                }
            }
        }
        free(&self.root, self.levels - 1);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const PAGE: VirtualPage = VirtualPage(0x1_2345_6789);
    const BOTH: fn() -> Rights = || Rights::READ | Rights::WRITE;

    #[test]
    fn an_entry_is_found_until_it_is_removed() {
        let (table, mut retired) = (PageTable::try_new(crate::hosted::PAGES).unwrap(), RetiredTables::default());
        assert_eq!((table.query(PAGE), table.remove(PAGE, &mut retired), table.tables()), (None, None, 0));
        table.enter(PAGE, FrameNumber(77), Rights::READ, &mut retired).unwrap();
        table.enter(VirtualPage(PAGE.0 + 1), FrameNumber(78), BOTH(), &mut retired).unwrap();
        assert_eq!(table.tables(), 3);
        let entry = Translation { frame: FrameNumber(77), rights: Rights::READ, accessed: false, dirty: false };
        assert_eq!(table.query(PAGE), Some(entry));
        assert_eq!(table.walk(PAGE, Rights::WRITE), None);
        assert_eq!(table.query(PAGE), Some(entry), "a refused access sets no bit");
        assert!(table.walk(PAGE, Rights::READ).is_some());
        assert_eq!(table.harvest(PAGE), Some(Translation { accessed: true, ..entry }));
        table.enter(PAGE, FrameNumber(77), BOTH(), &mut retired).unwrap();
        assert!(table.walk(PAGE, Rights::WRITE).is_some());
        assert_eq!(table.protect(PAGE, Rights::READ).map(|entry| (entry.rights, entry.dirty)), Some((BOTH(), true)));
        assert_eq!(table.remove(PAGE, &mut retired).map(|entry| entry.rights), Some(Rights::READ));
        assert!(PageTable::is_empty(&retired) && table.tables() == 3, "the neighbour is still there");
    }

    #[test]
    fn tables_without_entries_are_taken_out() {
        let (table, mut retired) = (PageTable::try_new(crate::hosted::PAGES).unwrap(), RetiredTables::default());
        for page in [PAGE, VirtualPage(PAGE.0 + (1 << 9)), VirtualPage(0)] {
            table.enter(page, FrameNumber(1), BOTH(), &mut retired).unwrap();
        }
        assert_eq!(table.tables(), 3 + 1 + 3);
        for (page, left) in [(PAGE, 6), (VirtualPage(0), 3), (VirtualPage(PAGE.0 + (1 << 9)), 0)] {
            assert!(table.remove(page, &mut retired).is_some());
            assert_eq!(table.tables(), left);
        }
        assert!(!PageTable::is_empty(&retired));
        table.free(retired);
    }

    #[test]
    fn a_large_entry_is_one_until_it_is_divided() {
        let (table, mut retired) = (PageTable::try_new(crate::hosted::PAGES).unwrap(), RetiredTables::default());
        let (first, last) = (VirtualPage(512), VirtualPage(1023));
        table.enter_large(first, FrameNumber(1024), BOTH(), &mut retired).unwrap();
        assert_eq!(table.tables(), 3);
        let entry = |frame| Translation { frame: FrameNumber(frame), rights: BOTH(), accessed: false, dirty: false };
        assert_eq!((table.query(first), table.query(last)), (Some(entry(1024)), Some(entry(1535))));
        let found = table.walk(VirtualPage(520), Rights::READ);
        assert_eq!(found.map(|found| found.frame), Some(FrameNumber(1032)));
        assert_eq!(table.harvest_large(last), Some(Translation { accessed: true, ..entry(1535) }));
        assert_eq!(table.protect_large(first, Rights::READ), Some(entry(1024)));
        assert!(table.walk(last, Rights::WRITE).is_none() && table.walk(last, Rights::READ).is_some());
        assert!(table.divide(last) && !table.divide(first), "once");
        let divided = Translation { rights: Rights::READ, accessed: true, ..entry(1024) };
        assert_eq!(table.query(first), Some(divided));
        assert_eq!((table.harvest_large(first), table.remove_large(first, &mut retired)), (None, None));
        for page in 512..1024 {
            let frame = FrameNumber(512 + page);
            assert_eq!(table.remove(VirtualPage(page), &mut retired), Some(Translation { frame, ..divided }));
        }
        assert_eq!(table.tables(), 0);
        table.enter_large(first, FrameNumber(0), BOTH(), &mut retired).unwrap();
        assert_eq!(table.remove_large(first, &mut retired), Some(entry(0)));
        assert_eq!((table.query(last), table.tables()), (None, 0));
        table.enter(last, FrameNumber(3), BOTH(), &mut retired).unwrap();
        assert!(table.enter_large(first, FrameNumber(0), BOTH(), &mut retired).is_err(), "a page has an entry");
        table.free(retired);
    }
}
