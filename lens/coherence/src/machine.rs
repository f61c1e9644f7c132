//! The machine: a topology, and the lines that its CPUs share.

use crate::cpu::Cpu;
use crate::line::Line;
use crate::table::Table;
use crate::topology::{CpuId, Topology};

/// A machine. Its CPUs borrow it, each for a thread of its own.
#[derive(Debug)]
pub struct Machine {
    topology: Topology,
    lines: Table,
}

impl Machine {
    /// A machine whose caches hold nothing.
    pub fn new(topology: Topology) -> Self {
        Machine { topology, lines: Table::new() }
    }

    /// The CPU of that number, with an empty cache. Ask once for each: two of one number would not know of each other's
    /// copies.
    ///
    /// # Panics
    /// If the topology has no such CPU.
    pub fn cpu(&self, id: CpuId) -> Cpu<'_> {
        assert!(id < self.topology.cpus(), "CPU {id} of {}", self.topology.cpus());
        Cpu::new(self, id)
    }

    /// Where the CPUs are.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(crate) fn line(&self, number: u64) -> &Line {
        self.lines.line(number)
    }
}
