//! A model of cache coherence: counts, per access, the cache lines that move between CPUs because one of them wrote.
//!
//! Caches are private, write-back, and infinite unless they are [bounded](Caches); a line is 64 bytes. What is modelled is
//! who may hold a line and who wrote it last, which decides exactly when a transfer is needed (the invalidation protocols of
//! the MSI family agree on it), and what it costs by [how far](Distance) the line comes. What is left out: prefetching,
//! bandwidth, the order in which a real machine's store buffers let others see a write. The model knows nothing of emulators,
//! symbols or the lab.
//!
//! A line that a bounded cache had no room for, once dirty, is written back to memory. Fetching it from there is a *capacity
//! miss* and no transfer; so is fetching a line that the CPU itself dropped and that nobody wrote since. The first fetch of
//! a line that nobody wrote costs nothing.
//!
//! Each CPU is driven by one thread through its own [`Cpu`]; lines are shared between them without locks. Most accesses end
//! at an entry of a small table of the CPU's own and one relaxed load.
//!
//! ```
//! use faultline_coherence::{Access, Kind, Machine, Topology};
//! let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
//! let (mut first, mut second) = (machine.cpu(0), machine.cpu(1));
//! let write = Access { address: 0x1000, size: 8, kind: Kind::Write, site: 0x400, user: true, contents: true };
//! assert_eq!(first.access(&write), 0); // nobody held the line
//! assert_eq!(second.access(&write), 1); // the first CPU did
//! assert_eq!(second.access(&write), 0);
//! ```

#![forbid(unsafe_code)]
#![allow(unexpected_cfgs, reason = "`--cfg loom` swaps a line's atomics for those that explore interleavings")]

mod access;
mod cache;
mod costs;
mod cpu;
mod group;
mod held;
mod line;
mod machine;
mod recent;
mod report;
mod stamps;
mod table;
mod tally;
mod topology;
mod word;

pub use access::{Access, Kind, LINE_BYTES, Part};
pub use cache::{Caches, CachesError};
pub use costs::{CostTable, Costs};
pub use cpu::Cpu;
pub use machine::Machine;
pub use report::{LineReport, Report, SiteReport};
pub use tally::{Cause, Count, Distance, Key, Tally};
pub use topology::{CpuId, Topology, TopologyError};
