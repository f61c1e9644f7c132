//! The transfers of one CPU, counted by line and by place in the code.

use crate::access::Context;
use crate::line::Bytes;
use crate::topology::Distance;
use faultline_lens_format::{LINE_BYTES, WORD_BYTES};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// Cause of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Read of a line that another CPU wrote.
    Read,
    /// Write to a line that other CPUs hold: an invalidation of their copies.
    Write,
}

/// The properties by which transfers are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Number of the line: its address divided by 64.
    pub line: u64,
    /// The instruction.
    pub site: u64,
    /// The cause.
    pub cause: Cause,
    /// True for a read-modify-write.
    pub atomic: bool,
    /// The code that made the access.
    pub context: Context,
    /// The distance.
    pub distance: Distance,
    /// The first byte touched.
    pub offset: u8,
    /// Number of bytes touched.
    pub size: u8,
    /// The program that the CPU ran: see [`Cpu::run`](crate::Cpu::run).
    pub program: u16,
}

/// Hashes the small fields as one word: hashing each separately would cost a round each.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let small =
            [self.cause as u8, self.atomic.into(), self.context as u8, self.distance as u8, self.offset, self.size];
        let small = small.into_iter().fold(self.program.into(), |word, field| word << 8 | u64::from(field));
        [self.line, self.site, small].into_iter().for_each(|word| state.write_u64(word));
    }
}

/// Transfers of one key, by sharing.
///
/// Sharing is *true* if the CPU, while it holds the line, touches a byte that another CPU wrote
/// since this CPU last held the line. If it takes the line to write, a byte that another CPU wrote
/// or read before it lost the line counts too.
///
/// Otherwise sharing is *false* (after Dubois et al., "The detection and elimination of useless
/// misses in multiprocessors", ISCA 1993), with one extension. If other CPUs also write what this
/// access touches, a touch within the CPU's next four transfers of the line counts as well, and
/// reads repeated by one instruction count as one of the four. So a lock and the data that it
/// protects do not share falsely for being on one line. If other CPUs do not write what this access
/// touches, and the CPU needs another transfer to touch a byte of theirs, then that transfer is
/// true sharing, and this one is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Transfers with true sharing.
    pub true_sharing: u64,
    /// Transfers with false sharing.
    pub false_sharing: u64,
    /// For each [word](WORD_BYTES) of the line: the transfers before which other CPUs had used it
    /// since this CPU held the line. They had written it; or read it, if this CPU takes the line
    /// from them to write.
    pub others: [u32; WORDS],
}

/// Words of a line.
pub const WORDS: usize = (LINE_BYTES / WORD_BYTES) as usize;

impl Count {
    /// All transfers.
    pub fn total(&self) -> u64 {
        self.true_sharing + self.false_sharing
    }

    /// Adds other transfers.
    pub fn add(&mut self, other: &Count) {
        self.true_sharing += other.true_sharing;
        self.false_sharing += other.false_sharing;
        self.others.iter_mut().zip(other.others).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    /// Adds a transfer before which others had used these bytes.
    fn add_others(&mut self, foreign: Bytes) {
        let mut left = foreign;
        while left != 0 {
            let word = u64::from(left.trailing_zeros()) / WORD_BYTES;
            let transfers = &mut self.others[word as usize];
            *transfers = transfers.saturating_add(1);
            left &= !(WORD << (word * WORD_BYTES));
        }
    }
}

/// The bytes of the first word.
const WORD: Bytes = (1 << WORD_BYTES) - 1;

/// Transfers by key.
///
/// Changes are collected and entered in batches. The counts are far apart in memory: a loop over
/// many changes overlaps their cache misses, whereas single changes would wait one by one.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    counts: Counts,
    noted: Vec<(Key, Change)>,
}

type Counts = FxHashMap<Key, Count>;

/// Number of changes per batch. A batch fits the first-level cache.
const GATHERED: usize = 128;

#[derive(Debug, Clone, Copy)]
enum Change {
    /// A transfer of true sharing; the bytes that others had used.
    True(Bytes),
    /// A transfer of false sharing; likewise.
    False(Bytes),
    /// Transfers counted as false sharing that are true sharing.
    Corrected(u64),
}

impl Tally {
    /// Every key with its count, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Count)> {
        let mut counts = self.counts.clone();
        enter(&mut counts, &self.noted);
        counts.into_iter()
    }

    /// The counts of the keys for which `keep` returns true.
    pub fn only(&self, keep: impl Fn(&Key) -> bool) -> Tally {
        Tally { counts: self.iter().filter(|(key, _)| keep(key)).collect(), noted: Vec::new() }
    }

    /// All transfers.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count.total()).sum()
    }

    /// Counts a transfer. `foreign`: the bytes that others had used.
    pub(crate) fn add(&mut self, key: Key, is_true: bool, foreign: Bytes) {
        self.note(key, if is_true { Change::True(foreign) } else { Change::False(foreign) });
    }

    /// Corrects transfers of false sharing that are true sharing.
    pub(crate) fn correct(&mut self, key: &Key, times: u64) {
        self.note(*key, Change::Corrected(times));
    }

    fn note(&mut self, key: Key, change: Change) {
        self.noted.push((key, change));
        if self.noted.len() == GATHERED {
            enter(&mut self.counts, &self.noted);
            self.noted.clear();
        }
    }
}

fn enter(counts: &mut Counts, changes: &[(Key, Change)]) {
    for (key, change) in changes {
        let count = counts.entry(*key).or_default();
        match change {
            Change::True(foreign) => {
                count.true_sharing += 1;
                count.add_others(*foreign);
            }
            Change::False(foreign) => {
                count.false_sharing += 1;
                count.add_others(*foreign);
            }
            Change::Corrected(times) => {
                count.false_sharing -= times;
                count.true_sharing += times;
            }
        }
    }
}
