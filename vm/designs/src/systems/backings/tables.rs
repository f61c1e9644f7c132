//! A space's page tables, with a lock for each table of 512 entries, as DragonFly's pmap has them: it looks the table's record up with the
//! space's spin lock shared, and locks the record.
//!
//! Fields: \[s] the space's spin lock; \[t] the table's lock.

use crate::systems::cpu::Cpu;
use crate::systems::tables::{Gone, Tables};
use faultline_memory::{NoMemory, Rights};
use spin::{Mutex, RwLock};
use std::collections::BTreeMap;

const TABLE_PAGES: u64 = 512;

/// A table's record, on a line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Record {
    /// \[t] It stands for the entries.
    lock: Mutex<()>,
}

/// Page tables whose entries faults may make at the same time.
pub(super) struct LockedTables<'m> {
    /// Entries \[t].
    pub(super) tables: Tables<'m>,
    /// \[s] By the number of the first page, divided by 512. They end with the space.
    records: RwLock<BTreeMap<u64, Box<Record>>>,
}

impl<'m> LockedTables<'m> {
    pub(super) fn new(cpu: &Cpu<'m>) -> Result<Self, NoMemory> {
        Ok(LockedTables { tables: Tables::new(cpu)?, records: RwLock::new(BTreeMap::new()) })
    }

    /// Makes the entry of a page, in place of one of another frame. The caller has the map's lock shared.
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

    /// Calls `act` with each page of a range that may have an entry. The caller has the map's lock exclusive.
    pub(super) fn each(&self, begin: u64, end: u64, mut act: impl FnMut(&Tables<'m>, u64)) {
        let records = self.records.read();
        for table in records.range(begin / TABLE_PAGES..end.div_ceil(TABLE_PAGES)).map(|(table, _)| *table) {
            let first = (table * TABLE_PAGES).max(begin);
            (first..end.min((table + 1) * TABLE_PAGES)).for_each(|page| act(&self.tables, page));
        }
    }
}
