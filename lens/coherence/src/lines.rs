//! The lines that all CPUs share, found by number without a lock: a hash table of groups. A group
//! has the 64 lines of a base page, because a CPU that touches one line soon touches its
//! neighbours.

use crate::line::{Bytes, Line};
use crate::word::Version;
use std::array;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Number of buckets. A guest of 4 GiB has 2²⁰ groups, so if all are touched, chains have 16
/// groups. Only a CPU's first access to a line walks a chain.
const BUCKETS: usize = 1 << 16;

type Link = OnceLock<Box<Chained>>;

#[derive(Debug)]
struct Chained {
    group: Group,
    next: Link,
}

/// All lines. Chains of groups only grow.
#[derive(Debug)]
pub(crate) struct LineTable {
    buckets: Box<[Link]>,
    nowhere: Group,
}

impl LineTable {
    pub(crate) fn new() -> Self {
        LineTable { buckets: (0..BUCKETS).map(|_| Link::new()).collect(), nowhere: Group::new(u64::MAX) }
    }

    /// The group of the line with that number. Creates it if needed.
    pub(crate) fn group(&self, line: u64) -> &Group {
        let number = Group::number_of(line);
        let mut link = &self.buckets[bucket(number)];
        loop {
            // Another CPU may insert its group here first; then ours goes further down the chain.
            let chained = link.get_or_init(|| Box::new(Chained { group: Group::new(number), next: Link::new() }));
            if chained.group.number() == number {
                return &chained.group;
            }
            link = &chained.next;
        }
    }

    /// A group of lines that do not exist, for callers that need a group.
    pub(crate) fn nowhere(&self) -> &Group {
        &self.nowhere
    }
}

/// Frees a chain link by link: recursive drops of a long chain would overflow the stack.
impl Drop for LineTable {
    fn drop(&mut self) {
        for bucket in &mut self.buckets {
            let mut rest = bucket.take();
            while let Some(mut chained) = rest {
                rest = chained.next.take();
            }
        }
    }
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming, vol. 3, §6.4) with the golden
/// ratio's 64 bits.
fn bucket(number: u64) -> usize {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

/// Number of lines in a group.
const LINES: usize = 64;

/// The lines of a page: created at the first touch, and never moved.
#[derive(Debug)]
pub(crate) struct Group {
    number: u64,
    lines: [Line; LINES],
    /// Created when one of the lines first changes its version; the stamps of each line likewise.
    /// Most lines never need them.
    stamps: OnceLock<Box<[OnceLock<Box<Stamps>>; LINES]>>,
    /// The page was reached through a mapping of user space.
    is_contents: AtomicBool,
}

impl Group {
    /// A group of untouched lines.
    pub(crate) fn new(number: u64) -> Self {
        Group {
            number,
            lines: array::from_fn(|_| Line::default()),
            stamps: OnceLock::new(),
            is_contents: AtomicBool::new(false),
        }
    }

    /// The group number of a line.
    pub(crate) fn number_of(line: u64) -> u64 {
        line / LINES as u64
    }

    /// The group's number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The line with that number, which must belong to this group.
    #[inline]
    pub(crate) fn line(&self, number: u64) -> &Line {
        &self.lines[number as usize % LINES]
    }

    /// The versions in which a line's bytes were written; `None` if its version never changed.
    pub(crate) fn stamps(&self, number: u64) -> Option<&Stamps> {
        self.stamps.get()?[number as usize % LINES].get().map(|stamps| &**stamps)
    }

    /// As [`Group::stamps`], but creates them if needed.
    pub(crate) fn stamps_or_new(&self, number: u64) -> &Stamps {
        let all = self.stamps.get_or_init(|| Box::new([const { OnceLock::new() }; LINES]));
        all[number as usize % LINES].get_or_init(|| Box::new(Stamps::new()))
    }

    /// Records that the page was reached through a mapping of user space.
    pub(crate) fn mark_contents(&self) {
        // Relaxed: the flag is read at the end, and no other data depends on it.
        self.is_contents.store(true, Relaxed);
    }

    /// True if the page was reached through a mapping of user space.
    pub(crate) fn is_contents(&self) -> bool {
        // Relaxed: see `mark_contents`.
        self.is_contents.load(Relaxed)
    }
}

/// For each byte of a line, the version in which it was last written, without the current version;
/// 0 is never. Distinguishes true from false sharing.
///
/// Relaxed throughout: the owner of the line writes. A CPU that races with it misclassifies the
/// sharing of one transfer at worst.
#[derive(Debug)]
pub(crate) struct Stamps([AtomicU64; 64]);

impl Stamps {
    /// Stamps of a line of which no byte was written.
    pub(crate) fn new() -> Self {
        Stamps(array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Records that `bytes` were written in `version`.
    pub(crate) fn set(&self, mut bytes: Bytes, version: Version) {
        while bytes != 0 {
            // Relaxed: see the struct.
            self.0[bytes.trailing_zeros() as usize].store(version, Relaxed);
            bytes &= bytes - 1;
        }
    }

    /// Bytes written after `version`.
    pub(crate) fn since(&self, version: Version) -> Bytes {
        self.0.iter().enumerate().fold(0, |bytes, (byte, stamp)| {
            // Relaxed: see the struct.
            bytes | u64::from(stamp.load(Relaxed) > version) << byte
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_leads_to_the_same_line_and_others_elsewhere() {
        let table = LineTable::new();
        let line = |number| std::ptr::from_ref(table.group(number).line(number));
        let lines: Vec<_> = (0..1_000_000).step_by(7).map(line).collect();
        for (index, number) in (0..1_000_000).step_by(7).enumerate() {
            assert!(std::ptr::eq(line(number), lines[index]));
        }
        let mut distinct = lines.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), lines.len());
    }

    #[test]
    fn threads_that_race_for_a_group_get_the_same() {
        for round in 0..200 {
            let table = LineTable::new();
            let found: Vec<usize> = std::thread::scope(|scope| {
                let racers: Vec<_> =
                    (0..4).map(|_| scope.spawn(|| std::ptr::from_ref(table.group(round)) as usize)).collect();
                racers.into_iter().map(|racer| racer.join().unwrap()).collect()
            });
            assert!(found.iter().all(|&group| group == found[0]));
        }
    }

    #[test]
    fn bytes_keep_the_version_of_their_last_writing() {
        let stamps = Stamps::new();
        stamps.set(0xFF << 56 | 1, 3);
        stamps.set(1, 5);
        assert_eq!((stamps.since(0), stamps.since(3), stamps.since(5)), (0xFF << 56 | 1, 1, 0));
    }
}
