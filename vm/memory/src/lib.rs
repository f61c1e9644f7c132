//! The part of a memory system above the page frames: address spaces, page faults, copy on write,
//! fork and TLB shoot-down for many CPUs.
//!
//! Layers, from the top down:
//!
//! - [`Cpu`], a CPU's handle: `change` (map, unmap, protect, guard), `advise`, `choose` (where
//!   to map), `remap` (move, resize), `stack`, `wire` (locked memory), `fault`, `large` (2
//!   MiB at once), `fork`, `memory_object`;
//! - `Batch`: removed pages, tables and nodes, until all CPUs have forgotten them; `RangeLock`: the
//!   lock of a range; `pieces`: long ranges, and changes beside a fork; `tidy`: empty nodes at the
//!   ends of a range;
//! - `sweep`, `write_back`, `truncate`: take pages away from all their places (`reverse`), and
//!   write them to a [`Pager`];
//! - [`Space`]: the `Tree` of `Slot`s, which is also the lock of each range; the page tables
//!   ([`Pmap`]); `ActiveCpus`; its `Family`;
//! - `Object`: shared memory, with pages found without a lock; `PageRecord`: a page's state
//!   ([`PageState`]) and home.
//!
//! An embedder implements [`Machine`] and [`Pmap`]; frames come from `faultline-frames` or another
//! [`FrameSource`]. [`hosted`] is a machine of threads, for tests and study. docs/MEMORY.md
//! describes the design and its limits.
//!
//! ```
//! use faultline_memory::hosted::{Hosted, Outcome};
//! use faultline_memory::{Memory, PageRange, Rights, VirtualPage};
//! # use core::mem::MaybeUninit;
//! # use faultline_frames::{Config, CpuNumber, DomainId, FixedCpu, FrameNumber, Frames};
//! # use faultline_frames::MemoryArea;
//! # let memory = [MemoryArea { first: FrameNumber(0x100), frames: 1024, domain: DomainId(0) }];
//! # let config = Config::new(&memory, &[DomainId(0)]);
//! # let mut metadata = vec![MaybeUninit::uninit(); Frames::layout(&config).unwrap().size() + 127];
//! # // SAFETY: one thread, one handle.
//! # let fixed = unsafe { FixedCpu::new(CpuNumber(0)) };
//! # let frames = Frames::new(&config, &mut metadata, fixed).unwrap();
//! let machine = Hosted::new(1, FrameNumber(0x100), 1024, 4096)?;
//! let memory = Memory::new(machine, 1, frames.index_count())?;
//! // SAFETY: the only handle of CPU 0.
//! let cpu = unsafe { memory.cpu(CpuNumber(0), frames) }.unwrap();
//! let space = cpu.new_space()?;
//! cpu.activate(&space)?;
//! cpu.map(&space, PageRange::new(VirtualPage(16), 8)?, Rights::READ | Rights::WRITE)?;
//! let write = || memory.machine().access(CpuNumber(0), &space, VirtualPage(17), 5, Some(42));
//! assert_eq!(write(), Outcome::Fault);
//! cpu.fault(&space, VirtualPage(17), Rights::WRITE)?;
//! assert_eq!(write(), Outcome::Done(0));
//! cpu.deactivate(&space);
//! cpu.exit(space).unwrap();
//! assert_eq!(cpu.frames().free(), 1024);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
#![deny(clippy::undocumented_unsafe_blocks, missing_docs)]
#![allow(
    unexpected_cfgs,
    reason = "`--cfg loom` and `--cfg shuttle` swap atomics for those that explore interleavings"
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod address;
mod advise;
mod batch;
mod broken;
mod change;
mod choose;
mod counted;
mod counters;
mod cpu_set;
mod error;
mod family;
mod fault;
mod fork;
pub mod hosted;
mod large;
mod leftovers;
mod machine;
mod memory;
mod memory_object;
mod object;
mod page_in;
mod page_record;
mod page_word;
mod pieces;
mod primitive;
mod reclaim;
mod remap;
mod reverse;
mod space;
mod stack;
mod swap;
mod tables;
mod tidy;
mod transfer;
mod tree;
mod wire;
mod write_back;

pub use address::{PageRange, Rights, SPACE_PAGES, VirtualPage};
pub use broken::Broken;
pub use choose::Anywhere;
pub use counters::{Counters, Event};
pub use cpu_set::{CpuSet, MOST_CPUS};
pub use error::{FaultError, NoMemory, SpaceError};
pub use faultline_numbers::{CpuNumber, FRAME_BYTES, FrameNumber};
pub use machine::{Flush, FrameSource, Machine, Pmap, SpaceId, Translation};
pub use memory::{Cpu, Memory};
pub use memory_object::MemoryObject;
pub use object::pager::{CLUSTER, Pager, Started, Transfer};
pub use page_word::{PageState, PageStep, Queue};
pub use reclaim::{Hand, Swept};
pub use space::Space;
pub use stack::STACK_GAP;

#[cfg(all(test, loom))]
mod interleavings;
#[cfg(all(test, shuttle))]
mod mixes;
#[cfg(test)]
mod test_frames;
