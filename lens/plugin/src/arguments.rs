// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses and checks the plugin's arguments, each `key=value`. Does nothing else.

use crate::address::Addresses;
use crate::ownership::MOST_CPUS;
use crate::region_end::RegionEnd;
use crate::selection::{CodeRange, Selection};
use crate::turns::Quanta;
use faultline_coherence::{Caches, CachesError, CostTable, DelayTimes, Delays, Machine, Topology, TopologyError};
use std::path::PathBuf;
use std::str::FromStr;

/// The caller's request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    /// The modelled machine.
    pub(crate) topology: Topology,
    /// Number of its sockets, as used for the topology.
    pub(crate) sockets: u32,
    /// CPUs per last-level cache.
    pub(crate) cpus_per_cache: u32,
    /// How far a CPU may run ahead of the slowest, in clocks (an instruction is 1).
    pub(crate) quanta: Quanta,
    /// The cost of an instruction and of a transfer.
    pub(crate) costs: CostTable,
    /// What else takes time; none where transfers are to be counted as they would be on paper.
    pub(crate) delays: Option<DelayTimes>,
    /// Size of each CPU's cache; none if it is unbounded.
    pub(crate) caches: Option<Caches>,
    /// The path of the report.
    pub(crate) output: PathBuf,
    /// Whether to count the whole run and ignore region marks.
    pub(crate) whole: bool,
    /// Which code is counted.
    pub(crate) selection: Selection,
    /// How places in memory are told apart.
    pub(crate) addresses: Addresses,
    /// Whether the machine ends with its first region.
    pub(crate) once: bool,
    /// Who looks at the machine at the end of a region.
    pub(crate) region_end: Option<RegionEnd>,
    /// Most transfers of which the stack is kept; none for 0.
    pub(crate) most_samples: usize,
}

/// The default of [`Arguments::most_samples`]. At least half of them are kept, so a share of 10 % has a 95 % confidence interval of
/// 1.3 percentage points to either side at most.
const USUAL_SAMPLES: usize = 4096;

/// Why an argument is rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("{0}: not of the form key=value")]
    Form(String),
    #[error("{0}: no such argument; there are {list}", list = KEYS.join(", "))]
    Unknown(String),
    #[error("{0}: given twice")]
    Twice(String),
    #[error("{0}={1}: not a whole number")]
    Number(&'static str, String),
    #[error("{0}={1}: neither on nor off")]
    Switch(&'static str, String),
    #[error("agent={0}: not FROM-TO, two hexadecimal addresses of a program's code")]
    Agent(String),
    #[error("kernel_too: only with agent")]
    KernelToo,
    #[error("addresses={0}: neither linux nor physical")]
    Addresses(String),
    #[error("{0}: must be given, as {0}={1}")]
    Missing(&'static str, &'static str),
    #[error("private_quantum={0}: below quantum, which is {1}")]
    Quanta(u64, u64),
    #[error("quantum={0}: at least {LEAST_KERNEL_QUANTUM} for a kernel")]
    KernelQuantum(u64),
    #[error("private_quantum={0}: not for a kernel, where quantum is the only one")]
    KernelPrivateQuantum(u64),
    #[error("cache_lines and cache_ways: neither can be without the other")]
    HalfACache,
    #[error("say_end and go_on: neither can be without the other")]
    HalfAnEnd,
    #[error("atomic_ps, request_percent, wake_ns, interrupt_ns and entry_ns: all of them, or none")]
    SomeDelays,
    #[error("cpus={0}: with request_percent at most {MOST_CPUS} are possible")]
    Cpus(u32),
    #[error("instruction_ps=0: an instruction takes some time")]
    NoTime,
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error(transparent)]
    Caches(#[from] CachesError),
}

const KEYS: [&str; 26] = [
    "cpus",
    "sockets",
    "cpus_per_cache",
    "quantum",
    "private_quantum",
    "instruction_ps",
    "same_cache_ns",
    "same_socket_ns",
    "other_socket_ns",
    "memory_ns",
    "atomic_ps",
    "request_percent",
    "wake_ns",
    "interrupt_ns",
    "entry_ns",
    "cache_lines",
    "cache_ways",
    "output",
    "whole",
    "agent",
    "kernel_too",
    "addresses",
    "once",
    "say_end",
    "go_on",
    "samples",
];

/// For programs. The first is well below the cost of a transfer. Otherwise a CPU that got a contended line would use it
/// again and again before the next CPU's turn. The second is as small as work on private lines allows without becoming
/// very slow; a CPU that spins on its own copy of a line sees a change late by as much.
const PROGRAM_QUANTA: Quanta = Quanta { contended: 5, private: 200 };

/// For kernels: a fraction of a page fault. Turns end at the ends of translation blocks, so a finer quantum costs
/// hardly more, but a value below [`LEAST_KERNEL_QUANTUM`] would have no effect.
const KERNEL_QUANTA: Quanta = Quanta { contended: 1000, private: 1000 };

/// A CPU runs at least one translation block in each round, so a quantum must be longer than the largest cost of a
/// block with its transfers.
const LEAST_KERNEL_QUANTUM: u64 = 500;

/// Value of `cache_lines` for caches without bounds.
const UNBOUNDED: &str = "unbounded";

impl Arguments {
    /// Parses the arguments.
    pub(crate) fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, ArgumentError> {
        let mut given: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
        for argument in arguments {
            let (key, value) = argument.split_once('=').ok_or_else(|| ArgumentError::Form(argument.into()))?;
            let index =
                KEYS.iter().position(|known| *known == key).ok_or_else(|| ArgumentError::Unknown(key.into()))?;
            if given[index].replace(value).is_some() {
                return Err(ArgumentError::Twice(key.into()));
            }
        }
        let given = |key: &'static str| KEYS.iter().position(|known| *known == key).and_then(|index| given[index]);
        let count = |key| number::<u32>(key, given(key));
        let cpus = count("cpus")?.ok_or(ArgumentError::Missing("cpus", "N"))?;
        let sockets = count("sockets")?.unwrap_or(1);
        let cpus_per_cache = count("cpus_per_cache")?.unwrap_or_else(|| cpus / sockets.max(1));
        let quantum = |key| number::<u64>(key, given(key));
        let selection = selection(given("agent"), switch("kernel_too", given("kernel_too"))?)?;
        let (costs, delays) = (costs(count)?, delays(count)?);
        if delays.is_some() && cpus > MOST_CPUS.into() {
            return Err(ArgumentError::Cpus(cpus));
        }
        let usual = if selection.is_program() { program_quanta(&costs, delays.as_ref()) } else { KERNEL_QUANTA };
        let output = given("output").filter(|path| !path.is_empty());
        Ok(Arguments {
            topology: Topology::new(cpus, sockets, cpus_per_cache)?,
            sockets,
            cpus_per_cache,
            quanta: quanta(quantum("quantum")?, quantum("private_quantum")?, usual)?,
            costs,
            delays,
            caches: match given("cache_lines") {
                Some(UNBOUNDED) if given("cache_ways").is_none() => None,
                _ => Some(caches(count("cache_lines")?, count("cache_ways")?)?),
            },
            output: output.ok_or(ArgumentError::Missing("output", "FILE"))?.into(),
            whole: switch("whole", given("whole"))?,
            selection,
            addresses: addresses(given("addresses"))?,
            once: switch("once", given("once"))?,
            region_end: match (given("say_end"), given("go_on")) {
                (Some(say), Some(go_on)) => Some(RegionEnd { say: say.into(), go_on: go_on.into() }),
                (None, None) => None,
                _ => return Err(ArgumentError::HalfAnEnd),
            },
            most_samples: number::<usize>("samples", given("samples"))?.unwrap_or(USUAL_SAMPLES),
        })
    }

    /// Whether a machine whose CPUs take turns can observe the quanta. The error says why not.
    pub(crate) fn check_turns(&self) -> Result<(), ArgumentError> {
        if self.selection.is_program() {
            return Ok(());
        }
        let Quanta { contended, private } = self.quanta;
        if contended < LEAST_KERNEL_QUANTUM {
            return Err(ArgumentError::KernelQuantum(contended));
        }
        if private != contended {
            return Err(ArgumentError::KernelPrivateQuantum(private));
        }
        Ok(())
    }

    /// What takes time besides instructions and transfers, in clocks.
    pub(crate) fn delays(&self) -> Delays {
        self.delays.map(|times| times.clocks(self.costs.instruction_ps)).unwrap_or_default()
    }

    /// The machine to count on. Fails if the cache size is invalid.
    pub(crate) fn machine(&self) -> Result<Machine, ArgumentError> {
        Ok(Machine::with(self.topology, self.costs.costs(), self.caches)?)
    }
}

/// The default table, with the given values replaced.
fn costs(count: impl Fn(&'static str) -> Result<Option<u32>, ArgumentError>) -> Result<CostTable, ArgumentError> {
    let table = CostTable::default();
    let costs = CostTable {
        instruction_ps: count("instruction_ps")?.unwrap_or(table.instruction_ps),
        same_cache_ns: count("same_cache_ns")?.unwrap_or(table.same_cache_ns),
        same_socket_ns: count("same_socket_ns")?.unwrap_or(table.same_socket_ns),
        other_socket_ns: count("other_socket_ns")?.unwrap_or(table.other_socket_ns),
        memory_ns: count("memory_ns")?.unwrap_or(table.memory_ns),
        ..table
    };
    if costs.instruction_ps == 0 { Err(ArgumentError::NoTime) } else { Ok(costs) }
}

/// A CPU may also run ahead for as long as a request takes: nothing that another one does next reaches it before.
fn program_quanta(costs: &CostTable, delays: Option<&DelayTimes>) -> Quanta {
    let request = delays.map_or(0, |times| times.clocks(costs.instruction_ps).request_time(costs.costs().same_cache));
    let contended = PROGRAM_QUANTA.contended.max(request);
    Quanta { contended, private: PROGRAM_QUANTA.private.max(contended) }
}

/// All five, or none.
fn delays(
    count: impl Fn(&'static str) -> Result<Option<u32>, ArgumentError>,
) -> Result<Option<DelayTimes>, ArgumentError> {
    let keys = ["atomic_ps", "request_percent", "wake_ns", "interrupt_ns", "entry_ns"];
    let mut times = [None; 5];
    for (time, key) in times.iter_mut().zip(keys) {
        *time = count(key)?;
    }
    match times {
        [None, None, None, None, None] => Ok(None),
        [Some(atomic_ps), Some(request_percent), Some(wake_ns), Some(interrupt_ns), Some(entry_ns)] => {
            Ok(Some(DelayTimes { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns }))
        }
        _ => Err(ArgumentError::SomeDelays),
    }
}

fn caches(lines: Option<u32>, ways: Option<u32>) -> Result<Caches, ArgumentError> {
    match (lines, ways) {
        (Some(lines), Some(ways)) => Ok(Caches { lines, ways }),
        (None, None) => Ok(Caches::DEFAULT),
        _ => Err(ArgumentError::HalfACache),
    }
}

/// If only one of the two quanta is given, the other one is as close to its default as possible. If the defaults are
/// equal, both stay equal.
fn quanta(contended: Option<u64>, private: Option<u64>, usual: Quanta) -> Result<Quanta, ArgumentError> {
    let contended = contended.unwrap_or(usual.contended.min(private.unwrap_or(u64::MAX)));
    let is_one = usual.private == usual.contended;
    let private = private.unwrap_or(if is_one { contended } else { usual.private.max(contended) });
    if private < contended {
        return Err(ArgumentError::Quanta(private, contended));
    }
    Ok(Quanta { contended, private })
}

fn number<N: FromStr>(key: &'static str, value: Option<&str>) -> Result<Option<N>, ArgumentError> {
    value.map(|value| value.parse().map_err(|_| ArgumentError::Number(key, value.into()))).transpose()
}

fn switch(key: &'static str, value: Option<&str>) -> Result<bool, ArgumentError> {
    match value {
        None | Some("off") => Ok(false),
        Some("on") => Ok(true),
        Some(other) => Err(ArgumentError::Switch(key, other.into())),
    }
}

fn addresses(value: Option<&str>) -> Result<Addresses, ArgumentError> {
    match value {
        None | Some("linux") => Ok(Addresses::Linux),
        Some("physical") => Ok(Addresses::Physical),
        Some(other) => Err(ArgumentError::Addresses(other.into())),
    }
}

/// A machine's program is counted if the code of its agent is known.
fn selection(agent: Option<&str>, kernel_too: bool) -> Result<Selection, ArgumentError> {
    let Some(text) = agent else {
        return if kernel_too { Err(ArgumentError::KernelToo) } else { Ok(Selection::Everything) };
    };
    let agent: CodeRange = text.parse().map_err(|()| ArgumentError::Agent(text.into()))?;
    Ok(Selection::Program { agent, kernel_too })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYS: [&str; 5] = ["atomic_ps=250", "request_percent=70", "wake_ns=3", "interrupt_ns=4", "entry_ns=5"];

    #[test]
    fn what_is_not_given_has_a_default() {
        let kernel = |more: &[&str]| Arguments::parse([&["cpus=8", "output=r.json"], more].concat()).unwrap();
        let program = |more: &[&str]| kernel(&[&["agent=1000-2000"], more].concat());
        let arguments = kernel(&[]);
        assert_eq!(arguments.topology, Topology::new(8, 1, 8).unwrap());
        assert_eq!(arguments.costs.name, CostTable::DEFAULT);
        assert_eq!(arguments.caches, Some(Caches::DEFAULT));
        assert!(!arguments.whole && !arguments.once && !arguments.selection.is_program());
        assert_eq!(arguments.addresses, Addresses::Linux);
        assert_eq!(kernel(&["addresses=physical"]).addresses, Addresses::Physical);
        let two = Arguments::parse(["cpus=8", "output=a=b", "sockets=2", "whole=on"]).unwrap();
        assert_eq!(two.topology, Topology::new(8, 2, 4).unwrap());
        assert_eq!(two.output, PathBuf::from("a=b"));
        assert!(two.whole);
        assert_eq!(arguments.quanta, KERNEL_QUANTA);
        assert_eq!(kernel(&["quantum=9000"]).quanta, Quanta { contended: 9000, private: 9000 });
        let turns = |quantum| kernel(&[quantum]).check_turns();
        assert_eq!((turns("quantum=9000"), turns("quantum=600")), (Ok(()), Ok(())));
        assert_eq!(turns("quantum=499"), Err(ArgumentError::KernelQuantum(499)));
        assert_eq!(turns("private_quantum=4000"), Err(ArgumentError::KernelPrivateQuantum(4000)));
        assert!(program(&[]).selection.is_program());
        assert_eq!(program(&[]).quanta, Quanta { contended: 5, private: 200 });
        assert_eq!((program(&["quantum=7"]).check_turns(), program(&["quantum=0"]).quanta.contended), (Ok(()), 0));
        let far = kernel(&["other_socket_ns=130", "cache_lines=512", "cache_ways=8"]);
        assert_eq!((far.costs.other_socket_ns, far.caches), (130, Some(Caches { lines: 512, ways: 8 })));
        assert_eq!(kernel(&["cache_lines=unbounded"]).caches, None);
        assert_eq!((arguments.most_samples, kernel(&["samples=0"]).most_samples), (4096, 0));
        assert_eq!(arguments.delays(), Delays::default());
        let all = ["instruction_ps=500"].into_iter().chain(DELAYS).collect::<Vec<_>>();
        let clocks = Delays { atomic: 1, request_percent: 70, wake: 6, interrupt: 8, entry: 10 };
        assert_eq!(kernel(&all).delays(), clocks);
        let agent = ["agent=1000-2000", "same_cache_ns=20", "same_socket_ns=20"];
        assert_eq!(kernel(&[&agent[..], &all].concat()).quanta, Quanta { contended: 28, private: 200 });
    }

    #[test]
    fn what_can_not_be_is_refused_in_words() {
        let refused = |arguments: &[&str]| Arguments::parse(arguments.iter().copied()).unwrap_err().to_string();
        assert_eq!(refused(&["output=r"]), "cpus: must be given, as cpus=N");
        assert_eq!(refused(&["cpus=2"]), "output: must be given, as output=FILE");
        assert_eq!(refused(&["cpus=2", "output="]), "output: must be given, as output=FILE");
        assert_eq!(refused(&["cpus=-2", "output=r"]), "cpus=-2: not a whole number");
        assert_eq!(refused(&["cpus=2", "cpus=3"]), "cpus: given twice");
        assert_eq!(refused(&["whole"]), "whole: not of the form key=value");
        assert_eq!(refused(&["cpus=2", "output=r", "whole=yes"]), "whole=yes: neither on nor off");
        assert_eq!(
            refused(&["cpus=2", "output=r", "agent=x"]),
            "agent=x: not FROM-TO, two hexadecimal addresses of a program's code"
        );
        assert_eq!(refused(&["cpus=2", "output=r", "kernel_too=on"]), "kernel_too: only with agent");
        assert_eq!(refused(&["cpus=2", "output=r", "addresses=x"]), "addresses=x: neither linux nor physical");
        assert_eq!(refused(&["cpus=2", "output=r", "sockets=0"]), "0 sockets: from 1 to 64 are possible");
        assert_eq!(refused(&["cpus=8", "output=r", "sockets=3"]), "8 CPUs don't divide evenly among 3 sockets");
        assert_eq!(
            refused(&["cpus=2", "output=r", "quantum=30", "private_quantum=9"]),
            "private_quantum=9: below quantum, which is 30"
        );
        assert_eq!(
            refused(&["cpus=2", "output=r", "cache_ways=8"]),
            "cache_lines and cache_ways: neither can be without the other"
        );
        assert_eq!(refused(&["cpus=2", "output=r", "go_on=/p"]), "say_end and go_on: neither can be without the other");
        assert_eq!(
            refused(&["cpus=2", "output=r", "cache_lines=unbounded", "cache_ways=8"]),
            "cache_lines=unbounded: not a whole number"
        );
        assert_eq!(
            refused(&["cpus=2", "output=r", "request_percent=70"]),
            "atomic_ps, request_percent, wake_ns, interrupt_ns and entry_ns: all of them, or none"
        );
        let with_cpus =
            |cpus| Arguments::parse([cpus, "output=r"].into_iter().chain(DELAYS)).map_err(|error| error.to_string());
        assert_eq!(with_cpus("cpus=257").unwrap_err(), "cpus=257: with request_percent at most 256 are possible");
        assert!(with_cpus("cpus=256").is_ok() && Arguments::parse(["cpus=257", "output=r"]).is_ok());
        assert!(refused(&["cpus=2", "output=r", "instruction_ps=0"]).starts_with("instruction_ps=0: "));
        assert!(refused(&["cpu=8"]).starts_with("cpu: no such argument; there are cpus, "));
    }
}
