//! Machines for tests: memory areas, domains, CPUs; a handle for each CPU.

use faultline_frames::{Config, CpuNumber, DomainId, FixedCpu, FrameNumber, Frames, MemoryArea, Policy, Watermarks};
use std::mem::MaybeUninit;

/// The parameters of a test's machine.
#[derive(Debug, Clone)]
pub struct Machine {
    pub memory: Vec<MemoryArea>,
    pub offline: Vec<MemoryArea>,
    pub cpus: Vec<DomainId>,
    pub marks: Vec<Watermarks>,
    pub distances: Vec<u8>,
    pub policy: Policy,
}

/// An area: first frame, length, domain.
pub fn area(first: u64, frames: u64, domain: u8) -> MemoryArea {
    MemoryArea { first: FrameNumber(first), frames, domain: DomainId(domain) }
}

impl Machine {
    /// `cpus` CPUs, all in one domain with `frames` frames from `first` on.
    pub fn flat(first: u64, frames: u64, cpus: usize) -> Self {
        Self {
            memory: vec![area(first, frames, 0)],
            offline: Vec::new(),
            cpus: vec![DomainId(0); cpus],
            marks: Vec::new(),
            distances: Vec::new(),
            policy: Policy::default(),
        }
    }

    /// Sets the same marks for all domains.
    pub fn with_marks(self, low: u64, min: u64) -> Self {
        Self { marks: vec![Watermarks { low, min }; 32], ..self }
    }

    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    pub fn config(&self) -> Config<'_> {
        Config::new(&self.memory, &self.cpus)
            .with_offline(&self.offline)
            .with_marks(&self.marks)
            .with_distances(&self.distances)
            .with_policy(self.policy)
    }

    pub fn frames(&self) -> u64 {
        self.memory.iter().map(|area| area.frames).sum()
    }

    /// Memory for its metadata.
    pub fn metadata(&self) -> Vec<MaybeUninit<u8>> {
        vec![MaybeUninit::uninit(); Frames::layout(&self.config()).unwrap().size() + 127]
    }

    /// A handle for each CPU.
    pub fn boot<'m>(&self, metadata: &'m mut [MaybeUninit<u8>]) -> Vec<Frames<'m, FixedCpu>> {
        // SAFETY: each number has one handle, and one thread at a time uses a handle.
        let cpu = |number: usize| unsafe { FixedCpu::new(CpuNumber(number as u32)) };
        let first = Frames::new(&self.config(), metadata, cpu(0)).unwrap();
        (0..self.cpus.len()).map(|number| first.on(cpu(number))).collect()
    }
}

/// Defines handles of a machine's CPUs, or with `[one]` the first one, and their metadata.
macro_rules! boot {
    ([$($first:tt)+], $machine:expr) => {
        boot!(all, $machine);
        let $($first)+ = { all }.remove(0);
    };
    (mut $handles:ident, $machine:expr) => {
        boot!(all, $machine);
        let mut $handles = all;
    };
    ($handles:ident, $machine:expr) => {
        let machine = $machine;
        let mut metadata = machine.metadata();
        let $handles = machine.boot(&mut metadata);
    };
}
pub(crate) use boot;
