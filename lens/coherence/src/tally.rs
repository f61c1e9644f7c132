//! What one CPU has counted: its transfers, by line and by where in the code.

use crate::topology::{CpuId, Topology};
use rustc_hash::FxHashMap;

/// Why a line had to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Read of a line that another CPU wrote.
    Read,
    /// Write to a line that other CPUs hold.
    Write,
}

/// How far it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Distance {
    /// From a CPU that shares the last-level cache.
    SameCache,
    /// From another cache of the same socket.
    SameSocket,
    /// From another socket.
    OtherSocket,
    /// From several holders at once: their copies were taken back, wherever they were.
    Several,
}

impl Distance {
    /// Between two CPUs.
    pub(crate) fn between(topology: &Topology, one: CpuId, other: CpuId) -> Self {
        if topology.cache(one) == topology.cache(other) {
            Distance::SameCache
        } else if topology.socket(one) == topology.socket(other) {
            Distance::SameSocket
        } else {
            Distance::OtherSocket
        }
    }
}

/// What transfers are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Number of the line: its address by 64.
    pub line: u64,
    /// The instruction.
    pub site: u64,
    /// Why.
    pub cause: Cause,
    /// Whether by a read-modify-write.
    pub atomic: bool,
    /// Whether in user mode.
    pub user: bool,
    /// How far.
    pub distance: Distance,
}

/// Transfers of one key. Sharing is *true* when the CPU, while it holds the line, comes to a byte that another wrote since it
/// held the line last, and *false* when it never does (after Dubois et al., "The detection and elimination of useless misses
/// in multiprocessors", ISCA 1993).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// With true sharing.
    pub true_sharing: u64,
    /// With false sharing.
    pub false_sharing: u64,
}

impl Count {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.true_sharing + self.false_sharing
    }
}

/// Transfers by key.
#[derive(Debug, Clone, Default)]
pub struct Tally(FxHashMap<Key, Count>);

impl Tally {
    /// Every key with its count, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Count)> {
        self.0.iter()
    }

    /// All transfers.
    pub fn total(&self) -> u64 {
        self.0.values().map(Count::total).sum()
    }

    pub(crate) fn add(&mut self, key: Key, is_true: bool) {
        let count = self.0.entry(key).or_default();
        if is_true {
            count.true_sharing += 1;
        } else {
            count.false_sharing += 1;
        }
    }

    /// A transfer that looked like false sharing was true sharing after all.
    pub(crate) fn correct(&mut self, key: &Key) {
        if let Some(count) = self.0.get_mut(key) {
            count.false_sharing -= 1;
            count.true_sharing += 1;
        }
    }
}
