//! A fixed number of tables in contiguous frames.

use crate::stack::Stack;
use crate::table::{Record, Table, TableMemory};
use core::ops::Deref;
use faultline_memory::NoMemory;
use faultline_numbers::FrameNumber;

/// A pool of tables. All CPUs may use it.
#[derive(Debug)]
pub struct TablePool<T, R> {
    first: FrameNumber,
    tables: T,
    records: R,
    free: Stack,
    /// For frames of no table: never linked into page tables.
    outside: (Table, Record),
}

impl<T: Deref<Target = [Table]>, R: Deref<Target = [Record]>> TablePool<T, R> {
    /// A pool of tables without entries, each with a record. The first table's frame is `first`,
    /// which is its physical address. `None` if a frame number is not below 2⁴⁰ − 1.
    ///
    /// # Safety
    /// The targets of `tables` and `records` never move. Nothing else uses the tables.
    pub unsafe fn new(first: FrameNumber, tables: T, records: R) -> Option<Self> {
        let count = tables.len().min(records.len()) as u64;
        if first.0.checked_add(count)? >= crate::stack::NONE {
            return None;
        }
        let pool = Self { first, tables, records, free: Stack::default(), outside: Default::default() };
        (0..count).rev().for_each(|index| pool.put(FrameNumber(first.0 + index)));
        Some(pool)
    }

    #[inline]
    fn index(&self, table: FrameNumber) -> usize {
        table.0.wrapping_sub(self.first.0) as usize
    }
}

// SAFETY: 1. The stack gives each frame out once. 2. The slices do not move, as `new`'s caller
// promises. 3. Checked by `new`.
unsafe impl<T: Deref<Target = [Table]>, R: Deref<Target = [Record]>> TableMemory for TablePool<T, R> {
    fn get(&self) -> Result<FrameNumber, NoMemory> {
        self.free.pop(self).ok_or(NoMemory)
    }

    fn put(&self, table: FrameNumber) {
        self.free.push(self, table);
    }

    #[inline]
    fn table(&self, table: FrameNumber) -> &Table {
        self.tables.get(self.index(table)).unwrap_or(&self.outside.0)
    }

    #[inline]
    fn record(&self, table: FrameNumber) -> &Record {
        self.records.get(self.index(table)).unwrap_or(&self.outside.1)
    }
}
