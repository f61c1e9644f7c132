// SPDX-License-Identifier: GPL-2.0-or-later
//! The virtual addresses at which a machine's program reached lines that moved. Lines of programs are counted by their
//! place in the machine's memory; their names follow from the addresses that the program used.

use faultline_coherence::LINE_BYTES;
use std::collections::BTreeMap;

/// Virtual addresses of lines, by the lines' numbers.
#[derive(Debug, Default)]
pub(crate) struct Reached(BTreeMap<u64, u64>);

impl Reached {
    /// A byte with the number `place` was reached at `address`. The first address of a line is kept.
    pub(crate) fn note(&mut self, place: u64, address: u64) {
        self.0.entry(place / LINE_BYTES).or_insert(address & !(LINE_BYTES - 1));
    }

    /// The virtual address of the line's first byte.
    pub(crate) fn address(&self, line: u64) -> Option<u64> {
        self.0.get(&line).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_of_a_line_is_kept() {
        let mut reached = Reached::default();
        reached.note(0x1008, 0x7fff_0048);
        reached.note(0x1010, 0x5555_0050);
        assert_eq!((reached.address(0x40), reached.address(0x41)), (Some(0x7fff_0040), None));
    }
}
