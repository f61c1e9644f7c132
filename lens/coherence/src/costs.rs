//! Costs of transfers by distance, in clocks; and tables of times with their sources.

use crate::topology::{Distance, Topology};
use faultline_lens_format::{CostTimes, DelayTimes};
use std::borrow::Cow;

/// Costs in clocks. A clock is the duration of one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// A line from a CPU that shares the last-level cache.
    pub same_cache: u64,
    /// A line from another cache of the same socket.
    pub same_socket: u64,
    /// A line from another socket.
    pub other_socket: u64,
    /// A line from memory, after a bounded cache evicted it.
    pub memory: u64,
}

impl Costs {
    /// The costs in clocks, rounded; at least 1. An instruction of 0 ps counts as one of 1 ps.
    pub fn new(times: &CostTimes) -> Self {
        let instruction_ps = u64::from(times.instruction_ps).max(1);
        let clocks = |ns: u32| ((u64::from(ns) * 1000 + instruction_ps / 2) / instruction_ps).max(1);
        Costs {
            same_cache: clocks(times.same_cache_ns),
            same_socket: clocks(times.same_socket_ns),
            other_socket: clocks(times.other_socket_ns),
            memory: clocks(times.memory_ns),
        }
    }

    /// One clock each: the costs then count transfers.
    pub const ONE_EACH: Costs = Costs { same_cache: 1, same_socket: 1, other_socket: 1, memory: 1 };

    /// The cost of a transfer. Invalidating the copies of several holders costs as much as a
    /// transfer from the farthest CPU of the machine: a line's state does not list all holders, and
    /// a write waits for the last reply.
    pub(crate) fn of(&self, distance: Distance, topology: &Topology) -> u64 {
        match distance {
            Distance::SameCache => self.same_cache,
            Distance::SameSocket => self.same_socket,
            Distance::OtherSocket => self.other_socket,
            Distance::Several => self.of(Distance::farthest(topology), topology),
        }
    }
}

/// Delays besides instructions and transfers, in clocks. They serve predictions; without them,
/// counts can be derived on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delays {
    /// An atomic read-modify-write, even of a line that the CPU holds.
    pub atomic: u64,
    /// Percentage of a transfer's cost until the request reaches the CPU that holds the line; 0 if
    /// requests are not modelled.
    pub request_percent: u64,
    /// Waking a halted CPU: from the interrupt to the first instruction.
    pub wake: u64,
    /// Delivery of an interrupt: from its cause to its handler.
    pub interrupt: u64,
    /// Entry into the kernel from user mode, and return.
    pub entry: u64,
}

impl Delays {
    /// The delays in clocks, rounded. An instruction of 0 ps counts as one of 1 ps.
    pub fn new(times: &DelayTimes, instruction_ps: u32) -> Self {
        let instruction_ps = u64::from(instruction_ps).max(1);
        let clocks = |ps: u64| (ps + instruction_ps / 2) / instruction_ps;
        let of_ns = |ns: u32| clocks(u64::from(ns) * 1000);
        Delays {
            atomic: clocks(times.atomic_ps.into()),
            request_percent: times.request_percent.clamp(1, 100).into(),
            wake: of_ns(times.wake_ns),
            interrupt: of_ns(times.interrupt_ns),
            entry: of_ns(times.entry_ns),
        }
    }

    /// Clocks of a transfer's cost until the request reaches the CPU that holds the line; 0 if
    /// requests are not modelled.
    pub fn request_time(&self, cost: u64) -> u64 {
        cost.saturating_mul(self.request_percent.min(100)) / 100
    }
}

/// Times measured on one machine, from which costs are computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostTable {
    /// A short name for the machine.
    pub name: Cow<'static, str>,
    /// The source of the times.
    pub source: Cow<'static, str>,
    /// Durations of an instruction and of transfers.
    pub times: CostTimes,
    /// Other delays on this machine; `None` if not measured.
    pub delays: Option<DelayTimes>,
}

impl Default for CostTable {
    /// The table [`CostTable::DEFAULT`].
    fn default() -> Self {
        PRESETS[0].clone()
    }
}

impl CostTable {
    /// Name of the default table: the first.
    pub const DEFAULT: &'static str = "laptop";

    /// The tables that come with the model.
    pub fn presets() -> &'static [CostTable] {
        PRESETS
    }

    /// The table with that name.
    pub fn by_name(name: &str) -> Option<&'static CostTable> {
        PRESETS.iter().find(|table| table.name == name)
    }
}

/// The times between CPUs are medians of one-way messages by compare-and-swap, as published with
/// the program `core-to-core-latency` (N. Viennot and contributors,
/// <https://github.com/nviennot/core-to-core-latency>, README). The times of memory and of an
/// instruction are orders of magnitude: two instructions per nanosecond.
static PRESETS: &[CostTable] = &[
    CostTable {
        name: Cow::Borrowed("laptop"),
        source: Cow::Borrowed(
            "Intel Core i7-1165G7 (Tiger Lake, 4 cores): 27 ns, core-to-core-latency's README; memory, and all beyond a \
                 socket, which such a machine doesn't have: order of magnitude",
        ),
        times: CostTimes {
            instruction_ps: 500,
            same_cache_ns: 27,
            same_socket_ns: 27,
            other_socket_ns: 120,
            memory_ns: 90,
        },
        delays: None,
    },
    CostTable {
        name: Cow::Borrowed("xeon-cascade-lake"),
        source: Cow::Borrowed(
            "two Intel Xeon Platinum 8275CL (24 cores each): 47 and 134 ns, core-to-core-latency's README; memory: order of \
                 magnitude",
        ),
        times: CostTimes {
            instruction_ps: 500,
            same_cache_ns: 47,
            same_socket_ns: 47,
            other_socket_ns: 134,
            memory_ns: 90,
        },
        delays: None,
    },
    CostTable {
        name: Cow::Borrowed("xeon-ice-lake"),
        source: Cow::Borrowed(
            "two Intel Xeon Platinum 8375C (32 cores each): 51 and 108 ns, core-to-core-latency's README; memory: order of \
                 magnitude",
        ),
        times: CostTimes {
            instruction_ps: 500,
            same_cache_ns: 51,
            same_socket_ns: 51,
            other_socket_ns: 108,
            memory_ns: 90,
        },
        delays: None,
    },
    CostTable {
        name: Cow::Borrowed("epyc-milan"),
        source: Cow::Borrowed(
            "two AMD EPYC 7R13 (48 cores each, 8 to a cache): 23, 107 and 197 ns, core-to-core-latency's README, where one \
                 of the sockets is slower within itself; memory: order of magnitude",
        ),
        times: CostTimes {
            instruction_ps: 500,
            same_cache_ns: 23,
            same_socket_ns: 107,
            other_socket_ns: 197,
            memory_ns: 110,
        },
        delays: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_clocks_to_the_nearest() {
        let times = CostTimes {
            instruction_ps: 400,
            same_cache_ns: 50,
            same_socket_ns: 0,
            other_socket_ns: 3,
            memory_ns: u32::MAX - 15,
        };
        let costs = Costs::new(&times);
        assert_eq!((costs.same_cache, costs.same_socket, costs.other_socket), (125, 1, 8));
        assert_eq!(costs.memory, u64::from(u32::MAX - 15) * 10 / 4);
        assert_eq!(Costs::new(&CostTimes { instruction_ps: 0, ..times }).same_cache, 50_000);
    }

    #[test]
    fn delays_become_clocks_to_the_nearest_and_may_be_none() {
        let times = DelayTimes { atomic_ps: 999, request_percent: 0, wake_ns: u32::MAX, interrupt_ns: 1, entry_ns: 2 };
        let none = Delays::new(&times, 2000);
        assert_eq!((none.atomic, none.request_percent, none.interrupt, none.entry), (0, 1, 1, 1));
        assert_eq!(Delays::new(&times, 0).wake, u64::from(u32::MAX) * 1000);
        assert_eq!((none.request_time(250), Delays::new(&DelayTimes::USUAL, 1).request_time(100)), (2, 75));
        assert_eq!(Delays::default().request_time(100), 0);
        assert_eq!(Delays::new(&DelayTimes { atomic_ps: 1000, ..times }, 2000).atomic, 1);
    }

    #[test]
    fn several_cost_what_the_farthest_does() {
        let costs = Costs { same_cache: 1, same_socket: 2, other_socket: 3, memory: 4 };
        let several = |topology: Topology| costs.of(Distance::Several, &topology);
        assert_eq!(several(Topology::new(8, 1, 8).unwrap()), 1);
        assert_eq!(several(Topology::new(8, 1, 4).unwrap()), 2);
        assert_eq!(several(Topology::new(8, 2, 4).unwrap()), 3);
    }

    #[test]
    fn presets_are_found_by_name_and_grow_with_distance() {
        assert_eq!(CostTable::default().name, CostTable::DEFAULT);
        assert!(CostTable::by_name("abacus").is_none());
        for table in CostTable::presets() {
            assert!(std::ptr::eq(CostTable::by_name(&table.name).unwrap(), table), "{} twice", table.name);
            let CostTimes { instruction_ps, same_cache_ns, same_socket_ns, other_socket_ns, .. } = table.times;
            assert!(same_cache_ns <= same_socket_ns && same_socket_ns <= other_socket_ns);
            assert!(!table.source.is_empty() && instruction_ps > 0);
        }
    }
}
