//! A model of cache coherence. Counts, for each access, the cache lines that move between CPUs because one of them
//! wrote.
//!
//! Caches are private, write-back, and infinite unless they are [bounded](Caches). A line is 64 bytes. The model tracks
//! who may hold a line and who wrote it last. This determines exactly when a transfer is needed (the invalidation
//! protocols of the MSI family agree on it), and its cost by [distance](Distance). Left out: prefetching, bandwidth,
//! and the order in which a real machine's store buffers make writes visible. The model knows nothing of emulators,
//! symbols or the lab.
//!
//! Lines that were lost for lack of room are counted apart from transfers. When a bounded cache evicts a dirty line, the
//! line is written back to memory. An access that does not find its line in the CPU's cache is
//!
//! - a *transfer* if it reads a line that its last writer still holds, or writes a line that another CPU still holds,
//!   unless a read only brings back what the CPU itself had evicted;
//! - a *capacity miss* if the line comes from memory: its last writer has evicted it, or this CPU has and nobody has
//!   written it since;
//! - free if nobody has written the line.
//!
//! One thread drives each CPU through its own [`Cpu`]. The CPUs share the lines without locks. Most accesses finish
//! after one entry of a small table of the CPU and one relaxed load.
//!
//! ```
//! use faultline_coherence::{Access, Context, Kind, Machine, Topology};
//! let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
//! let (mut first, mut second) = (machine.cpu(0), machine.cpu(1));
//! let context = Context::User;
//! let write = Access { address: 0x1000, size: 8, kind: Kind::Write, site: 0x400, context, contents: true };
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
mod grant;
mod group;
mod held;
mod line;
mod machine;
mod questions;
mod recent;
mod report;
mod stamps;
mod table;
mod tally;
mod topology;
mod word;

pub use access::{Access, Context, Kind, LINE_BYTES, Part, Work};
pub use cache::{Caches, CachesError};
pub use costs::{CostTable, Costs, DelayTimes, Delays};
pub use cpu::{Cpu, Disturbance};
pub use grant::Grant;
pub use machine::Machine;
pub use report::{AccessKey, LineReport, Report, SiteReport};
pub use tally::{Cause, Count, Distance, Key, Tally, WORD_BYTES, WORDS};
pub use topology::{CpuId, Topology, TopologyError};
