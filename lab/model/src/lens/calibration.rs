//! The calibration of a machine for the lens: times between its CPUs, and the costs that follow from them.

use crate::lens::settings::CostTimes;
use serde::Serialize;

/// What two CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nearness {
    /// A core: they are two hardware threads of it.
    SameCore,
    /// The last-level cache.
    SameCache,
    /// Only the socket.
    SameSocket,
    /// None of these.
    OtherSocket,
    /// The system does not say.
    Unknown,
}

impl Nearness {
    /// As it is written.
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

/// A time over some samples, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Time {
    /// The median.
    pub median_ns: f64,
    /// First and third quartile.
    pub quartiles_ns: (f64, f64),
}

/// Two CPUs and the time of a line between them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    /// One CPU's number.
    pub one: u32,
    /// The other's.
    pub other: u32,
    /// How near they are to each other.
    pub nearness: Nearness,
    /// A hand-over between them: one takes the line to write, and the other one, which waits for that, reads it.
    pub hand_over: Time,
}

impl Pair {
    /// The quartiles of a pair that stays where it is are nearer to each other.
    const STEADY: f64 = 2.0;

    /// Whether its hand-overs take about the same time throughout. If not, a hypervisor may have moved the CPUs meanwhile, or other work delayed them.
    pub fn is_steady(&self) -> bool {
        let (low, high) = self.hand_over.quartiles_ns;
        high <= Self::STEADY * low
    }
}

/// Times of what CPUs do besides instructions and hand-overs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delays {
    /// An atomic addition to a line that the CPU has.
    pub atomic: Time,
    /// The same if two CPUs add to one line: of all additions together.
    pub contended: Time,
    /// From a thread that wakes another one to that one's first instruction.
    pub wake: Time,
    /// By how much longer a page is protected if another CPU has to be interrupted for it.
    pub interrupt: Time,
    /// A call of the kernel.
    pub call: Time,
}

/// What was measured of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probe {
    /// Time of one arithmetic operation that depends on the one before, in picoseconds. That is one instruction, if a CPU executes one
    /// per cycle.
    pub instruction_ps: f64,
    /// Every pair once, by numbers of CPUs.
    pub pairs: Vec<Pair>,
    /// What else takes time, between the first two CPUs.
    pub delays: Delays,
}

/// A machine's calibration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// The machine's name; empty if it has none.
    pub machine: String,
    /// What was measured.
    pub measured: Probe,
    /// The costs for the model that follow from it.
    pub costs: CostTimes,
}
