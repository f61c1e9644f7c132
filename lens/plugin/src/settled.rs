// SPDX-License-Identifier: GPL-2.0-or-later
//! Accesses that the CPU whose turn it is may repeat without changing the model, because no other CPU runs meanwhile. A
//! small table in which most accesses finish, before their address is translated.

use faultline_coherence::LINE_BYTES;

/// Number of entries. A turn touches a few hundred lines. The table's 8 KiB leave room in the host's first-level cache.
const ENTRIES: usize = 256;

/// Number of marks, of which each stands for many lines of the model. A turn touches a few hundred of them, so that few
/// lines share a mark.
const MARKS: usize = 2048;

/// Bytes of a cache line, as bits.
type Bytes = u64;

/// The table.
#[derive(Debug)]
pub(crate) struct Settled {
    entries: Box<[Entry; ENTRIES]>,
    /// The turn in which a line of the model with that mark was last entered. An entry has the address by which its line
    /// was reached, but the model names a line that it evicts by its own number.
    marks: Box<[u32; MARKS]>,
    /// Entries of earlier turns are invalid.
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
    /// An empty table.
    pub(crate) fn new() -> Self {
        Settled {
            entries: Box::new([Entry { line: 0, readable: 0, writable: 0, turn: 0 }; ENTRIES]),
            marks: Box::new([0; MARKS]),
            turn: 1,
        }
    }

    /// Whether an access to `size` bytes (at least 1) at an address is settled. `address` is its true one, or any other
    /// that denotes the same byte of the same line for the whole turn.
    #[inline]
    pub(crate) fn has(&self, address: u64, size: u8, writes: bool) -> bool {
        let (line, offset) = (address / LINE_BYTES, address % LINE_BYTES);
        let entry = &self.entries[slot(line)];
        let settled = if writes { entry.writable } else { entry.readable };
        // The access covers consecutive bytes from `offset` on. If it crosses the end of the line, its last byte shows
        // it.
        let last = offset + u64::from(size) - 1;
        entry.line == line
            && entry.turn == self.turn
            && last < LINE_BYTES
            && (!0 << offset & !0 >> (LINE_BYTES - 1 - last)) & !settled == 0
    }

    /// Enters these bytes of an address's line as settled until the end of the turn. `line`: its number in the model.
    #[inline]
    pub(crate) fn put(&mut self, address: u64, line: u64, (readable, writable): (Bytes, Bytes)) {
        let name = address / LINE_BYTES;
        self.entries[slot(name)] = Entry { line: name, readable, writable, turn: self.turn };
        self.marks[mark(line)] = self.turn;
    }

    /// The model has evicted the line with that number, which is rarely one of this turn. If it may be, nothing is
    /// settled any more.
    pub(crate) fn forget(&mut self, line: u64) {
        if self.marks[mark(line)] == self.turn {
            self.clear();
        }
    }

    /// A turn is over.
    pub(crate) fn clear(&mut self) {
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 {
            *self = Settled::new();
        }
    }
}

/// Hashed, so that the first lines of pages do not collide in a few places.
#[inline]
fn slot(line: u64) -> usize {
    (line ^ line >> 6 ^ line >> 14) as usize % ENTRIES
}

/// Hashed, as lines that evict each other have the same low bits (Knuth, The Art of Computer Programming, vol. 3, §6.4).
#[inline]
fn mark(line: u64) -> usize {
    (line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - MARKS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_settled_by_kind_until_the_turn_ends() {
        let mut settled = Settled::new();
        assert!(!settled.has(0x1c0, 1, false));
        settled.put(0x1c8, 7, (0xFF, 0x0F));
        assert!(settled.has(0x1c4, 4, false) && !settled.has(0x1c4, 4, true) && settled.has(0x1c0, 2, true));
        assert!(!settled.has(0x1c4, 8, false) && !settled.has(0x200, 1, false));
        settled.clear();
        assert!(!settled.has(0x1c0, 1, false));
    }

    #[test]
    fn what_reaches_beyond_the_line_is_not_settled() {
        let mut settled = Settled::new();
        settled.put(0x40, 1, (!0, !0));
        assert!(settled.has(0x78, 8, true) && !settled.has(0x79, 8, true) && settled.has(0x40, 64, true));
        assert!(!settled.has(0x40, 128, false) && !settled.has(0x48, 64, false) && !settled.has(0x7f, 2, false));
    }

    #[test]
    fn what_the_model_evicts_is_not_settled_any_more_and_the_rest_mostly_is() {
        let mut settled = Settled::new();
        let put = |settled: &mut Settled| (0..100).for_each(|line| settled.put(line * 64, 5000 + line, (!0, !0)));
        let left = |settled: &Settled| (0..100).filter(|line| settled.has(line * 64, 8, true)).count();
        put(&mut settled);
        settled.forget(5003);
        assert!(!settled.has(3 * 64, 8, true));
        put(&mut settled);
        (1_000_000..1_000_010).for_each(|line| settled.forget(line));
        assert_eq!(left(&settled), 100);
    }

    #[test]
    fn turns_that_are_numbered_alike_again_are_not_taken_for_one_another() {
        let mut settled = Settled { turn: u32::MAX, ..Settled::new() };
        settled.put(0x40, 1, (1, 1));
        settled.clear();
        assert!(!settled.has(0x40, 1, false));
        assert_eq!(settled.turn, 1);
    }
}
