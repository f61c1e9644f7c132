//! Page tables of a space: the walk, the making and the taking out of tables.
//!
//! A table's record counts its entries and the CPUs about to make one. The CPU that brings the
//! count to 0 tries to make the table *dead*; no entry can be made in it from then on, so it can be
//! taken out of the table above. A CPU that finds a dead table on its way begins at the root again.
//! A dead table's memory is put back when every CPU has answered a shoot-down.

use crate::format::{FAN_OUT, Format, Leaf, MOST_LEVELS, span};
use crate::primitive::AtomicU64;
use crate::stack::NONE;
use crate::table::{Record, Table, TableMemory};
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use faultline_memory::{NoMemory, Rights, VirtualPage};
use faultline_numbers::FrameNumber;

/// Tables that were taken out: a list linked by their records. Dropped without `Pmap::free`, they
/// leak.
#[derive(Debug)]
pub struct RetiredTables(pub(crate) u64);

impl Default for RetiredTables {
    fn default() -> Self {
        Self(NONE)
    }
}

/// Page tables of a space or of the kernel.
///
/// A page's number is its address without the bits that the tables do not translate
/// ([`page_of`](Self::page_of)).
#[derive(Debug)]
pub struct PageTables<F: Format, M: TableMemory> {
    pub(crate) memory: M,
    root: FrameNumber,
    /// Root entries that belong to the kernel's page tables.
    borrowed: Range<usize>,
    /// Highest level of large pages of ranges.
    pub(crate) largest: usize,
    format: PhantomData<F>,
}

/// A table on the way to a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    pub(crate) table: &'a Table,
    pub(crate) record: &'a Record,
}

/// The tables on the way to a page by their levels, from the root down to the level reached.
#[derive(Debug)]
pub(crate) struct Way<'a>([Node<'a>; MOST_LEVELS]);

impl<'a> Way<'a> {
    /// The table of a level. Levels are below `MOST_LEVELS`.
    #[inline]
    pub(crate) fn at(&self, level: usize) -> Node<'a> {
        let [node, ..] = self.0;
        self.0.get(level).copied().unwrap_or(node)
    }

    #[inline]
    fn set(&mut self, level: usize, node: Node<'a>) {
        if let Some(place) = self.0.get_mut(level) {
            *place = node;
        }
    }
}

impl<F: Format, M: TableMemory> PageTables<F, M> {
    const TOP: usize = F::LEVELS - 1;

    /// Page tables without entries. All page tables of a space have the same source of tables.
    pub fn new(memory: M) -> Result<Self, NoMemory> {
        const { assert!(F::LEVELS > 1 && F::LEVELS <= MOST_LEVELS && F::LARGEST < F::LEVELS && F::LARGEST > 0) };
        const { assert!(F::LARGEST < Self::TOP || F::IN_PLACE, "`prepare` divides root entries in place") };
        let root = memory.get()?;
        // Counted once for itself, so that it never dies.
        memory.record(root).set_held(1);
        Ok(Self { memory, root, borrowed: 0..0, largest: F::LARGEST, format: PhantomData })
    }

    /// Page tables of a space beside the kernel's: root entries in `roots` are those of `kernel` at
    /// this moment.
    ///
    /// # Safety
    /// 1. This is dropped before `kernel`.
    /// 2. Until then no call changes the root entries of `kernel` in `roots`: they were
    ///    [prepared](Self::prepare), or nothing in their ranges is mapped, unmapped, divided or
    ///    merged.
    pub unsafe fn beside(memory: M, kernel: &Self, roots: Range<usize>) -> Result<Self, NoMemory> {
        let mut tables = Self::new(memory)?;
        let (own, its) = (tables.memory.table(tables.root), kernel.memory.table(kernel.root));
        for (own, its) in own.entries().iter().zip(its.entries()).take(roots.end).skip(roots.start) {
            // Acquire: pairs with the release in `table_below`. Relaxed: no CPU walks the new
            // tables yet.
            own.store(its.load(Acquire), Relaxed);
        }
        (tables.borrowed, tables.largest) = (roots, kernel.largest);
        Ok(tables)
    }

    /// Limits large pages of ranges to this level, for CPUs without larger ones.
    pub fn with_largest(mut self, level: usize) -> Self {
        self.largest = level.min(F::LARGEST);
        self
    }

    /// Makes the tables of root entries in `roots`, and keeps them: spaces beside these page tables
    /// see what is mapped there later. Divides root entries that translate (Sv39 has them). For the
    /// only CPU that changes the tables, like `map`.
    pub fn prepare(&self, roots: Range<usize>) -> Result<(), NoMemory> {
        for index in roots.start..roots.end.min(FAN_OUT) {
            let (page, mut retired) = (index as u64 * span(Self::TOP), RetiredTables::default());
            loop {
                let (level, way) = self.descend(page, Self::TOP - 1);
                if level < Self::TOP {
                    // Counted once for itself: it stays.
                    way.at(level).record.hold();
                    break;
                }
                let entry = way.at(level).table.entry(page, level);
                // Acquire: as in `descend`.
                if F::decoded(level, entry.load(Acquire)).is_some() {
                    // In place, as `new` has checked: without a flush.
                    self.divide_alone(page, level, entry, &mut |_| ())?;
                } else {
                    self.table_below(page, level, &way, &mut retired)?;
                }
            }
        }
        Ok(())
    }

    /// Physical address of the root, for the hardware's register.
    pub fn root(&self) -> FrameNumber {
        self.root
    }

    /// The source of its tables.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The page of a virtual address.
    pub const fn page_of(address: u64) -> VirtualPage {
        VirtualPage(VirtualPage::containing(address).0 & (span(F::LEVELS) - 1))
    }

    pub(crate) fn node(&self, table: FrameNumber) -> Node<'_> {
        Node { table: self.memory.table(table), record: self.memory.record(table) }
    }

    /// Walks towards a page down to a level. Returns the level reached: above the one wanted, if
    /// there is no table below, or a large entry.
    ///
    /// The caller is pinned, or alone, so no table on the way is put back meanwhile.
    #[inline]
    pub(crate) fn descend(&self, page: u64, to: usize) -> (usize, Way<'_>) {
        let mut way = Way([self.node(self.root); MOST_LEVELS]);
        let mut level = Self::TOP;
        while level > to
            // Acquire: pairs with the release in `table_below`: the new table's contents.
            && let Some(below) = F::below(level, way.at(level).table.entry(page, level).load(Acquire))
        {
            level -= 1;
            let node = self.node(below);
            node.record.lifetime.read();
            way.set(level, node);
        }
        (level, way)
    }

    /// The lowest entry on the way to a page, and its level. The caller is pinned, or alone.
    #[inline]
    pub(crate) fn entry(&self, page: u64) -> (usize, &AtomicU64) {
        let mut level = Self::TOP;
        let mut entry = self.memory.table(self.root).entry(page, level);
        while level > 0
            // Acquire: as in `descend`.
            && let Some(below) = F::below(level, entry.load(Acquire))
        {
            level -= 1;
            let node = self.node(below);
            node.record.lifetime.read();
            entry = node.table.entry(page, level);
        }
        (level, entry)
    }

    /// The entry of a single page, if its table exists.
    #[inline]
    pub(crate) fn small_entry(&self, page: u64) -> Option<&AtomicU64> {
        let (level, entry) = self.entry(page);
        // Relaxed: a check only.
        debug_assert!(level == 0 || F::decoded(level, entry.load(Relaxed)).is_none(), "a large entry is divided first");
        (level == 0).then_some(entry)
    }

    /// Makes a table below one of `level` on the way to a page, if there is none. False if the
    /// table above is dead.
    #[cold]
    #[inline(never)]
    pub(crate) fn table_below(
        &self,
        page: u64,
        level: usize,
        way: &Way<'_>,
        retired: &mut RetiredTables,
    ) -> Result<bool, NoMemory> {
        if !way.at(level).record.hold() {
            return Ok(false);
        }
        let new = self.memory.get();
        if let Ok(new) = new {
            // AcqRel: releases the new table's contents.
            if way.at(level).table.entry(page, level).compare_exchange(0, F::table(new), AcqRel, Relaxed).is_ok() {
                F::publish();
                return Ok(true);
            }
            self.memory.put(new);
        }
        self.let_go(page, level, way, retired);
        new.map(|_| true)
    }

    /// Decreases the count of the table of `level`; takes it out if it is dead, and so on upwards.
    #[inline]
    pub(crate) fn let_go(&self, page: u64, level: usize, way: &Way<'_>, retired: &mut RetiredTables) {
        for level in level..Self::TOP {
            if !way.at(level).record.let_go(F::REPLACES_TABLES) {
                return;
            }
            // AcqRel: a CPU that finds 0 finds the count of the table above as it was before the
            // next step or later; only the CPU that made the table dead comes here.
            let out = way.at(level + 1).table.entry(page, level + 1).swap(0, AcqRel);
            if let Some(out) = F::below(level + 1, out) {
                self.retire(out, retired);
            }
        }
        way.at(Self::TOP).record.let_go(false);
    }

    /// Adds a table that was taken out.
    pub(crate) fn retire(&self, out: FrameNumber, retired: &mut RetiredTables) {
        // Relaxed: the table and the list are the caller's.
        self.memory.record(out).next.store(retired.0, Relaxed);
        retired.0 = out.0;
    }

    /// Puts tables back that no CPU walks any more.
    pub(crate) fn put_all(&self, retired: RetiredTables) {
        let mut next = retired.0;
        while next != NONE {
            let (table, record) = (FrameNumber(next), self.memory.record(FrameNumber(next)));
            // Relaxed: as in `retire`.
            next = record.next.load(Relaxed);
            record.lifetime.end();
            record.set_held(0);
            self.memory.put(table);
        }
    }

    /// Changes an entry that translates. Returns its old contents.
    #[inline]
    pub(crate) fn change(level: usize, entry: &AtomicU64, change: impl Fn(Leaf) -> Leaf) -> Option<Leaf> {
        // Acquire, AcqRel: bits that CPUs have set come after what they read and wrote.
        let mut old = entry.load(Acquire);
        loop {
            let leaf = F::decoded(level, old)?;
            let new = F::leaf(level, change(leaf));
            match if new == old { Ok(old) } else { entry.compare_exchange(old, new, AcqRel, Acquire) } {
                Ok(_) => return Some(leaf),
                Err(found) => old = found,
            }
        }
    }

    /// Sets the accessed bit of a program's page, and for a write the dirty bit, as hardware does.
    /// False if the entry does not allow the access, is the kernel's (whose bits are always set),
    /// or there is none. For CPUs that fault instead of setting the bits: called before the memory
    /// system's `fault`. The caller is pinned.
    pub fn mark_used(&self, page: VirtualPage, access: Rights) -> bool {
        let (level, entry) = self.entry(page.0);
        let is_allowed = |leaf: Leaf| leaf.is_user && leaf.rights.allows(access);
        let used = |leaf: Leaf| match is_allowed(leaf) {
            true => Leaf { accessed: true, dirty: leaf.dirty || access.allows(Rights::WRITE), ..leaf },
            false => leaf,
        };
        let is_used = Self::change(level, entry, used).is_some_and(is_allowed);
        F::publish();
        is_used
    }

    /// Number of tables below the root that are not the kernel's. For a caller with exclusive
    /// access.
    pub fn tables(&self) -> u64 {
        self.tables_below(self.root, Self::TOP)
    }

    fn tables_below(&self, table: FrameNumber, level: usize) -> u64 {
        // Acquire: as in `descend`.
        let tables = self.own(table, level).filter_map(|entry| F::below(level, entry.load(Acquire)));
        if level == 0 { 0 } else { tables.map(|table| 1 + self.tables_below(table, level - 1)).sum() }
    }

    /// Entries of a table, except those of the kernel.
    fn own(&self, table: FrameNumber, level: usize) -> impl Iterator<Item = &AtomicU64> {
        let entries = self.memory.table(table).entries().iter().zip(0..);
        entries.filter(move |(_, index)| level < Self::TOP || !self.borrowed.contains(index)).map(|(entry, _)| entry)
    }

    /// Empties and puts back a table and all below it. For a caller with exclusive access.
    fn drop_table(&self, table: FrameNumber, level: usize) {
        for entry in self.own(table, level) {
            // AcqRel: as in `descend`.
            let old = entry.swap(0, AcqRel);
            if level > 0
                && let Some(below) = F::below(level, old)
            {
                self.drop_table(below, level - 1);
            }
        }
        // Relaxed: no CPU walks it. Entries of the kernel.
        self.memory.table(table).entries().iter().for_each(|entry| entry.store(0, Relaxed));
        let record = self.memory.record(table);
        while let Some(reserved) = record.reserve.pop(&self.memory) {
            self.memory.put(reserved);
        }
        record.lifetime.end();
        record.set_held(0);
        self.memory.put(table);
    }
}

impl<F: Format, M: TableMemory> Drop for PageTables<F, M> {
    fn drop(&mut self) {
        self.drop_table(self.root, Self::TOP);
    }
}
