//! A hosted machine with frames of `faultline-frames`, and programs' accesses to it.

use faultline_frames::{Config, DomainId, FixedCpu, Frames, MemoryArea, Policy};
use faultline_memory::hosted::{FrameBytes, Hosted, Outcome};
use faultline_memory::{Cpu, CpuNumber, FaultError, FrameNumber, Memory, Pager, Rights, Space, VirtualPage};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Pages of the swap area.
pub const SWAP_PAGES: u32 = 1 << 15;

pub type HostCpu<'m, 'f> = Cpu<'m, Hosted, Frames<'f, FixedCpu>>;

/// Kind of page tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// One set for all CPUs.
    Shared,
    /// One set per CPU.
    OfEachCpu,
}

pub const BOTH_TABLES: [Tables; 2] = [Tables::Shared, Tables::OfEachCpu];

const FIRST: FrameNumber = FrameNumber(0x200);

/// Runs `run` with the CPUs of a machine, and the pager of its swap area. Afterwards checks that
/// all frames and swap slots are free, and no page has a state.
pub fn on_machine<R, P: Pager + 'static>(
    tables: Tables,
    cpus: u32,
    frames: u64,
    frame_bytes: usize,
    swap: impl FnOnce(FrameBytes) -> Arc<P>,
    run: impl FnOnce(Vec<HostCpu<'_, '_>>, &P) -> R,
) -> R {
    let area = [MemoryArea { first: FIRST, frames, domain: DomainId(0) }];
    let domains = vec![DomainId(0); cpus as usize];
    let config = Config::new(&area, &domains).with_policy(Policy::default().with_stock_most(1));
    let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() + 127];
    // SAFETY: each number has one handle.
    let fixed = |number| unsafe { FixedCpu::new(CpuNumber(number)) };
    let allocator = Frames::new(&config, &mut metadata, ()).unwrap();
    let mut machine = Hosted::new(cpus, FIRST, frames, frame_bytes).unwrap();
    if tables == Tables::OfEachCpu {
        machine = machine.with_tables_of_each_cpu();
    }
    let swap = swap(machine.bytes().clone());
    let memory =
        Memory::new(machine, cpus, allocator.index_count()).unwrap().with_swap(swap.clone(), SWAP_PAGES).unwrap();
    // SAFETY: 1. Each number has one handle. 2. All frames come from one allocator, and the machine
    // has as many.
    let handle = |number| unsafe { memory.cpu(CpuNumber(number), allocator.on(fixed(number))) }.unwrap();
    let handles: Vec<_> = (0..cpus).map(handle).collect();
    let result = run(handles, &swap);
    assert_eq!((allocator.free(), memory.swapped()), (frames, 0), "all frames and slots of the swap area are back");
    for index in 0..allocator.index_count() {
        assert_eq!(memory.page_state(index).unwrap(), faultline_memory::PageState::FREE);
    }
    result
}

/// A program's access: repeats until it succeeds or its fault cannot be resolved.
pub fn access<'m>(
    cpu: &HostCpu<'m, '_>,
    memory: &Memory<Hosted>,
    space: &Space<'m, Hosted>,
    page: u64,
    byte: usize,
    write: Option<u8>,
) -> Result<u8, FaultError> {
    let access = if write.is_some() { Rights::WRITE } else { Rights::READ };
    let page = VirtualPage(page);
    for _ in 0..100 {
        match memory.machine().access(cpu.number(), space, page, byte, write) {
            Outcome::Done(before) => return Ok(before),
            Outcome::Fault => cpu.fault(space, page, access)?,
        }
    }
    panic!("a hundred faults on {page}")
}
