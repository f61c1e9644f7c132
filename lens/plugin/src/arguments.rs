// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments, each `key=value`: parsing and validation.

use crate::address::Addresses;
use crate::function_start::FunctionStart;
use crate::ownership::MOST_CPUS;
use crate::processes::{Processes, ProgramId};
use crate::region::{CodeRange, RegionEnd, Selection};
use crate::turns::{Grain, Quanta};
use faultline_coherence::{CostTable, Costs, Delays, Machine, Topology, TopologyError};
use faultline_lens_format::{Caches, CachesError, CostTimes, DelayTimes, ModelledMachine};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The parsed arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    /// The modelled machine.
    pub(crate) machine: ModelledMachine,
    /// The topology of the machine.
    pub(crate) topology: Topology,
    /// The path of the report.
    pub(crate) output: PathBuf,
    /// Count the whole run and ignore region marks.
    pub(crate) whole: bool,
    /// The code that is counted.
    pub(crate) selection: Selection,
    /// Name of the program whose processes are counted; all are if `None`.
    pub(crate) process: Option<String>,
    /// Function of a program whose calls begin a region.
    pub(crate) from: Option<FunctionStart>,
    /// Function of a program whose calls end the region.
    pub(crate) to: Option<FunctionStart>,
    /// The rule that identifies places in memory.
    pub(crate) addresses: Addresses,
    /// End the machine with its first region.
    pub(crate) once: bool,
    /// End a machine that makes no progress for this time; `None` to wait for ever.
    pub(crate) patience: Option<Duration>,
    /// Pipes to the process that inspects the machine at the end of a region.
    pub(crate) region_end: Option<RegionEnd>,
    /// Maximum number of transfers whose stack is kept; 0 for none.
    pub(crate) most_samples: usize,
    /// Compare each access that translated code finds settled with the model.
    pub(crate) check: bool,
}

/// Default of [`Arguments::most_samples`]. At least half of them are kept, so a share of 10 % has a
/// 95 % confidence interval of at most ±1.3 percentage points.
const USUAL_SAMPLES: usize = 4096;

/// An invalid argument.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("{0}: expected key=value")]
    Form(String),
    #[error("{0}: unknown argument; expected one of {list}", list = keys().collect::<Vec<_>>().join(", "))]
    Unknown(String),
    #[error("{0}: given twice")]
    Twice(String),
    #[error("{0}={1}: expected a whole number")]
    Number(&'static str, String),
    #[error("{0}={1}: expected on or off")]
    Switch(&'static str, String),
    #[error("agent={0}: expected FROM-TO, two hexadecimal addresses of code")]
    Agent(String),
    #[error("{0}={1}: expected OFFSET:BYTES, the place in a page and the first bytes of a function")]
    Function(&'static str, String),
    #[error("{0}: requires agent")]
    NoAgent(&'static str),
    #[error("addresses={0}: expected linux or physical")]
    Addresses(String),
    #[error("{0}: missing; pass {0}={1}")]
    Missing(&'static str, &'static str),
    #[error("private_quantum={0}: must be at least quantum, which is {1}")]
    Quanta(u64, u64),
    #[error("quantum={0}: must be at least {LEAST_KERNEL_QUANTUM} for a kernel")]
    KernelQuantum(u64),
    #[error("private_quantum={0}: not supported for a kernel, which has one quantum")]
    KernelPrivateQuantum(u64),
    #[error("cache_lines and cache_ways: must be given together")]
    HalfACache,
    #[error("say_end and go_on: must be given together")]
    HalfAnEnd,
    #[error("{list}: must be given together", list = DelayTimes::NAMES.join(", "))]
    SomeDelays,
    #[error("cpus={0}: must be at most {MOST_CPUS} with request_percent")]
    Cpus(u32),
    #[error("instruction_ps=0: must be at least 1")]
    NoTime,
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error(transparent)]
    Caches(#[from] CachesError),
}

/// Names of the arguments besides those of [`CostTimes`] and [`DelayTimes`].
const OTHER_KEYS: &[&str] = &[
    "cpus",
    "sockets",
    "cpus_per_cache",
    "quantum",
    "private_quantum",
    "cache_lines",
    "cache_ways",
    "output",
    "whole",
    "agent",
    "kernel_too",
    "process",
    "from",
    "to",
    "addresses",
    "once",
    "patience_s",
    "say_end",
    "go_on",
    "samples",
    "check",
];

/// Names of all arguments.
fn keys() -> impl Iterator<Item = &'static str> {
    [OTHER_KEYS, CostTimes::NAMES, DelayTimes::NAMES].into_iter().flatten().copied()
}

/// Quanta for programs. The first is well below the cost of a transfer; otherwise a CPU that got a
/// contended line would use it repeatedly before the next CPU's turn. The second is as small as
/// possible without making work on private lines very slow; a CPU that spins on its own copy of a
/// line sees a change late by as much.
const PROGRAM_QUANTA: Quanta = Quanta { contended: 5, private: 200 };

/// Quanta for kernels: a fraction of a page fault. Turns end at the ends of translation blocks, so
/// a finer quantum costs hardly more, but a value below [`LEAST_KERNEL_QUANTUM`] would have no
/// effect.
const KERNEL_QUANTA: Quanta = Quanta { contended: 1000, private: 1000 };

/// Minimum quantum of a kernel. A CPU runs at least one translation block in each round, so a
/// quantum must exceed the largest cost of a block with its transfers.
const LEAST_KERNEL_QUANTUM: u64 = 500;

/// Value of `cache_lines` for unbounded caches.
const UNBOUNDED: &str = "unbounded";

impl Arguments {
    /// Parses the arguments.
    pub(crate) fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, ArgumentError> {
        let mut all: BTreeMap<&str, &str> = BTreeMap::new();
        for argument in arguments {
            let (key, value) = argument.split_once('=').ok_or_else(|| ArgumentError::Form(argument.into()))?;
            let key = keys().find(|known| *known == key).ok_or_else(|| ArgumentError::Unknown(key.into()))?;
            if all.insert(key, value).is_some() {
                return Err(ArgumentError::Twice(key.into()));
            }
        }
        let given = |key: &'static str| all.get(key).copied();
        let count = |key| number::<u32>(key, given(key));
        let quantum = |key| number::<u64>(key, given(key));
        let cpus = count("cpus")?.ok_or(ArgumentError::Missing("cpus", "N"))?;
        let sockets = count("sockets")?.unwrap_or(1);
        let cpus_per_cache = count("cpus_per_cache")?.unwrap_or_else(|| cpus / sockets.max(1));
        let selection = selection(given("agent"), switch("kernel_too", given("kernel_too"))?)?;
        let of_programs = ["process", "from", "to"];
        if let Some(key) = of_programs.into_iter().find(|key| given(key).is_some() && !selection.is_program()) {
            return Err(ArgumentError::NoAgent(key));
        }
        let function = |key| {
            let wrong = |text: &str| ArgumentError::Function(key, text.into());
            given(key).map(|text| text.parse().map_err(|()| wrong(text))).transpose()
        };
        let (times, delays) = (times(count)?, delays(count)?);
        if delays.is_some() && cpus > MOST_CPUS.into() {
            return Err(ArgumentError::Cpus(cpus));
        }
        let usual = if selection.is_program() { program_quanta(&times, delays.as_ref()) } else { KERNEL_QUANTA };
        let quanta = quanta(quantum("quantum")?, quantum("private_quantum")?, usual)?;
        let output = given("output").filter(|path| !path.is_empty());
        Ok(Arguments {
            topology: Topology::new(cpus, sockets, cpus_per_cache)?,
            machine: ModelledMachine {
                cpus,
                sockets,
                cpus_per_cache,
                quantum: quanta.contended,
                private_quantum: quanta.private,
                times,
                delays,
                caches: match given("cache_lines") {
                    Some(UNBOUNDED) if given("cache_ways").is_none() => None,
                    _ => Some(caches(count("cache_lines")?, count("cache_ways")?)?),
                },
            },
            output: output.ok_or(ArgumentError::Missing("output", "FILE"))?.into(),
            whole: switch("whole", given("whole"))?,
            process: given("process").map(str::to_owned),
            from: function("from")?,
            to: function("to")?,
            selection,
            addresses: addresses(given("addresses"))?,
            once: switch("once", given("once"))?,
            patience: count("patience_s")?.filter(|&seconds| seconds > 0).map(|s| Duration::from_secs(s.into())),
            region_end: match (given("say_end"), given("go_on")) {
                (Some(say), Some(go_on)) => Some(RegionEnd { say: say.into(), go_on: go_on.into() }),
                (None, None) => None,
                _ => return Err(ArgumentError::HalfAnEnd),
            },
            most_samples: number::<usize>("samples", given("samples"))?.unwrap_or(USUAL_SAMPLES),
            check: switch("check", given("check"))?,
        })
    }

    /// The distances that a CPU may run ahead of the slowest busy one.
    pub(crate) fn quanta(&self) -> Quanta {
        Quanta { contended: self.machine.quantum, private: self.machine.private_quantum }
    }

    /// True if the processes that run a program are counted.
    pub(crate) fn chooses(&self, processes: &Processes, program: ProgramId) -> bool {
        self.process.as_deref().is_none_or(|name| processes.is_named(program, name))
    }

    /// Checks that a machine whose CPUs take turns can observe the quanta.
    pub(crate) fn check_turns(&self) -> Result<(), ArgumentError> {
        if self.selection.is_program() {
            return Ok(());
        }
        let Quanta { contended, private } = self.quanta();
        if contended < LEAST_KERNEL_QUANTUM {
            return Err(ArgumentError::KernelQuantum(contended));
        }
        if private != contended {
            return Err(ArgumentError::KernelPrivateQuantum(private));
        }
        Ok(())
    }

    /// The granularity of the CPUs' interleaving.
    pub(crate) fn grain(&self) -> Grain {
        match self.selection.is_program() {
            true => Grain::Fine(self.quanta()),
            false => Grain::Coarse(self.machine.quantum),
        }
    }

    /// Delays besides instructions and transfers, in clocks.
    pub(crate) fn delays(&self) -> Delays {
        let instruction_ps = self.machine.times.instruction_ps;
        self.machine.delays.map(|times| Delays::new(&times, instruction_ps)).unwrap_or_default()
    }

    /// The model of the machine. Fails if the cache size is invalid.
    pub(crate) fn model(&self) -> Result<Machine, ArgumentError> {
        Ok(Machine::with(self.topology, Costs::new(&self.machine.times), self.machine.caches)?)
    }
}

/// The times of the default table, with the given values replaced.
fn times(count: impl Fn(&'static str) -> Result<Option<u32>, ArgumentError>) -> Result<CostTimes, ArgumentError> {
    let times = CostTable::default().times.replaced(count)?;
    if times.instruction_ps == 0 { Err(ArgumentError::NoTime) } else { Ok(times) }
}

/// The delays: all five arguments, or none.
fn delays(
    count: impl Fn(&'static str) -> Result<Option<u32>, ArgumentError>,
) -> Result<Option<DelayTimes>, ArgumentError> {
    let mut given = 0;
    let delays = DelayTimes::USUAL.replaced(|name| {
        let number = count(name)?;
        given += usize::from(number.is_some());
        Ok::<_, ArgumentError>(number)
    })?;
    match given {
        0 => Ok(None),
        all if all == DelayTimes::NAMES.len() => Ok(Some(delays)),
        _ => Err(ArgumentError::SomeDelays),
    }
}

/// The quanta of a program. A CPU may also run ahead for the time of a request, because no other
/// CPU's next action reaches it earlier.
fn program_quanta(times: &CostTimes, delays: Option<&DelayTimes>) -> Quanta {
    let transfer = Costs::new(times).same_cache;
    let request = delays.map_or(0, |delays| Delays::new(delays, times.instruction_ps).request_time(transfer));
    let contended = PROGRAM_QUANTA.contended.max(request);
    Quanta { contended, private: PROGRAM_QUANTA.private.max(contended) }
}

fn caches(lines: Option<u32>, ways: Option<u32>) -> Result<Caches, ArgumentError> {
    match (lines, ways) {
        (Some(lines), Some(ways)) => Ok(Caches { lines, ways }),
        (None, None) => Ok(Caches::DEFAULT),
        _ => Err(ArgumentError::HalfACache),
    }
}

/// The quanta. If only one is given, the other is as close to its default as possible. If the
/// defaults are equal, both stay equal.
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

/// Counts a program if the code of its agent is known, otherwise the machine.
fn selection(agent: Option<&str>, kernel_too: bool) -> Result<Selection, ArgumentError> {
    let Some(text) = agent else {
        return if kernel_too { Err(ArgumentError::NoAgent("kernel_too")) } else { Ok(Selection::Everything) };
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
        assert_eq!(arguments.machine.times, CostTable::default().times);
        assert_eq!(arguments.machine.caches, Some(Caches::DEFAULT));
        assert!(!arguments.whole && !arguments.once && !arguments.selection.is_program());
        assert_eq!(arguments.addresses, Addresses::Linux);
        assert_eq!(kernel(&["addresses=physical"]).addresses, Addresses::Physical);
        let two = Arguments::parse(["cpus=8", "output=a=b", "sockets=2", "whole=on"]).unwrap();
        assert_eq!(two.topology, Topology::new(8, 2, 4).unwrap());
        assert_eq!(two.output, PathBuf::from("a=b"));
        assert!(two.whole);
        assert_eq!(arguments.quanta(), KERNEL_QUANTA);
        assert_eq!(kernel(&["quantum=9000"]).quanta(), Quanta { contended: 9000, private: 9000 });
        let turns = |quantum| kernel(&[quantum]).check_turns();
        assert_eq!((turns("quantum=9000"), turns("quantum=600")), (Ok(()), Ok(())));
        assert_eq!(turns("quantum=499"), Err(ArgumentError::KernelQuantum(499)));
        assert_eq!(turns("private_quantum=4000"), Err(ArgumentError::KernelPrivateQuantum(4000)));
        assert!(program(&[]).selection.is_program());
        let bounded = program(&["process=server", "from=10:f3", "to=20:55"]);
        assert_eq!((bounded.process.as_deref(), bounded.from), (Some("server"), "10:f3".parse().ok()));
        assert_eq!(bounded.to, "20:55".parse().ok());
        assert_eq!(program(&[]).quanta(), Quanta { contended: 5, private: 200 });
        assert_eq!((program(&["quantum=7"]).check_turns(), program(&["quantum=0"]).machine.quantum), (Ok(()), 0));
        let far = kernel(&["other_socket_ns=130", "cache_lines=512", "cache_ways=8"]);
        assert_eq!(
            (far.machine.times.other_socket_ns, far.machine.caches),
            (130, Some(Caches { lines: 512, ways: 8 }))
        );
        assert_eq!(kernel(&["cache_lines=unbounded"]).machine.caches, None);
        assert_eq!((arguments.most_samples, kernel(&["samples=0"]).most_samples), (4096, 0));
        assert_eq!(arguments.delays(), Delays::default());
        let all = ["instruction_ps=500"].into_iter().chain(DELAYS).collect::<Vec<_>>();
        let clocks = Delays { atomic: 1, request_percent: 70, wake: 6, interrupt: 8, entry: 10 };
        assert_eq!(kernel(&all).delays(), clocks);
        let agent = ["agent=1000-2000", "same_cache_ns=20", "same_socket_ns=20"];
        assert_eq!(kernel(&[&agent[..], &all].concat()).quanta(), Quanta { contended: 28, private: 200 });
    }

    #[test]
    fn what_can_not_be_is_refused_in_words() {
        let refused = |arguments: &[&str]| Arguments::parse(arguments.iter().copied()).unwrap_err().to_string();
        assert_eq!(refused(&["output=r"]), "cpus: missing; pass cpus=N");
        assert_eq!(refused(&["cpus=2"]), "output: missing; pass output=FILE");
        assert_eq!(refused(&["cpus=2", "output="]), "output: missing; pass output=FILE");
        assert_eq!(refused(&["cpus=-2", "output=r"]), "cpus=-2: expected a whole number");
        assert_eq!(refused(&["cpus=2", "cpus=3"]), "cpus: given twice");
        assert_eq!(refused(&["whole"]), "whole: expected key=value");
        assert_eq!(refused(&["cpus=2", "output=r", "whole=yes"]), "whole=yes: expected on or off");
        assert_eq!(
            refused(&["cpus=2", "output=r", "agent=x"]),
            "agent=x: expected FROM-TO, two hexadecimal addresses of code"
        );
        assert_eq!(refused(&["cpus=2", "output=r", "kernel_too=on"]), "kernel_too: requires agent");
        assert_eq!(refused(&["cpus=2", "output=r", "process=server"]), "process: requires agent");
        assert_eq!(
            refused(&["cpus=2", "output=r", "agent=1000-2000", "from=main"]),
            "from=main: expected OFFSET:BYTES, the place in a page and the first bytes of a function"
        );
        assert_eq!(refused(&["cpus=2", "output=r", "addresses=x"]), "addresses=x: expected linux or physical");
        assert_eq!(refused(&["cpus=2", "output=r", "sockets=0"]), "0 sockets: must be 1 … 64");
        assert_eq!(refused(&["cpus=8", "output=r", "sockets=3"]), "8 CPUs don't divide evenly among 3 sockets");
        assert_eq!(
            refused(&["cpus=2", "output=r", "quantum=30", "private_quantum=9"]),
            "private_quantum=9: must be at least quantum, which is 30"
        );
        assert_eq!(
            refused(&["cpus=2", "output=r", "cache_ways=8"]),
            "cache_lines and cache_ways: must be given together"
        );
        assert_eq!(refused(&["cpus=2", "output=r", "go_on=/p"]), "say_end and go_on: must be given together");
        assert_eq!(
            refused(&["cpus=2", "output=r", "cache_lines=unbounded", "cache_ways=8"]),
            "cache_lines=unbounded: expected a whole number"
        );
        assert_eq!(
            refused(&["cpus=2", "output=r", "request_percent=70"]),
            "atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns: must be given together"
        );
        let with_cpus =
            |cpus| Arguments::parse([cpus, "output=r"].into_iter().chain(DELAYS)).map_err(|error| error.to_string());
        assert_eq!(with_cpus("cpus=257").unwrap_err(), "cpus=257: must be at most 256 with request_percent");
        assert!(with_cpus("cpus=256").is_ok() && Arguments::parse(["cpus=257", "output=r"]).is_ok());
        assert!(refused(&["cpus=2", "output=r", "instruction_ps=0"]).starts_with("instruction_ps=0: "));
        assert!(refused(&["cpu=8"]).starts_with("cpu: unknown argument; expected one of cpus, "));
    }
}
