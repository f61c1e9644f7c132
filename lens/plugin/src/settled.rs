// SPDX-License-Identifier: GPL-2.0-or-later
//! Accesses that a CPU of a machine may repeat without changing the model, in a small table for
//! each CPU. Most accesses finish there, before their address is translated.
//!
//! An entry is valid until another CPU's access disturbs it, or this CPU evicts its line; the model
//! reports both. An entry has the address by which its line was reached, but the model names a line
//! by its own number. So the place of an entry follows from the low bits that both have in common.
//!
//! An emulator of our own reads the tables in translated code, by the layout of [`Table`]
//! (`lens/emulator/patches`). A CPU finds its table only during its turn, and otherwise an empty
//! one whose turn is over.

use faultline_coherence::{Disturbance, Grant, LINE_BYTES};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Number of entries for each CPU; a turn touches a few hundred lines. `SETTLED_ENTRIES` in the
/// emulator.
const ENTRIES: usize = 1024;

/// Low bits of a line's number that equal those of its address in the direct map, which is located
/// in chunks of 2 MiB.
const COMMON_BITS: u32 = 15;

/// Shift of the hash in [`place`].
const HASH_SHIFT: u32 = 5;

/// Marks an empty entry. Line numbers are addresses divided by 64, so none is this large.
const NOTHING: u64 = u64::MAX;

/// Bit of a name that is no virtual address: translated code never looks for it.
const NO_ADDRESS: u64 = 1 << 62;

/// The name of a place that CPUs reach at addresses which may lead elsewhere later.
pub(crate) fn name_of_place(place: u64) -> u64 {
    place | NO_ADDRESS
}

/// The words of a CPU's turn and counts, which translated code reads and changes. The order is the
/// emulator's.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// The CPU's clock during its turn.
    pub(crate) clock: Cell<u64>,
    /// The clock at which its turn is to end.
    pub(crate) limit: Cell<u64>,
    /// See [`Counter`](crate::counter::Counter).
    pub(crate) instructions: Cell<u64>,
    pub(crate) accesses: Cell<u64>,
    /// The CPU's last block was code of user space: 0 or 1.
    pub(crate) is_user: Cell<u32>,
}

/// A CPU's words, then its entries.
#[repr(C)]
#[derive(Debug)]
struct Table {
    words: Words,
    entries: [Entry; ENTRIES],
}

#[repr(C)]
#[derive(Debug)]
struct Entry {
    /// Number of the line by the address of the access.
    name: Cell<u64>,
    /// Bytes that the CPU may not read or write.
    unreadable: Cell<u64>,
    unwritable: Cell<u64>,
    /// The model's record of written bytes; `None` if none may be written.
    written: Cell<Option<&'static Cell<u64>>>,
}

impl Entry {
    const fn empty() -> Self {
        Entry {
            name: Cell::new(NOTHING),
            unreadable: Cell::new(!0),
            unwritable: Cell::new(!0),
            written: Cell::new(None),
        }
    }

    fn clear(&self) {
        self.name.set(NOTHING);
        self.unreadable.set(!0);
        self.unwritable.set(!0);
    }
}

impl Table {
    /// An empty table. Never freed: translated code uses it until the process ends.
    fn leak() -> &'static Table {
        Box::leak(Box::new(Table { words: Words::default(), entries: [const { Entry::empty() }; ENTRIES] }))
    }
}

/// The place where the emulator finds a CPU's entries; null if it has none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot(*mut *mut c_void);

impl Slot {
    /// No place.
    const NONE: Slot = Slot(null_mut());

    /// # Safety
    /// `place` must be valid, for this type's only writes, until the process ends.
    pub(crate) unsafe fn new(place: *mut *mut c_void) -> Self {
        Slot(place)
    }

    #[inline]
    fn set(self, table: &'static Table) {
        if !self.0.is_null() {
            // SAFETY: as promised to `new`.
            unsafe { self.0.write((&raw const table.entries).cast_mut().cast()) };
        }
    }
}

/// The tables of all CPUs.
#[derive(Debug)]
pub(crate) struct Settled {
    tables: Box<[&'static Table]>,
    /// Stays empty.
    of_no_cpu: &'static Table,
    slots: Box<[Slot]>,
    /// The lines of all entries in the model, one CPU after the other.
    lines: Box<[u64]>,
}

impl Settled {
    /// Empty tables.
    pub(crate) fn new(cpus: usize) -> Self {
        Settled {
            tables: (0..cpus).map(|_| Table::leak()).collect(),
            of_no_cpu: Table::leak(),
            slots: vec![Slot::NONE; cpus].into(),
            lines: vec![NOTHING; cpus * ENTRIES].into(),
        }
    }

    /// Shows the emulator a CPU's table from now on, during the CPU's turns.
    pub(crate) fn set_slot(&mut self, cpu: usize, slot: Slot) {
        self.slots[cpu] = slot;
        self.hide(cpu);
    }

    /// A CPU's words.
    pub(crate) fn words(&self, cpu: usize) -> &'static Words {
        &self.tables[cpu].words
    }

    /// Shows a CPU its table, and returns its words.
    pub(crate) fn show(&self, cpu: usize) -> &'static Words {
        self.slots[cpu].set(self.tables[cpu]);
        &self.tables[cpu].words
    }

    /// Hides a CPU's table.
    pub(crate) fn hide(&self, cpu: usize) {
        self.slots[cpu].set(self.of_no_cpu);
    }

    /// The words that no CPU uses.
    pub(crate) fn of_no_cpu(&self) -> &'static Words {
        &self.of_no_cpu.words
    }

    /// The model's line of an access of a CPU to `size` bytes (at least 1) at an address, if it is
    /// settled. `address`: the true address if it always denotes the same byte of the same line, or
    /// else [`name_of_place`].
    #[inline]
    pub(crate) fn line(&self, cpu: usize, address: u64, size: u8, writes: bool) -> Option<u64> {
        let name = address / LINE_BYTES;
        let entry = &self.tables.get(cpu)?.entries[place(name)];
        let bytes = bytes(address, size)?;
        let denied = if writes { entry.unwritable.get() } else { entry.unreadable.get() };
        if entry.name.get() != name || bytes & denied != 0 {
            return None;
        }
        if writes && let Some(written) = entry.written.get() {
            written.set(written.get() | bytes);
        }
        Some(self.lines[cpu * ENTRIES + place(name)])
    }

    /// Enters the accesses that a CPU may make to an address's line. `line`: its number in the
    /// model.
    #[inline]
    pub(crate) fn put(&mut self, cpu: usize, address: u64, line: u64, grant: Grant<'static>) {
        let name = address / LINE_BYTES;
        // Otherwise the line's number would not lead to the entry, or an access that begins in the
        // line before and ends in this one would.
        if place(name) == place(line) && place(name) != place(name.wrapping_sub(1)) {
            let entry = &self.tables[cpu].entries[place(name)];
            entry.name.set(name);
            entry.unreadable.set(!grant.readable());
            entry.unwritable.set(!grant.writable());
            entry.written.set(grant.written());
            self.lines[cpu * ENTRIES + place(name)] = line;
        }
    }

    /// The entry of a CPU with that line of the model.
    fn entry(&mut self, cpu: usize, line: u64) -> Option<(&'static Entry, &mut u64)> {
        let entered = &mut self.lines[cpu * ENTRIES + place(line)];
        (*entered == line).then_some((&self.tables[cpu].entries[place(line)], entered))
    }

    /// Removes a line whose copy the model has evicted, or about which the model has learnt more
    /// since.
    pub(crate) fn forget(&mut self, cpu: usize, line: u64) {
        if let Some((entry, line)) = self.entry(cpu, line) {
            entry.clear();
            *line = NOTHING;
        }
    }

    /// Restricts other CPUs' accesses to a line that an access of a CPU has disturbed.
    pub(crate) fn disturb(&mut self, by: usize, disturbance: &Disturbance) {
        let others = match disturbance.cpu {
            Some(cpu) => usize::from(cpu)..usize::from(cpu) + 1,
            None => 0..self.tables.len(),
        };
        for cpu in others.filter(|&cpu| cpu != by) {
            match self.entry(cpu, disturbance.line) {
                Some(_) if disturbance.is_lost => self.forget(cpu, disturbance.line),
                Some((entry, _)) => entry.unwritable.set(!0),
                None => {}
            }
        }
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.lines.fill(NOTHING);
        self.tables.iter().flat_map(|table| &table.entries).for_each(Entry::clear);
    }
}

/// The bytes of a line, one bit each, that an access touches; `None` if it crosses the line's end.
#[inline]
pub(crate) fn bytes(address: u64, size: u8) -> Option<u64> {
    let offset = address % LINE_BYTES;
    let last = offset + u64::from(size) - 1;
    (last < LINE_BYTES).then(|| !0 << offset & !0 >> (LINE_BYTES - 1 - last))
}

/// The index of a line's entry, as in the emulator. Hashed, so that the first lines of pages do not
/// collide.
#[inline]
fn place(line: u64) -> usize {
    const { assert!(ENTRIES.ilog2() + HASH_SHIFT <= COMMON_BITS) };
    (line ^ line >> HASH_SHIFT) as usize % ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_coherence::{Access, Context, Cpu, Kind, Machine, Topology};

    const LINE: u64 = 0x123_4567;
    const NAME: u64 = 0xffff_8880_0000_0000 + (LINE << 6);

    /// A CPU that has written the first four bytes of a line, with an entry for it, on a machine
    /// with another CPU.
    fn settled() -> (Settled, Cpu<'static>) {
        let machine: &'static Machine = Box::leak(Box::new(Machine::new(Topology::new(2, 1, 2).unwrap())));
        let mut cpu = machine.cpu(0);
        let (kind, context) = (Kind::Write, Context::Kernel);
        cpu.access(&Access { address: LINE << 6, size: 4, kind, site: 1, context, contents: false });
        let mut settled = Settled::new(2);
        settled.put(0, NAME, LINE, cpu.grant(LINE));
        (settled, cpu)
    }

    fn has(settled: &mut Settled, cpu: usize, address: u64, size: u8, writes: bool) -> bool {
        let found = settled.line(cpu, address, size, writes);
        assert!(found.is_none_or(|line| line == LINE));
        found.is_some()
    }

    fn disturb(settled: &mut Settled, by: usize, cpu: Option<u16>, is_lost: bool) {
        settled.disturb(by, &Disturbance { line: LINE, cpu, is_lost });
    }

    #[test]
    fn only_an_owner_may_read_and_write_its_line() {
        let (mut settled, _) = settled();
        assert!(has(&mut settled, 0, NAME + 4, 4, false) && has(&mut settled, 0, NAME, 64, true));
        assert!(!has(&mut settled, 0, NAME + 64, 1, false) && !has(&mut settled, 1, NAME, 1, false));
    }

    #[test]
    fn what_reaches_beyond_the_line_is_not_settled() {
        let (mut settled, _) = settled();
        assert!(has(&mut settled, 0, NAME + 0x38, 8, true) && !has(&mut settled, 0, NAME + 0x39, 8, true));
        assert!(!has(&mut settled, 0, NAME, 128, false) && !has(&mut settled, 0, NAME + 8, 64, false));
        assert!(!has(&mut settled, 0, NAME + 0x3f, 2, false));
    }

    #[test]
    fn an_evicted_line_is_forgotten_and_others_stay() {
        let (mut settled, _) = settled();
        settled.forget(0, LINE + ENTRIES as u64);
        settled.forget(1, LINE);
        assert!(has(&mut settled, 0, NAME, 1, true));
        settled.forget(0, LINE);
        assert!(!has(&mut settled, 0, NAME, 1, false));
    }

    #[test]
    fn others_take_what_the_model_says() {
        for cpu in [Some(0), None] {
            let (mut settled, _) = settled();
            disturb(&mut settled, 0, cpu, true);
            assert!(has(&mut settled, 0, NAME, 1, true), "by its own access");
            disturb(&mut settled, 1, cpu, false);
            assert!(has(&mut settled, 0, NAME, 1, false) && !has(&mut settled, 0, NAME, 1, true));
            disturb(&mut settled, 1, cpu, true);
            assert!(!has(&mut settled, 0, NAME, 1, false));
        }
    }

    #[test]
    fn translated_code_finds_the_words_and_the_entries_in_their_places() {
        assert_eq!((size_of::<Words>(), size_of::<Entry>(), std::mem::offset_of!(Table, entries)), (64, 32, 64));
        assert_eq!(ENTRIES, 1024);
        assert_eq!(
            [0, 8, 16, 24, 32],
            [
                std::mem::offset_of!(Words, clock),
                std::mem::offset_of!(Words, limit),
                std::mem::offset_of!(Words, instructions),
                std::mem::offset_of!(Words, accesses),
                std::mem::offset_of!(Words, is_user),
            ]
        );
        assert_eq!(
            [0, 8, 16, 24],
            [
                std::mem::offset_of!(Entry, name),
                std::mem::offset_of!(Entry, unreadable),
                std::mem::offset_of!(Entry, unwritable),
                std::mem::offset_of!(Entry, written),
            ]
        );
    }

    #[test]
    fn a_cpu_finds_its_table_only_while_it_is_shown() {
        let (mut settled, _) = settled();
        let mut found = null_mut();
        // SAFETY: the tables are not used after the test.
        settled.set_slot(0, unsafe { Slot::new(&raw mut found) });
        let entries = |table: &'static Table| (&raw const table.entries).cast_mut().cast::<c_void>();
        assert_eq!(found, entries(settled.of_no_cpu));
        settled.show(0);
        assert_eq!(found, entries(settled.tables[0]));
        settled.show(1);
        settled.hide(0);
        assert_eq!(found, entries(settled.of_no_cpu));
    }

    #[test]
    fn an_access_across_lines_meets_the_entry_of_its_last_line_nowhere() {
        for name in [0x8000, 0x1_2345_8000] {
            let (mut settled, cpu) = settled();
            assert_eq!(place(name), place(name - 1), "the two share a place");
            settled.put(0, name << 6, name, cpu.grant(LINE));
            assert!(settled.line(0, name << 6, 1, false).is_none());
        }
    }

    #[test]
    fn a_line_whose_number_leads_elsewhere_than_its_address_is_never_settled() {
        let (mut settled, cpu) = settled();
        settled.put(0, 0x40, LINE, cpu.grant(LINE));
        assert!(!has(&mut settled, 0, 0x40, 1, false));
    }
}
