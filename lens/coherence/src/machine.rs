//! A machine: its topology, the costs of transfers, the size of the caches, and the lines that its
//! CPUs share.

use crate::costs::Costs;
use crate::lines::LineTable;
use crate::topology::Topology;
use faultline_lens_format::{Caches, CachesError};

/// A machine. Its CPUs borrow it, and take turns on one thread.
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
