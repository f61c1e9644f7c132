//! Large pages of programs: entries of level 1, each with a table set aside, so that dividing it
//! needs no memory.

use crate::format::{FAN_OUT, Format, Leaf, Mark, span};
use crate::page_tables::{PageTables, RetiredTables};
use crate::primitive::relax;
use crate::table::TableMemory;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use faultline_memory::NoMemory;
use faultline_numbers::FrameNumber;

impl<F: Format, M: TableMemory> PageTables<F, M> {
    /// Makes a large entry. Its pages have no entries.
    pub(crate) fn make_large(&self, first: u64, leaf: Leaf, retired: &mut RetiredTables) -> Result<(), NoMemory> {
        if !F::IN_PLACE {
            return Err(NoMemory);
        }
        loop {
            let (level, way) = self.descend(first, 1);
            let node = way.at(level);
            if level > 1 {
                if !self.table_below(first, level, &way, retired)? {
                    relax();
                }
            } else if node.record.hold() {
                let made = self.memory.get().and_then(|reserved| {
                    node.record.reserve.push(&self.memory, reserved);
                    let new = F::leaf(1, Leaf { mark: Mark::Backed, ..leaf });
                    // AcqRel: as in `enter`. Fails if a page of it has an entry or a table.
                    let made = node.table.entry(first, 1).compare_exchange(0, new, AcqRel, Relaxed);
                    made.map(drop).map_err(|_| {
                        self.put_reserved(node.record);
                        NoMemory
                    })
                });
                F::publish();
                return made.inspect_err(|_| self.let_go(first, 1, &way, retired));
            } else {
                relax();
            }
        }
    }

    /// Puts back a table that was set aside: no CPU has walked it.
    pub(crate) fn put_reserved(&self, record: &crate::table::Record) {
        if let Some(reserved) = record.reserve.pop(&self.memory) {
            self.memory.put(reserved);
        }
    }

    /// Changes a page's large entry, if any. Returns its old contents.
    pub(crate) fn change_large(&self, page: u64, change: impl Fn(Leaf) -> Leaf) -> Option<Leaf> {
        let (level, way) = self.descend(page, 1);
        let changed = if level == 1 { Self::change(1, way.at(1).table.entry(page, 1), change) } else { None };
        F::publish();
        changed
    }

    /// Removes a large entry, if any. Returns its old contents.
    pub(crate) fn take_large(&self, first: u64, retired: &mut RetiredTables) -> Option<Leaf> {
        let (level, way) = self.descend(first, 1);
        if level > 1 {
            return None;
        }
        let entry = way.at(1).table.entry(first, 1);
        // Acquire, AcqRel: as in `change`.
        let mut old = entry.load(Acquire);
        loop {
            let leaf = F::decoded(1, old)?;
            match entry.compare_exchange(old, 0, AcqRel, Acquire) {
                Ok(_) => {
                    if leaf.mark == Mark::Backed {
                        self.put_reserved(way.at(1).record);
                    }
                    self.let_go(first, 1, &way, retired);
                    F::publish();
                    return Some(leaf);
                }
                Err(found) => old = found,
            }
        }
    }

    /// Divides a page's large entry, if any, and returns true if it did. If another CPU is dividing
    /// it, waits for that: for the writing of a table.
    pub(crate) fn divide_in_place(&self, page: u64) -> bool {
        let (level, way) = self.descend(page, 1);
        if level > 1 {
            return false;
        }
        let entry = way.at(1).table.entry(page, 1);
        // Acquire: as in `descend`; a CPU that finds the table finds its entries.
        let mut old = entry.load(Acquire);
        let leaf = loop {
            let Some(leaf) = F::decoded(1, old) else { return false };
            if leaf.mark == Mark::Dividing {
                relax();
                old = entry.load(Acquire);
                continue;
            }
            let dividing = F::leaf(1, Leaf { mark: Mark::Dividing, ..leaf });
            // Relaxed: only decides which CPU writes the table. Acquire on failure: as above.
            match entry.compare_exchange(old, dividing, Relaxed, Acquire) {
                Ok(_) => {
                    old = dividing;
                    break leaf;
                }
                Err(found) => old = found,
            }
        };
        let reserved = if leaf.mark == Mark::Backed { way.at(1).record.reserve.pop(&self.memory) } else { None };
        let Some(table) = reserved.or_else(|| self.memory.get().ok()) else {
            debug_assert!(leaf.mark != Mark::Backed, "a table was set aside");
            Self::change(1, entry, |now| Leaf { mark: leaf.mark, ..now });
            return false;
        };
        loop {
            // Always translates: the entry is removed only while the slots of all its pages are
            // held, so while none of them is divided. Otherwise the table would leak.
            let Some(now) = F::decoded(1, old) else { return false };
            self.fill(table, 1, Leaf { mark: Mark::Plain, ..now });
            // AcqRel: releases the table. Fails if a CPU has set a bit meanwhile, which all entries
            // must have.
            match entry.compare_exchange(old, F::table(table), AcqRel, Acquire) {
                Ok(_) => break,
                Err(found) => old = found,
            }
        }
        F::publish();
        true
    }

    /// Fills a table with entries that together say the same as one of `level`. No CPU sees it yet.
    pub(crate) fn fill(&self, table: FrameNumber, level: usize, leaf: Leaf) {
        let node = self.node(table);
        for (entry, index) in node.table.entries().iter().zip(0..) {
            let frame = FrameNumber(leaf.frame.0 + index * span(level - 1));
            // Relaxed: published with the table.
            entry.store(F::leaf(level - 1, Leaf { frame, ..leaf }), Relaxed);
        }
        node.record.set_held(FAN_OUT as u32);
    }
}
