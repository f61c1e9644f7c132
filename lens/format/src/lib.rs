//! The interface between the lens's plugin and the lab: the machine that the plugin models, and the
//! report that it writes. `docs/FORMATS.md` describes the report's JSON.
//!
//! The plugin fills these types and serialises them. The lab reads them with [`RawReport::parse`],
//! which refuses a report that is cut off, of another version, or inconsistent.

#![forbid(unsafe_code)]

mod machine;
mod report;

pub use machine::{Caches, CachesError, CostTimes, DelayTimes, ModelledMachine};
pub use report::{
    ByCause, ByDistance, CpuInterrupts, CpuTotals, FORMAT, LensMode, RawAccess, RawCounts, RawLine, RawProcesses,
    RawReport, RawReportError, RawSample, RawSamples, Registers, Scope, Space, Spent, Stack, Stall, Stalled, Totals,
    VERSION,
};

/// Bytes of a cache line of the modelled machine.
pub const LINE_BYTES: u64 = 64;

/// Bytes of a word: the unit of [`RawAccess::others`].
pub const WORD_BYTES: u64 = 4;
