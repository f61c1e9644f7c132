//! The lines that all CPUs share, found by number. A group has the 64 lines of a base page, because
//! a CPU that touches one line soon touches its neighbours. Groups are found by a table for each
//! 2 MiB of memory, without a search: memory is touched page after page.

use crate::line::{Bytes, Line};
use crate::word::Version;
use std::array;
use std::cell::{Cell, OnceCell, RefCell};

/// Number of buckets. A guest of 4 GiB has 2¹¹ regions, and few others.
const BUCKETS: usize = 1 << 12;

/// Number of groups in a region.
const REGION_GROUPS: usize = 512;

type Link = OnceCell<Box<Region>>;

/// The groups of 2 MiB of memory.
#[derive(Debug)]
struct Region {
    number: u64,
    groups: [OnceCell<Box<Group>>; REGION_GROUPS],
    next: Link,
}

/// All lines. Chains of regions only grow.
#[derive(Debug)]
pub(crate) struct LineTable {
    buckets: Box<[Link]>,
}

impl LineTable {
    pub(crate) fn new() -> Self {
        LineTable { buckets: (0..BUCKETS).map(|_| Link::new()).collect() }
    }

    /// The group of the line with that number. Creates it if needed.
    pub(crate) fn group(&self, line: u64) -> &Group {
        let group = Group::number_of(line);
        let (number, place) = (group / REGION_GROUPS as u64, group as usize % REGION_GROUPS);
        let mut link = &self.buckets[bucket(number)];
        loop {
            let new = || Box::new(Region { number, groups: [const { OnceCell::new() }; _], next: Link::new() });
            let region = link.get_or_init(new);
            if region.number == number {
                return region.groups[place].get_or_init(Box::default);
            }
            link = &region.next;
        }
    }
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming, vol. 3, §6.4) with the golden
/// ratio's 64 bits.
fn bucket(number: u64) -> usize {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

/// Number of lines in a group.
pub(crate) const LINES: usize = 64;

/// The lines of a page: created at the first touch, and never moved.
#[derive(Debug)]
pub(crate) struct Group {
    lines: [Line; LINES],
    /// Created when one of the lines first changes its version; most never need them.
    stamps: OnceCell<Box<[Stamps; LINES]>>,
    /// The page was reached through a mapping of user space.
    is_contents: Cell<bool>,
}

/// Untouched lines.
impl Default for Group {
    fn default() -> Self {
        Group { lines: array::from_fn(|_| Line::default()), stamps: OnceCell::new(), is_contents: Cell::new(false) }
    }
}

impl Group {
    /// The group number of a line.
    pub(crate) fn number_of(line: u64) -> u64 {
        line / LINES as u64
    }

    /// The line with that number, which must belong to this group.
    #[inline]
    pub(crate) fn line(&self, number: u64) -> &Line {
        &self.lines[number as usize % LINES]
    }

    /// Records that bytes of a line were written in a version, which has ended.
    pub(crate) fn stamp(&self, number: u64, bytes: Bytes, version: Version) {
        let all = self.stamps.get_or_init(|| Box::new(array::from_fn(|_| Stamps::default())));
        all[number as usize % LINES].set(bytes, version);
    }

    /// Bytes of a line written after a version, without the current one.
    pub(crate) fn stamped_since(&self, number: u64, version: Version) -> Bytes {
        self.stamps.get().map_or(0, |all| all[number as usize % LINES].since(version))
    }

    /// Records that the page was reached through a mapping of user space.
    pub(crate) fn mark_contents(&self) {
        self.is_contents.set(true);
    }

    /// True if the page was reached through a mapping of user space.
    pub(crate) fn is_contents(&self) -> bool {
        self.is_contents.get()
    }
}

/// Bytes of a line by the version in which they were last written, without the current version.
/// Distinguishes true from false sharing. Each byte is in one entry at most.
#[derive(Debug, Default)]
struct Stamps {
    /// The last entry. Most lines have no other, because their writers repeat themselves.
    last: Cell<Stamp>,
    /// The others, in the order of their versions.
    before: RefCell<Vec<Stamp>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stamp {
    version: Version,
    bytes: Bytes,
}

impl Stamps {
    /// Records that `bytes` were written in `version`, later than all before.
    fn set(&self, bytes: Bytes, version: Version) {
        let last = self.last.replace(Stamp { version, bytes });
        let before = &mut *self.before.borrow_mut();
        before.retain_mut(|older| {
            older.bytes &= !bytes;
            older.bytes != 0
        });
        if last.bytes & !bytes != 0 {
            before.push(Stamp { bytes: last.bytes & !bytes, ..last });
        }
    }

    /// Bytes written after `version`.
    fn since(&self, version: Version) -> Bytes {
        let last = self.last.get();
        if last.version <= version {
            return 0;
        }
        let before = self.before.borrow();
        let later = before.iter().rev().take_while(|older| older.version > version);
        later.fold(last.bytes, |bytes, older| bytes | older.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_leads_to_the_same_line_and_others_elsewhere() {
        let table = LineTable::new();
        let line = |number| std::ptr::from_ref(table.group(number).line(number));
        // Within regions, in neighbouring ones, and in some that share a bucket.
        let numbers: Vec<u64> = (0..1_000_000).step_by(7).chain((0..10_000).map(|far| far << 30 | 5)).collect();
        let lines: Vec<_> = numbers.iter().map(|&number| line(number)).collect();
        for (&number, &before) in numbers.iter().zip(&lines) {
            assert!(std::ptr::eq(line(number), before));
        }
        let mut distinct = lines.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), lines.len());
    }

    #[test]
    fn bytes_keep_the_version_of_their_last_writing() {
        let stamps = Stamps::default();
        stamps.set(0xFF << 56 | 1, 3);
        stamps.set(1, 5);
        assert_eq!((stamps.since(0), stamps.since(3), stamps.since(5)), (0xFF << 56 | 1, 1, 0));
        (6..100).for_each(|version| stamps.set(1 << (version % 2), version));
        assert_eq!((stamps.since(2), stamps.since(97), stamps.since(98)), (0xFF << 56 | 3, 3, 2));
        assert_eq!(stamps.before.borrow().len(), 2, "as many as there are versions that bytes have");
    }
}
