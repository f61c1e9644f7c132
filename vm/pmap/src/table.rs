//! A table, its record, and the source of both.

use crate::format::{BITS, FAN_OUT, MemoryType};
use crate::primitive::{AtomicU32, AtomicU64, Lifetime};
use crate::stack::{Links, NONE, Stack};
use core::sync::atomic::Ordering::{AcqRel, Relaxed};
use faultline_memory::NoMemory;
use faultline_numbers::FrameNumber;

/// The count of a table that is being taken out.
const DEAD: u32 = u32::MAX;

/// A table that the hardware walks: one frame. Fields: \[a] changed by compare-and-swap, or by a
/// swap; bits of it also by the hardware.
#[derive(Debug)]
#[cfg_attr(not(all(loom, test)), repr(C, align(4096)))]
pub struct Table(
    /// \[a]
    [AtomicU64; FAN_OUT],
);

impl Default for Table {
    fn default() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Table {
    /// The entries, in order.
    #[cfg(not(all(loom, test)))]
    pub fn entries(&self) -> &[core::sync::atomic::AtomicU64; FAN_OUT] {
        &self.0
    }

    #[cfg(all(loom, test))]
    pub(crate) fn entries(&self) -> &[AtomicU64; FAN_OUT] {
        &self.0
    }

    /// Index of a page's entry.
    #[inline]
    pub(crate) fn index(page: u64, level: usize) -> usize {
        (page >> (BITS as usize * level)) as usize % FAN_OUT
    }

    #[inline]
    pub(crate) fn entry(&self, page: u64, level: usize) -> &AtomicU64 {
        &self.0[Self::index(page, level)]
    }
}

/// A table's record, which the hardware does not see. Fields: \[a] changed by compare-and-swap;
/// \[o] written by the CPU to which the table belongs.
#[derive(Debug)]
pub struct Record {
    /// \[a] Entries that are not 0, and CPUs that are about to make one; or `DEAD`.
    held: AtomicU32,
    /// \[o] Next table of a list.
    pub(crate) next: AtomicU64,
    /// \[a] Tables that are set aside to divide entries of this one.
    pub(crate) reserve: Stack,
    pub(crate) lifetime: Lifetime,
}

// docs/PMAP.md states the size.
#[cfg(not(all(loom, test)))]
const _: () = assert!(size_of::<Record>() == 24);

impl Default for Record {
    fn default() -> Self {
        let (held, next) = (AtomicU32::new(0), AtomicU64::new(NONE));
        Self { held, next, reserve: Stack::default(), lifetime: Lifetime::default() }
    }
}

impl Record {
    /// Counts a CPU that is about to make an entry. False if the table is dead.
    #[inline]
    pub(crate) fn hold(&self) -> bool {
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
    #[inline]
    pub(crate) fn let_go(&self, may_die: bool) -> bool {
        // AcqRel: as in `hold`. The CPU that makes it dead has seen that all entries are 0.
        self.held.fetch_sub(1, AcqRel) == 1 && may_die && self.held.compare_exchange(0, DEAD, AcqRel, Relaxed).is_ok()
    }

    /// The count, for a caller that changes the table alone.
    pub(crate) fn held(&self) -> u32 {
        // Relaxed: as the caller promises.
        self.held.load(Relaxed)
    }

    /// Sets the count of a table that no other CPU sees.
    pub(crate) fn set_held(&self, entries: u32) {
        // Relaxed: as the caller promises.
        self.held.store(entries, Relaxed);
    }
}

/// A source of tables: frames that the kernel can address, each with a record.
///
/// # Safety
/// 1. A table that `get` returns is zero, and belongs to the caller until it is put. Callers put it
///    zeroed.
/// 2. `table` and `record` of a frame always return the same place, for each frame that `get` ever
///    returned, also after it was put.
/// 3. Frame numbers of tables are below 2⁴⁰ − 1.
pub unsafe trait TableMemory {
    /// Takes a table.
    fn get(&self) -> Result<FrameNumber, NoMemory>;

    /// Puts a table back.
    fn put(&self, table: FrameNumber);

    /// The table in a frame.
    fn table(&self, table: FrameNumber) -> &Table;

    /// The record of a table.
    fn record(&self, table: FrameNumber) -> &Record;

    /// Caching of a frame that is mapped for a program. Must be constant for each frame.
    fn memory_type(&self, frame: FrameNumber) -> MemoryType {
        let _ = frame;
        MemoryType::WriteBack
    }
}

impl<M: TableMemory> Links for M {
    #[inline]
    fn next(&self, table: FrameNumber) -> &AtomicU64 {
        &self.record(table).next
    }
}

// SAFETY: it is the source behind it.
unsafe impl<M: TableMemory> TableMemory for &M {
    fn get(&self) -> Result<FrameNumber, NoMemory> {
        (**self).get()
    }

    fn put(&self, table: FrameNumber) {
        (**self).put(table);
    }

    #[inline]
    fn table(&self, table: FrameNumber) -> &Table {
        (**self).table(table)
    }

    #[inline]
    fn record(&self, table: FrameNumber) -> &Record {
        (**self).record(table)
    }

    fn memory_type(&self, frame: FrameNumber) -> MemoryType {
        (**self).memory_type(frame)
    }
}
