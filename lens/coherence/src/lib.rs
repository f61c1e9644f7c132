//! A model of cache coherence. It counts, for each access, the cache lines that move between CPUs
//! because one of them wrote.
//!
//! Caches are private, write-back, and infinite unless [bounded](Caches). A line is 64 bytes. The
//! model tracks who may hold a line and who wrote it last. This determines exactly which accesses
//! need a transfer (the invalidation protocols of the MSI family agree on it), and its cost by
//! [distance](Distance). Not modelled: prefetching, bandwidth, and the order in which store buffers
//! make writes visible. The model knows nothing of emulators, symbols or the lab.
//!
//! Capacity misses are counted apart from transfers. When a bounded cache evicts a dirty line, the
//! line is written back to memory. An access that does not find its line in the CPU's cache is
//!
//! - a *transfer* if it reads a line that its last writer still holds, or writes a line that
//!   another CPU still holds, unless a read only brings back what the CPU itself had evicted;
//! - a *capacity miss* if the line comes from memory: its last writer has evicted it, or this CPU
//!   has evicted it and no CPU has written it since;
//! - free if no CPU has written the line.
//!
//! The CPUs of a machine take turns on one thread.
//!
//! ```
//! use faultline_coherence::{Access, Context, Kind, Machine, Topology};
//! let machine = Machine::new(Topology::new(2, 1, 2).unwrap());
//! let (mut first, mut second) = (machine.cpu(0), machine.cpu(1));
//! let (kind, context) = (Kind::Write, Context::User);
//! let write = Access { address: 0x1000, size: 8, kind, site: 0x400, context, contents: true };
//! assert_eq!(first.access(&write), 0); // no CPU held the line
//! assert_eq!(second.access(&write), 1); // the first CPU did
//! assert_eq!(second.access(&write), 0);
//! ```

#![forbid(unsafe_code)]

mod access;
mod cache;
mod costs;
mod cpu;
mod held;
mod line;
mod lines;
mod machine;
mod questions;
mod report;
mod tally;
mod topology;
mod word;

pub use access::{Access, AccessPart, Context, Kind, Work};
pub use costs::{CostTable, Costs, Delays};
pub use cpu::{Cpu, Disturbance};
pub use faultline_lens_format::{Caches, CachesError, CostTimes, DelayTimes, LINE_BYTES, WORD_BYTES};
pub use held::Grant;
pub use machine::Machine;
pub use report::{AccessKey, LineReport, Report};
pub use tally::{Cause, Count, Key, Tally, WORDS};
pub use topology::{CpuId, Distance, Topology, TopologyError};
