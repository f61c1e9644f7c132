//! Objects, pages, the hash that finds a page of an object without a lock, and page tables.
//!
//! Objects do not refer to each other: the map entries determine the order of lookup.
//!
//! A page is *soft-busy* while any number of faults use it, and *busy* while one thread changes its
//! identity, after all faults have ended. A hash slot is a guess: a fault makes its page soft-busy,
//! and then checks the page's identity.
//!
//! Page tables have a lock for each table of 512 entries, as in DragonFly's pmap: it looks the
//! table's record up with the space's spin lock shared, and locks the record.
//!
//! Fields: \[o] the object's lock; \[l] the lock of its list of backings; \[a] one atomic word by
//! itself; \[b] written while the page is busy, read while it is soft-busy; \[s] the space's spin
//! lock; \[t] the table's lock.

use crate::systems::Cpu;
use crate::systems::tables::{Gone, Tables};
use faultline_memory::{NoMemory, Rights};
use spin::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An object. Its count of references is its `Arc`'s, and its address is its number.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Object {
    /// \[o]
    pub(super) inner: RwLock<Inner>,
    /// \[l] The entries that it backs, by space and first page: the reverse map that a page daemon
    /// would use.
    backings: Mutex<BTreeMap<(u64, u64), Extent>>,
}

/// Data under an object's lock.
#[derive(Debug)]
pub(super) struct Inner {
    /// Resident pages, by their index: for private memory that of the virtual page.
    pub(super) pages: BTreeMap<u64, u32>,
    /// True if only one map has it, each page once: then an unmapped page can be freed.
    pub(super) is_of_one_map: bool,
}

/// A range of a space that an object backs.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// One past its last page.
    end: u64,
    /// Added to a virtual page's number, gives its index in the object.
    #[expect(dead_code, reason = "a page daemon would read it")]
    shift: u64,
}

impl Object {
    pub(super) fn new(is_of_one_map: bool) -> Arc<Self> {
        let inner = Inner { pages: BTreeMap::new(), is_of_one_map };
        Arc::new(Object { inner: RwLock::new(inner), backings: Mutex::new(BTreeMap::new()) })
    }

    /// A unique number. When an object ends, its pages lose their identity, so the address may be
    /// reused.
    pub(super) fn number(self: &Arc<Self>) -> u64 {
        Arc::as_ptr(self).addr() as u64
    }

    /// Ends a reference. The pages of an ending object go to `free`.
    pub(super) fn release(object: Arc<Self>, free: impl FnMut(u32)) {
        let Some(object) = Arc::into_inner(object) else { return };
        debug_assert!(object.backings.lock().is_empty(), "an object that backs an entry ends");
        object.inner.into_inner().pages.into_values().for_each(free);
    }

    /// Registers an entry that the object backs.
    pub(super) fn attach(&self, (space, begin): (u64, u64), end: u64, shift: u64) {
        self.backings.lock().insert((space, begin), Extent { end, shift });
    }

    /// Unregisters an entry.
    pub(super) fn detach(&self, at: (u64, u64)) {
        let removed = self.backings.lock().remove(&at);
        debug_assert!(removed.is_some(), "it backed the entry");
    }

    /// Splits an entry.
    pub(super) fn split(&self, (space, begin): (u64, u64), at: u64, shift: u64) {
        let mut backings = self.backings.lock();
        if let Some(lower) = backings.get_mut(&(space, begin)) {
            let end = std::mem::replace(&mut lower.end, at);
            backings.insert((space, at), Extent { end, shift });
        }
    }
}

impl Inner {
    /// Takes the pages of a range out.
    pub(super) fn take(&mut self, begin: u64, end: u64) -> Vec<u32> {
        let indices: Vec<u64> = self.pages.range(begin..end).map(|(index, _)| *index).collect();
        indices.iter().filter_map(|index| self.pages.remove(index)).collect()
    }
}

const BUSY: u32 = 1 << 31;

/// A page, on lines of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Page {
    /// \[a] `BUSY`, or the number of soft-busy holders.
    busy: AtomicU32,
    /// \[a] Dirty: set when a writable mapping may be made. Relaxed: a hint for reclaim.
    dirty: AtomicU32,
    /// \[b] The object's number, 0 for none.
    object: AtomicU64,
    /// \[b]
    index: AtomicU64,
}

impl Page {
    /// Makes it busy.
    fn make_busy(&self) {
        // Relaxed: a guess. Acquire: pairs with the release of the previous busy or soft-busy
        // holder.
        let take = || self.busy.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed);
        while self.busy.load(Ordering::Relaxed) != 0 || take().is_err() {
            spin_loop();
        }
    }

    /// Makes it soft-busy. False if it is busy.
    fn try_soft_busy(&self) -> bool {
        let mut busy = self.busy.load(Ordering::Relaxed);
        while busy & BUSY == 0 {
            // Acquire: pairs with the release in `set`: the page's identity and contents.
            match self.busy.compare_exchange(busy, busy + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => busy = found,
            }
        }
        false
    }

    pub(super) fn end_soft_busy(&self) {
        // Release: pairs with the acquire in `make_busy`.
        self.busy.fetch_sub(1, Ordering::Release);
    }

    /// Makes it soft-busy, and waits if necessary.
    pub(super) fn soft_busy(&self) {
        while !self.try_soft_busy() {
            spin_loop();
        }
    }

    /// Sets the page's object, or none.
    pub(super) fn set(&self, object: u64, index: u64) {
        self.make_busy();
        // Relaxed: released with the busy bit.
        self.object.store(object, Ordering::Relaxed);
        self.index.store(index, Ordering::Relaxed);
        self.dirty.store(0, Ordering::Relaxed);
        // Release: pairs with the acquires of the next busy or soft-busy holder.
        self.busy.store(0, Ordering::Release);
    }

    /// Checks the page's identity. The caller has it soft-busy.
    fn is(&self, object: u64, index: u64) -> bool {
        self.object.load(Ordering::Relaxed) == object && self.index.load(Ordering::Relaxed) == index
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.dirty.load(Ordering::Relaxed) != 0
    }

    pub(super) fn make_dirty(&self) {
        if !self.is_dirty() {
            self.dirty.store(1, Ordering::Relaxed);
        }
    }
}

/// The hash: one page per slot, the last one looked up.
#[derive(Debug)]
pub(super) struct Hash {
    /// \[a] Indices of pages, plus 1.
    slots: Box<[AtomicU32]>,
}

impl Hash {
    /// A hash for this many pages: twice as many slots.
    pub(super) fn new(pages: u32) -> Self {
        Hash { slots: (0..(2 * pages as usize).next_power_of_two()).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Neighbouring pages of an object have neighbouring slots.
    fn slot(&self, object: u64, index: u64) -> &AtomicU32 {
        let begin = (object >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        &self.slots[begin.wrapping_add(index) as usize & (self.slots.len() - 1)]
    }

    /// A page of an object, made soft-busy. `None`: look in the object.
    pub(super) fn get(&self, pages: &[Page], object: u64, index: u64) -> Option<u32> {
        // Relaxed: a guess, which the page's own identity confirms.
        let number = self.slot(object, index).load(Ordering::Relaxed).checked_sub(1)?;
        let page = &pages[number as usize];
        if !page.try_soft_busy() {
            return None;
        }
        if page.is(object, index) {
            return Some(number);
        }
        page.end_soft_busy();
        None
    }

    /// Remembers a page.
    pub(super) fn put(&self, object: u64, index: u64, page: u32) {
        // Relaxed: as above.
        let slot = self.slot(object, index);
        if slot.load(Ordering::Relaxed) != page + 1 {
            slot.store(page + 1, Ordering::Relaxed);
        }
    }
}

const TABLE_PAGES: u64 = 512;

/// A table's record, on a line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Record {
    /// \[t] Protects the table's entries.
    lock: Mutex<()>,
}

/// Page tables with concurrent changes of entries.
pub(super) struct LockedTables<'m> {
    /// Entries \[t].
    pub(super) tables: Tables<'m>,
    /// \[s] By the first page's number divided by 512. They live as long as the space.
    records: RwLock<BTreeMap<u64, Box<Record>>>,
}

impl<'m> LockedTables<'m> {
    pub(super) fn new(cpu: &Cpu<'m>) -> Result<Self, NoMemory> {
        Ok(LockedTables { tables: Tables::new(cpu)?, records: RwLock::new(BTreeMap::new()) })
    }

    /// Makes the entry of a page, replacing one of another frame. The caller has the map's lock
    /// shared.
    pub(super) fn enter(&self, cpu: &Cpu<'m>, at: u64, page: u32, rights: Rights) -> Result<(), NoMemory> {
        loop {
            let records = self.records.read();
            let Some(record) = records.get(&(at / TABLE_PAGES)) else {
                drop(records);
                self.records.write().entry(at / TABLE_PAGES).or_default();
                continue;
            };
            let _entries = record.lock.lock();
            if self.tables.look(cpu, at).is_some_and(|entry| entry.frame != cpu.frame(page)) {
                // Other threads must not read the old page when this one writes the new one.
                let mut gone = Gone::new();
                self.tables.remove(cpu, at, &mut gone);
                gone.finish(cpu, &self.tables);
            }
            return self.tables.enter(cpu, at, page, rights);
        }
    }

    /// Calls `act` with each page of a range that may have an entry. The caller has the map's lock
    /// exclusive.
    pub(super) fn each(&self, begin: u64, end: u64, mut act: impl FnMut(&Tables<'m>, u64)) {
        let records = self.records.read();
        for table in records.range(begin / TABLE_PAGES..end.div_ceil(TABLE_PAGES)).map(|(table, _)| *table) {
            let first = (table * TABLE_PAGES).max(begin);
            (first..end.min((table + 1) * TABLE_PAGES)).for_each(|page| act(&self.tables, page));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_as_long_as_it_is_that_page() {
        let pages = [Page::default(), Page::default()];
        let hash = Hash::new(2);
        assert_eq!(hash.get(&pages, 64, 5), None);
        pages[1].set(64, 5);
        hash.put(64, 5, 1);
        assert_eq!(hash.get(&pages, 64, 5), Some(1));
        assert_eq!(hash.get(&pages, 64, 5), Some(1), "soft-busy twice");
        assert_eq!(hash.get(&pages, 64, 5 + 4), None, "another page of the same slot");
        (0..2).for_each(|_| pages[1].end_soft_busy());
        pages[1].set(0, 0);
        assert_eq!(hash.get(&pages, 64, 5), None);
        assert_eq!(pages[1].busy.load(Ordering::Relaxed), 0);
    }
}
