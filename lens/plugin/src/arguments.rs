// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments, `key=value` each: read and checked, nothing else.

use crate::lockstep::Quanta;
use faultline_coherence::{Topology, TopologyError};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// What the caller asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arguments {
    /// The modelled machine.
    pub(crate) topology: Topology,
    /// Number of its sockets; the topology was made from it.
    pub(crate) sockets: u32,
    /// CPUs to a last-level cache.
    pub(crate) cpus_per_cache: u32,
    /// How far a CPU may run ahead of the slowest, in units of the virtual clock (an instruction is 1).
    pub(crate) quanta: Quanta,
    /// What a transfer costs, in the same unit.
    pub(crate) transfer_cost: u64,
    /// Where the report goes.
    pub(crate) output: PathBuf,
    /// Whether to count the whole run and ignore marks.
    pub(crate) whole: bool,
    /// How long the slowest CPU may stand still while others wait for it.
    pub(crate) stall: Duration,
}

/// An argument that can't be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("{0}: not of the form key=value")]
    Form(String),
    #[error(
        "{0}: no such argument; there are cpus, sockets, cpus_per_cache, quantum, private_quantum, transfer_cost, output, whole, stall_seconds"
    )]
    Unknown(String),
    #[error("{0}: given twice")]
    Twice(String),
    #[error("{0}={1}: not a whole number")]
    Number(&'static str, String),
    #[error("whole={0}: neither on nor off")]
    Switch(String),
    #[error("stall_seconds={0}: not from 1 to 86400")]
    Stall(u64),
    #[error("{0}: must be given, as {0}={1}")]
    Missing(&'static str, &'static str),
    #[error("private_quantum={0}: below quantum, which is {1}")]
    Quanta(u64, u64),
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

const KEYS: [&str; 9] = [
    "cpus",
    "sockets",
    "cpus_per_cache",
    "quantum",
    "private_quantum",
    "transfer_cost",
    "output",
    "whole",
    "stall_seconds",
];

/// Well below the cost of a transfer: else a CPU that got a contended line would use it again and again before the next one's turn.
const DEFAULT_QUANTUM: u64 = 5;
/// What work on private lines bears without crawling; a CPU that spins on its own copy of a line sees a change late by as much.
const DEFAULT_PRIVATE_QUANTUM: u64 = 200;
/// A transfer in instructions: some 50 ns at two instructions a nanosecond.
const DEFAULT_TRANSFER_COST: u64 = 100;
const DEFAULT_STALL_SECONDS: u64 = 10;
const MOST_STALL_SECONDS: u64 = 86_400;

impl Arguments {
    /// Reads the arguments.
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
        let [cpus, sockets, cpus_per_cache, quantum, private_quantum, transfer_cost, output, whole, stall_seconds] =
            given;
        let cpus: u32 = number("cpus", cpus)?.ok_or(ArgumentError::Missing("cpus", "N"))?;
        let sockets = number("sockets", sockets)?.unwrap_or(1);
        let cpus_per_cache = number("cpus_per_cache", cpus_per_cache)?.unwrap_or_else(|| cpus / sockets.max(1));
        let stall_seconds = number("stall_seconds", stall_seconds)?.unwrap_or(DEFAULT_STALL_SECONDS);
        if !(1..=MOST_STALL_SECONDS).contains(&stall_seconds) {
            return Err(ArgumentError::Stall(stall_seconds));
        }
        Ok(Arguments {
            topology: Topology::new(cpus, sockets, cpus_per_cache)?,
            sockets,
            cpus_per_cache,
            quanta: quanta(number("quantum", quantum)?, number("private_quantum", private_quantum)?)?,
            transfer_cost: number("transfer_cost", transfer_cost)?.unwrap_or(DEFAULT_TRANSFER_COST),
            output: output.filter(|path| !path.is_empty()).ok_or(ArgumentError::Missing("output", "FILE"))?.into(),
            whole: switch(whole)?,
            stall: Duration::from_secs(stall_seconds),
        })
    }
}

/// A private quantum that isn't given is no smaller than the other.
fn quanta(contended: Option<u64>, private: Option<u64>) -> Result<Quanta, ArgumentError> {
    let contended = contended.unwrap_or(DEFAULT_QUANTUM);
    let private = private.unwrap_or(DEFAULT_PRIVATE_QUANTUM.max(contended));
    if private < contended {
        return Err(ArgumentError::Quanta(private, contended));
    }
    Ok(Quanta { contended, private })
}

fn number<N: FromStr>(key: &'static str, value: Option<&str>) -> Result<Option<N>, ArgumentError> {
    value.map(|value| value.parse().map_err(|_| ArgumentError::Number(key, value.into()))).transpose()
}

fn switch(value: Option<&str>) -> Result<bool, ArgumentError> {
    match value {
        None | Some("off") => Ok(false),
        Some("on") => Ok(true),
        Some(other) => Err(ArgumentError::Switch(other.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_has_a_default() {
        let arguments = Arguments::parse(["cpus=8", "output=r.json"]).unwrap();
        assert_eq!(arguments.topology, Topology::new(8, 1, 8).unwrap());
        assert_eq!((arguments.quanta, arguments.transfer_cost), (Quanta { contended: 5, private: 200 }, 100));
        assert!(!arguments.whole);
        let two = Arguments::parse(["cpus=8", "output=a=b", "sockets=2", "whole=on", "quantum=0"]).unwrap();
        assert_eq!(two.topology, Topology::new(8, 2, 4).unwrap());
        assert_eq!(two.output, PathBuf::from("a=b"));
        assert!(two.whole && two.quanta.contended == 0);
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
        assert_eq!(refused(&["cpus=2", "output=r", "stall_seconds=0"]), "stall_seconds=0: not from 1 to 86400");
        assert_eq!(refused(&["cpus=2", "output=r", "sockets=0"]), "0 sockets: from 1 to 64 are possible");
        assert_eq!(refused(&["cpus=8", "output=r", "sockets=3"]), "8 CPUs don't divide evenly among 3 sockets");
        assert_eq!(
            refused(&["cpus=2", "output=r", "quantum=30", "private_quantum=9"]),
            "private_quantum=9: below quantum, which is 30"
        );
        assert!(refused(&["cpu=8"]).starts_with("cpu: no such argument; there are cpus, "));
    }
}
