//! A machine: its topology, the costs of transfers, the size of the caches, and the lines that its
//! CPUs share.

use crate::costs::Costs;
use crate::lines::LineTable;
use crate::topology::Topology;
use faultline_lens_format::{Caches, CachesError};

/// A machine. Its CPUs borrow it; each CPU belongs to one thread.
#[derive(Debug)]
pub struct Machine {
    topology: Topology,
    costs: Costs,
    caches: Option<Caches>,
    lines: LineTable,
}

impl Machine {
    /// A machine with infinite, empty caches. Each transfer costs one clock.
    pub fn new(topology: Topology) -> Self {
        Machine { topology, costs: Costs::ONE_EACH, caches: None, lines: LineTable::new() }
    }

    /// A machine with empty caches of that size; infinite without `caches`.
    pub fn with(topology: Topology, costs: Costs, caches: Option<Caches>) -> Result<Self, CachesError> {
        Ok(Machine { costs, caches: caches.map(Caches::check).transpose()?, ..Machine::new(topology) })
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The costs of its transfers.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The size of its caches; `None` if they are infinite.
    pub fn caches(&self) -> Option<Caches> {
        self.caches
    }

    pub(crate) fn lines(&self) -> &LineTable {
        &self.lines
    }
}

/// Marks an empty way. Line numbers are addresses divided by 64, so none is this large.
const NOTHING: u64 = u64::MAX;

/// The set-associative cache of one CPU: determines which lines it has room for.
///
/// Each set evicts the line that was fetched longest ago (first in, first out). Hits do not change
/// the order, so they need no call here. A line that another CPU's write invalidated keeps its way
/// until it is evicted or fetched again, like an unused invalid line.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Set after set; within a set, the most recently fetched line comes first.
    lines: Box<[u64]>,
    ways: usize,
}

impl Cache {
    /// An empty cache of a valid size.
    pub(crate) fn new(caches: Caches) -> Self {
        Cache { lines: vec![NOTHING; caches.lines as usize].into(), ways: caches.ways as usize }
    }

    /// Inserts a fetched line. Returns the evicted line, if any.
    pub(crate) fn put(&mut self, line: u64) -> Option<u64> {
        let sets = (self.lines.len() / self.ways) as u64;
        let first = (line % sets) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        let place = set.iter().position(|&other| other == line);
        let last = place.unwrap_or(self.ways - 1);
        let gone = std::mem::replace(&mut set[last], line);
        set[..=last].rotate_right(1);
        (place.is_none() && gone != NOTHING).then_some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fetched_longest_ago_goes_first() {
        let mut cache = Cache::new(Caches { lines: 4, ways: 2 });
        assert_eq!([0, 2, 1].map(|line| cache.put(line)), [None; 3]);
        assert_eq!(cache.put(4), Some(0));
        // Fetched again, so 4 is now the older line.
        assert_eq!(cache.put(2), None);
        assert_eq!(cache.put(6), Some(4));
        assert_eq!(cache.put(3), None);
    }
}
