//! Emulated hardware: CPUs, sockets, memory, and the execution of instructions.

use super::MachineError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of CPUs of the emulated machine type.
pub const MOST_CPUS: u32 = 255;

/// Minimum memory for a distribution's kernel and the initramfs.
const LEAST_MEMORY_MIB: u64 = 256;

/// Default memory of a guest in addition to its tasks, and for each task.
const BASE_MEMORY_MIB: u64 = 512;
const MEMORY_PER_CPU_MIB: u64 = 96;

/// An emulated machine. Each socket is a NUMA node with the same share of CPUs and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Saved")]
#[schemars(!try_from)]
pub struct MachineShape {
    cpus: u32,
    sockets: u32,
    memory_mib: u64,
}

/// A saved machine, which may have been edited by hand.
#[derive(Deserialize)]
struct Saved {
    cpus: u32,
    sockets: u32,
    memory_mib: u64,
}

impl TryFrom<Saved> for MachineShape {
    type Error = MachineError;

    fn try_from(Saved { cpus, sockets, memory_mib }: Saved) -> Result<Self, MachineError> {
        Self::new(cpus, sockets, Some(memory_mib))
    }
}

impl MachineShape {
    /// A machine with `cpus` CPUs in `sockets` sockets. Without `memory_mib`, its memory depends on
    /// the number of CPUs. Fails if the numbers do not fit together or the machine type does not
    /// allow them.
    pub fn new(cpus: u32, sockets: u32, memory_mib: Option<u64>) -> Result<Self, MachineError> {
        let memory_mib =
            memory_mib.unwrap_or_else(|| (BASE_MEMORY_MIB + MEMORY_PER_CPU_MIB * u64::from(cpus)).max(1024));
        if cpus == 0 || cpus > MOST_CPUS {
            return Err(refused(format!("a machine with {cpus} CPUs cannot be emulated"), format!("1 to {MOST_CPUS}")));
        }
        if sockets == 0 || !cpus.is_multiple_of(sockets) {
            return Err(refused(
                format!("{cpus} CPUs cannot be divided among {sockets} sockets"),
                "all sockets have the same number of CPUs, for example cpus=8,sockets=2".to_owned(),
            ));
        }
        if memory_mib < LEAST_MEMORY_MIB * u64::from(sockets) {
            return Err(refused(
                format!("{memory_mib} MiB of memory is too little"),
                format!("at least {LEAST_MEMORY_MIB} MiB for each socket"),
            ));
        }
        // Nodes of whole 2 MiB pages: a kernel and the lens map memory by such pages, and no page
        // may lie in two nodes.
        let memory_mib = memory_mib.next_multiple_of(2 * u64::from(sockets));
        Ok(MachineShape { cpus, sockets, memory_mib })
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Number of sockets.
    pub fn sockets(&self) -> u32 {
        self.sockets
    }

    /// Memory in MiB, a multiple of the number of sockets.
    pub fn memory_mib(&self) -> u64 {
        self.memory_mib
    }
}

/// Execution of a guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// By translation; works everywhere.
    #[default]
    Tcg,
    /// By the host's CPUs, if its kernel allows it.
    Kvm,
}

impl Accelerator {
    /// The word in a machine's text.
    pub fn word(self) -> &'static str {
        match self {
            Accelerator::Tcg => "tcg",
            Accelerator::Kvm => "kvm",
        }
    }
}

fn refused(problem: String, hint: String) -> MachineError {
    MachineError { problem, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_from_the_number_of_cpus() {
        assert_eq!(MachineShape::new(1, 1, None).unwrap().memory_mib(), 1024);
        assert_eq!(MachineShape::new(64, 2, None).unwrap().memory_mib(), 512 + 64 * 96);
        assert_eq!(MachineShape::new(3, 3, Some(1000)).unwrap().memory_mib(), 1002);
    }

    #[test]
    fn impossible_machines_are_refused() {
        let problem = |cpus, sockets, memory| MachineShape::new(cpus, sockets, memory).unwrap_err().problem;
        assert_eq!(problem(0, 1, None), "a machine with 0 CPUs cannot be emulated");
        assert_eq!(problem(256, 1, None), "a machine with 256 CPUs cannot be emulated");
        assert_eq!(problem(8, 3, None), "8 CPUs cannot be divided among 3 sockets");
        assert_eq!(problem(8, 0, None), "8 CPUs cannot be divided among 0 sockets");
        assert_eq!(problem(8, 2, Some(300)), "300 MiB of memory is too little");
    }
}
