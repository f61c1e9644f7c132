//! A hosted machine with frames, and a memory system on it.

use super::cpu::Cpu;
use super::system::System;
use crate::Metadata;
use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea, Policy};
use faultline_memory::hosted::Hosted;
use faultline_memory::{CpuNumber, FrameNumber, Memory};
use std::error::Error;

/// Why there is no machine.
pub type Refused = Box<dyn Error + Send + Sync>;

/// A machine.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Number of CPUs, 1 to 256.
    pub cpus: u32,
    /// Number of frames, a multiple of 64.
    pub frames: u64,
    /// Bytes of a frame that the machine really has.
    pub frame_bytes: usize,
    /// How the frames' allocator fills its caches.
    pub policy: Policy,
}

const FIRST: FrameNumber = FrameNumber(0x200);

/// Runs with a system and the CPUs of a fresh machine. Returns the number of frames that are free at the end, too.
pub fn on_machine<S: System, R>(shape: &Shape, run: impl FnOnce(&S, Vec<Cpu<'_>>) -> R) -> Result<(R, u64), Refused> {
    let &Shape { cpus, frames, frame_bytes, policy } = shape;
    let area = [MemoryArea { first: FIRST, frames, domain: DomainId(0) }];
    let domains = vec![DomainId(0); cpus as usize];
    let config = Config::new(&area, &domains).with_policy(policy);
    let mut metadata = Metadata::new(Frames::layout(&config)?);
    // SAFETY: 1. Lent once. 2. The allocator ends before it.
    let allocator = Frames::new(&config, unsafe { metadata.lend() }, ())?;
    let mut machine = Hosted::new(cpus, FIRST, frames, frame_bytes)?;
    if S::HAS_TABLES_OF_EACH_CPU {
        machine = machine.with_tables_of_each_cpu();
    }
    let memory = Memory::new(machine, cpus, allocator.index_count())?;
    let system = S::new(cpus, allocator.index_count());
    let cpu = |number| {
        // SAFETY: each number has one handle.
        let frames = allocator.on(unsafe { FixedCpu::new(number) });
        // SAFETY: 1. Each number has one handle. 2. All frames come from one allocator, and the machine has as many.
        unsafe { memory.cpu(number, frames) }.map(Cpu::new)
    };
    let result = run(&system, (0..cpus).filter_map(|number| cpu(CpuNumber(number))).collect());
    Ok((result, allocator.free()))
}
