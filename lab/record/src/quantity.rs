//! The quantity of a program that is compared between commits: a cost of its executions, or a count
//! of the lens.

use faultline_lens_format::Totals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A quantity of which less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Elapsed time.
    #[default]
    Time,
    /// CPU time of all tasks, in user mode and in the kernel.
    CpuTime,
    /// CPU time in user mode.
    UserTime,
    /// CPU time in the kernel.
    SystemTime,
    /// Largest resident set of a process of the program.
    #[serde(rename = "memory", alias = "peak-memory")]
    PeakMemory,
    /// Instructions executed, counted by the lens.
    Instructions,
    /// Transfers of cache lines between CPUs, counted by the lens.
    Transfers,
}

/// Choice between time and CPU time by the first executions, if a request names no quantity. It is
/// saved with the run, so later executions do not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuantityChoice {
    /// Not made yet. Values are times until then.
    Open,
    /// Time: nothing else used the machine.
    Quiet,
    /// CPU time: other programs used the machine, and the program has one thread that waits for
    /// nothing.
    Busy,
    /// Time: other programs used the machine, but the program has several threads, or waits for
    /// other things than a CPU.
    NotCpuBound,
}

impl QuantityChoice {
    /// The chosen quantity.
    pub fn quantity(self) -> Quantity {
        match self {
            QuantityChoice::Busy => Quantity::CpuTime,
            QuantityChoice::Open | QuantityChoice::Quiet | QuantityChoice::NotCpuBound => Quantity::Time,
        }
    }
}

/// The name of the measure that a program's peak memory has in the workloads' output.
pub const PEAK_MEMORY: &str = "largest_process_bytes";

impl Quantity {
    /// All quantities, in the order of the help.
    pub const ALL: [Quantity; 7] = [
        Quantity::Time,
        Quantity::CpuTime,
        Quantity::UserTime,
        Quantity::SystemTime,
        Quantity::PeakMemory,
        Quantity::Instructions,
        Quantity::Transfers,
    ];

    /// The word in files, options and the API.
    pub fn word(self) -> &'static str {
        match self {
            Quantity::Time => "time",
            Quantity::CpuTime => "cpu-time",
            Quantity::UserTime => "user-time",
            Quantity::SystemTime => "system-time",
            Quantity::PeakMemory => "memory",
            Quantity::Instructions => "instructions",
            Quantity::Transfers => "transfers",
        }
    }

    /// True for counts of the lens. All other quantities come from executions at full speed, whose
    /// values differ.
    pub fn is_counted(self) -> bool {
        matches!(self, Quantity::Instructions | Quantity::Transfers)
    }

    /// True for CPU times.
    pub fn is_cpu_time(self) -> bool {
        matches!(self, Quantity::CpuTime | Quantity::UserTime | Quantity::SystemTime)
    }

    /// The unit of the values.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Time | Quantity::CpuTime | Quantity::UserTime | Quantity::SystemTime => "s",
            Quantity::PeakMemory => "B",
            Quantity::Instructions | Quantity::Transfers => self.word(),
        }
    }

    /// The count of all CPUs; `None` if the lens does not count it.
    pub fn count(self, totals: &Totals) -> Option<u64> {
        match self {
            Quantity::Instructions => Some(totals.instructions),
            Quantity::Transfers => Some(totals.transfers),
            _ => None,
        }
    }
}
