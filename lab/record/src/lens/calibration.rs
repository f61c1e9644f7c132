//! A machine's calibration for the lens: times between its CPUs, and the costs derived from them.

use faultline_lens_format::{CostTimes, DelayTimes};
use schemars::JsonSchema;
use serde::Serialize;

/// Closest resource that two CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Nearness {
    /// One core: both are hardware threads of it.
    SameCore,
    /// The last-level cache.
    SameCache,
    /// Only the socket.
    SameSocket,
    /// None of these.
    OtherSocket,
    /// Not reported by the system.
    Unknown,
}

impl Nearness {
    /// The word in text and files.
    pub fn word(self) -> &'static str {
        match self {
            Nearness::SameCore => "same_core",
            Nearness::SameCache => "same_cache",
            Nearness::SameSocket => "same_socket",
            Nearness::OtherSocket => "other_socket",
            Nearness::Unknown => "unknown",
        }
    }
}

/// A time over several samples, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema, ts_rs::TS)]
pub struct Time {
    /// The median.
    pub median_ns: f64,
    /// First and third quartile.
    pub quartiles_ns: (f64, f64),
}

/// Two CPUs and the time of a line between them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema, ts_rs::TS)]
pub struct Pair {
    /// Number of one CPU.
    pub one: u32,
    /// Number of the other CPU.
    pub other: u32,
    /// Closest resource that the two CPUs share.
    pub nearness: Nearness,
    /// A hand-over between the CPUs: one fetches the line for writing, and the other one, which
    /// waits for that, reads it.
    pub hand_over: Time,
}

impl Pair {
    /// Maximum ratio of the quartiles of a steady pair.
    const STEADY: f64 = 2.0;

    /// True if all hand-overs of the pair take about as long. If false, a hypervisor may have moved
    /// the CPUs meanwhile, or other work delayed them.
    pub fn is_steady(&self) -> bool {
        let (low, high) = self.hand_over.quartiles_ns;
        high <= Self::STEADY * low
    }
}

/// Times of events other than instructions and hand-overs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Delays {
    /// An atomic addition to a line that the CPU already has.
    pub atomic: Time,
    /// An atomic addition if two CPUs add to one line: the time per addition, counting those of
    /// both.
    pub contended: Time,
    /// From the wake-up call of one thread to the first instruction of the woken thread.
    pub wake: Time,
    /// Additional time to protect a page if another CPU has to be interrupted for it.
    pub interrupt: Time,
    /// A system call.
    pub call: Time,
}

/// Measurements of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Probe {
    /// Time of one arithmetic operation that depends on the previous one, in picoseconds. This is
    /// the time per instruction of a CPU that executes one per cycle.
    pub instruction_ps: f64,
    /// All pairs without repetition, by numbers of CPUs.
    pub pairs: Vec<Pair>,
    /// Times of other events, between the first two CPUs.
    pub delays: Delays,
}

/// A machine's calibration.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Calibration {
    /// The machine's name; empty for a machine without a name.
    pub machine: String,
    /// The measurements.
    pub measured: Probe,
    /// Costs for the model, derived from the measurements.
    pub costs: CostTimes,
    /// Delays for the model, derived from the measurements.
    pub delays: DelayTimes,
}
