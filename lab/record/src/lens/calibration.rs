//! A machine's calibration for the lens: times between its CPUs, and the costs derived from them.

use faultline_lens_format::{CostTimes, DelayTimes};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

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

/// A kind of measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeOf {
    /// Hand-overs between two CPUs.
    HandOver {
        /// Number of one CPU.
        one: u32,
        /// Number of the other CPU.
        other: u32,
    },
    /// [`Delays::atomic`].
    Atomic,
    /// [`Delays::contended`].
    Contended,
    /// [`Delays::wake`].
    Wake,
    /// [`Delays::interrupt`].
    Interrupt,
    /// [`Delays::call`].
    Call,
}

impl TimeOf {
    /// Maximum ratio of the quartiles of a steady time. The kernel's part of a wake-up or an
    /// interrupt varies more than a line's way.
    fn most_ratio(self) -> f64 {
        match self {
            TimeOf::Wake | TimeOf::Interrupt => 3.0,
            TimeOf::HandOver { .. } | TimeOf::Atomic | TimeOf::Contended | TimeOf::Call => 2.0,
        }
    }
}

/// The subject of a sentence: `a hand-over between CPUs 0 and 1`.
impl fmt::Display for TimeOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeOf::HandOver { one, other } => write!(f, "a hand-over between CPUs {one} and {other}"),
            TimeOf::Atomic => f.write_str("an atomic operation"),
            TimeOf::Contended => f.write_str("a contended atomic operation"),
            TimeOf::Wake => f.write_str("waking a thread"),
            TimeOf::Interrupt => f.write_str("an inter-processor interrupt"),
            TimeOf::Call => f.write_str("a system call"),
        }
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

impl Probe {
    /// Times whose quartiles are too far apart to derive a cost from. A hypervisor moved the CPUs
    /// meanwhile, or other work delayed them.
    pub fn unsteady(&self) -> impl Iterator<Item = (TimeOf, Time)> {
        let Delays { atomic, contended, wake, interrupt, call } = self.delays;
        let pairs =
            self.pairs.iter().map(|pair| (TimeOf::HandOver { one: pair.one, other: pair.other }, pair.hand_over));
        let delays = [
            (TimeOf::Atomic, atomic),
            (TimeOf::Contended, contended),
            (TimeOf::Wake, wake),
            (TimeOf::Interrupt, interrupt),
            (TimeOf::Call, call),
        ];
        let is_unsteady = |(of, time): &(TimeOf, Time)| {
            let (low, high) = time.quartiles_ns;
            let is_steady = high <= of.most_ratio() * low;
            !is_steady
        };
        pairs.chain(delays).filter(is_unsteady)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn time(low: f64, median_ns: f64, high: f64) -> Time {
        Time { median_ns, quartiles_ns: (low, high) }
    }

    #[test]
    fn times_with_distant_quartiles_are_unsteady() {
        let steady = time(15.0, 20.0, 30.0);
        let delays = Delays { atomic: steady, contended: steady, wake: steady, interrupt: steady, call: steady };
        let pair = |one, hand_over| Pair { one, other: 3, nearness: Nearness::Unknown, hand_over };
        let pairs = vec![pair(0, steady), pair(1, time(10.0, 15.0, 20.1))];
        let probe = Probe { instruction_ps: 250.0, pairs, delays };
        let unsteady = |probe: &Probe| probe.unsteady().map(|(of, _)| of.to_string()).collect::<Vec<_>>();
        assert_eq!(unsteady(&probe), ["a hand-over between CPUs 1 and 3"]);
        // A wake-up of 420 µs, whose quartiles are 50 ns and 24 ms; a time of nothing.
        let delays = Delays { wake: time(50.0, 420e3, 24e6), call: time(f64::NAN, f64::NAN, f64::NAN), ..delays };
        assert_eq!(unsteady(&Probe { pairs: vec![], delays, ..probe.clone() }), ["waking a thread", "a system call"]);
        let delays = Delays { wake: time(10.0, 20.0, 30.0), interrupt: time(10.0, 20.0, 31.0), ..probe.delays };
        assert_eq!(unsteady(&Probe { pairs: vec![], delays, ..probe }), ["an inter-processor interrupt"]);
    }
}
