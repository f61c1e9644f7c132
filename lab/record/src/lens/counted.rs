//! A counted execution: the plugin's report, and the agent's report on facts that the plugin does
//! not know.

use crate::lens::problem::Problem;
use faultline_lens_format::RawReport;

/// Reports on a counted execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedReport {
    /// The plugin's report.
    pub counts: RawReport,
    /// The agent's report; empty for machines without an agent.
    pub agent: AgentReport,
}

/// The report of a guest's agent on a counted execution.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentReport {
    /// Base address of each CPU's per-CPU area, from CPU 0: the base of `gs` in the kernel.
    pub per_cpu_bases: Vec<u64>,
    /// Number of processes that the program forked; they are counted too.
    pub forks: u64,
    /// Reasons why the counts are incomplete.
    pub problems: Vec<Problem>,
    /// Code that the program's processes mapped.
    pub mappings: Vec<Mapping>,
    /// Functions that these processes generated, in the order of their reports.
    pub generated: Vec<GeneratedCode>,
}

/// Code of a file that a process of the program mapped into its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The process.
    pub process: u32,
    /// Address of the mapping's first byte in memory.
    pub address: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset of the mapping's first byte in the file.
    pub offset: u64,
    /// Path of the file in the guest.
    pub path: String,
}

/// A function that a process generated, as it reports in `/tmp/perf-PID.map`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedCode {
    /// The process.
    pub process: u32,
    /// Address of the function's first byte in memory.
    pub address: u64,
    /// Length in bytes.
    pub length: u64,
    /// The function's name.
    pub name: String,
}
