// SPDX-License-Identifier: GPL-2.0-or-later
//! What the CPU whose turn it is may do to memory again without changing anything in the model, since nobody else runs meanwhile: a small
//! table at which most accesses end, before their address is looked at any closer.

use faultline_coherence::LINE_BYTES;

/// Entries. A turn touches a few hundred lines; 8 KiB stay in the host's first-level cache beside everything else.
const ENTRIES: usize = 256;

/// Bytes of a cache line, as bits.
type Bytes = u64;

/// The table.
#[derive(Debug)]
pub(crate) struct Settled {
    entries: Box<[Entry; ENTRIES]>,
    /// Entries of earlier turns are void.
    turn: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    line: u64,
    readable: Bytes,
    writable: Bytes,
    turn: u32,
}

impl Settled {
    /// Nothing is settled.
    pub(crate) fn new() -> Self {
        Settled { entries: Box::new([Entry { line: 0, readable: 0, writable: 0, turn: 0 }; ENTRIES]), turn: 1 }
    }

    /// Whether an access to `size` bytes (1 at least) at an address is. `address`: its true one, or any other that names the same byte of the same line
    /// for as long as the turn lasts.
    #[inline]
    pub(crate) fn has(&self, address: u64, size: u8, writes: bool) -> bool {
        let (line, offset) = (address / LINE_BYTES, address % LINE_BYTES);
        let entry = &self.entries[slot(line)];
        let settled = if writes { entry.writable } else { entry.readable };
        // The access's bytes are the run from its first bit on; one that is too long for the line shows by its last.
        let last = offset + u64::from(size) - 1;
        entry.line == line
            && entry.turn == self.turn
            && last < LINE_BYTES
            && (!0 << offset & !0 >> (LINE_BYTES - 1 - last)) & !settled == 0
    }

    /// Those bytes of an address's line are settled until the turn's end.
    #[inline]
    pub(crate) fn put(&mut self, address: u64, (readable, writable): (Bytes, Bytes)) {
        let line = address / LINE_BYTES;
        self.entries[slot(line)] = Entry { line, readable, writable, turn: self.turn };
    }

    /// A turn is over.
    pub(crate) fn clear(&mut self) {
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 {
            *self = Settled::new();
        }
    }
}

/// Folded, so that the first lines of pages don't all meet in a few places.
#[inline]
fn slot(line: u64) -> usize {
    (line ^ line >> 6 ^ line >> 14) as usize % ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_settled_by_kind_until_the_turn_ends() {
        let mut settled = Settled::new();
        assert!(!settled.has(0x1c0, 1, false));
        settled.put(0x1c8, (0xFF, 0x0F));
        assert!(settled.has(0x1c4, 4, false) && !settled.has(0x1c4, 4, true) && settled.has(0x1c0, 2, true));
        assert!(!settled.has(0x1c4, 8, false) && !settled.has(0x200, 1, false));
        settled.clear();
        assert!(!settled.has(0x1c0, 1, false));
    }

    #[test]
    fn what_reaches_beyond_the_line_is_not_settled() {
        let mut settled = Settled::new();
        settled.put(0x40, (!0, !0));
        assert!(settled.has(0x78, 8, true) && !settled.has(0x79, 8, true) && settled.has(0x40, 64, true));
        assert!(!settled.has(0x40, 128, false) && !settled.has(0x48, 64, false) && !settled.has(0x7f, 2, false));
    }

    #[test]
    fn turns_that_are_numbered_alike_again_are_not_taken_for_one_another() {
        let mut settled = Settled { turn: u32::MAX, ..Settled::new() };
        settled.put(0x40, (1, 1));
        settled.clear();
        assert!(!settled.has(0x40, 1, false));
        assert_eq!(settled.turn, 1);
    }
}
