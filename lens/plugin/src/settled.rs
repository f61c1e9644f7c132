// SPDX-License-Identifier: GPL-2.0-or-later
//! Accesses that a CPU of a machine may repeat without changing the model, in a small table for
//! each CPU. Most accesses finish there, before their address is translated.
//!
//! An entry is valid until another CPU's access disturbs it, or this CPU evicts its line; the model
//! reports both. An entry has the address by which its line was reached, but the model names a line
//! by its own number. So the place of an entry follows from the low bits that both have in common.

use faultline_coherence::{Disturbance, Grant, LINE_BYTES};

/// Number of entries for each CPU. A turn touches a few hundred lines.
const ENTRIES: usize = 1024;

/// Low bits of a line's number that equal those of its address in the direct map, which is located
/// in chunks of 2 MiB.
const COMMON_BITS: u32 = 15;

/// Marks an empty entry. Line numbers are addresses divided by 64, so none is this large.
const NOTHING: u64 = u64::MAX;

/// The tables of all CPUs.
#[derive(Debug)]
pub(crate) struct Settled {
    /// The entries of all CPUs, one CPU after the other.
    entries: Box<[Entry]>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Number of the line by the address of the access.
    name: u64,
    /// Number of the line in the model.
    line: u64,
    grant: Grant<'static>,
}

impl Entry {
    const EMPTY: Entry = Entry { name: NOTHING, line: NOTHING, grant: Grant::NOTHING };
}

impl Settled {
    /// Empty tables.
    pub(crate) fn new(cpus: usize) -> Self {
        Settled { entries: vec![Entry::EMPTY; cpus * ENTRIES].into() }
    }

    /// The model's line of an access of a CPU to `size` bytes (at least 1) at an address, if it is
    /// settled. `address` is the true address, or any other that always denotes the same byte of
    /// the same line.
    #[inline]
    pub(crate) fn line(&mut self, cpu: usize, address: u64, size: u8, writes: bool) -> Option<u64> {
        let (name, offset) = (address / LINE_BYTES, address % LINE_BYTES);
        let entry = self.entries.get_mut(place(cpu, name))?;
        // The access covers consecutive bytes from `offset` on, so its last byte shows if it
        // crosses the end of the line.
        let last = offset + u64::from(size) - 1;
        let is_settled = entry.name == name
            && last < LINE_BYTES
            && entry.grant.allows(!0 << offset & !0 >> (LINE_BYTES - 1 - last), writes);
        is_settled.then_some(entry.line)
    }

    /// Enters the accesses that a CPU may make to an address's line. `line`: its number in the
    /// model.
    #[inline]
    pub(crate) fn put(&mut self, cpu: usize, address: u64, line: u64, grant: Grant<'static>) {
        let name = address / LINE_BYTES;
        // Otherwise the line's number would not lead to the entry.
        if place(cpu, name) == place(cpu, line) {
            self.entries[place(cpu, name)] = Entry { name, line, grant };
        }
    }

    /// Removes a line whose copy the model has evicted, or about which the model has learnt more
    /// since.
    pub(crate) fn forget(&mut self, cpu: usize, line: u64) {
        let entry = &mut self.entries[place(cpu, line)];
        if entry.line == line {
            *entry = Entry::EMPTY;
        }
    }

    /// Restricts other CPUs' accesses to a line that an access of a CPU has disturbed.
    pub(crate) fn disturb(&mut self, by: usize, disturbance: &Disturbance) {
        let others = match disturbance.cpu {
            Some(cpu) => usize::from(cpu)..usize::from(cpu) + 1,
            None => 0..self.entries.len() / ENTRIES,
        };
        for cpu in others.filter(|&cpu| cpu != by) {
            let entry = &mut self.entries[place(cpu, disturbance.line)];
            if entry.line != disturbance.line {
                continue;
            }
            match disturbance.is_lost {
                true => *entry = Entry::EMPTY,
                false => entry.grant.end_writing(),
            }
        }
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(Entry::EMPTY);
    }
}

/// The index of a line's entry. Hashed, so that the first lines of pages do not collide.
#[inline]
fn place(cpu: usize, line: u64) -> usize {
    let common = line % (1 << COMMON_BITS);
    cpu * ENTRIES + (common ^ common >> 6) as usize % ENTRIES
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
    fn a_line_whose_number_leads_elsewhere_than_its_address_is_never_settled() {
        let (mut settled, cpu) = settled();
        settled.put(0, 0x40, LINE, cpu.grant(LINE));
        assert!(!has(&mut settled, 0, 0x40, 1, false));
    }
}
