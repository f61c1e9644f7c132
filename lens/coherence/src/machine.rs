//! The machine: a topology, the cost of its transfers, and the lines that its CPUs share.

use crate::cache::{Caches, CachesError};
use crate::costs::Costs;
use crate::table::Table;
use crate::topology::Topology;

/// A machine. Its CPUs borrow it; each belongs to one thread.
#[derive(Debug)]
pub struct Machine {
    topology: Topology,
    costs: Costs,
    caches: Option<Caches>,
    lines: Table,
}

impl Machine {
    /// A machine with infinite, empty caches, where each transfer costs one clock.
    pub fn new(topology: Topology) -> Self {
        Machine { topology, costs: Costs::ONE_EACH, caches: None, lines: Table::new() }
    }

    /// A machine with empty caches; without `caches` they are infinite.
    pub fn with(topology: Topology, costs: Costs, caches: Option<Caches>) -> Result<Self, CachesError> {
        Ok(Machine { costs, caches: caches.map(Caches::check).transpose()?, ..Machine::new(topology) })
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The cost of its transfers.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// The size of its caches. None if they are infinite.
    pub fn caches(&self) -> Option<Caches> {
        self.caches
    }

    pub(crate) fn lines(&self) -> &Table {
        &self.lines
    }
}
