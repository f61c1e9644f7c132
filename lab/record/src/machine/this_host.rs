//! This host, and a network namespace of it: machines without keys.

use super::{Joined, Kind, Machine, MachineKind};

/// This host.
pub(super) struct ThisHost;

/// A network namespace of this host.
pub(super) struct Namespace;

pub(super) const HOST: Kind =
    Kind { word: "host", summary: "host", help: "", example: None, parse: |keys| plain(keys, Machine::Host) };

pub(super) const NETNS: Kind = Kind {
    word: "netns",
    summary: "netns",
    help: "netns: network namespaces of this host, one per end, made for each execution; with \
           `--partner` a link from each to the next, and forwarding in the middle. They need \
           root.",
    example: None,
    parse: |keys| plain(keys, Machine::Netns),
};

/// A machine without keys.
fn plain(keys: &str, machine: Machine) -> Result<Machine, String> {
    if keys.is_empty() { Ok(machine) } else { Err(super::not_a_machine()) }
}

impl MachineKind for ThisHost {
    fn is_here(&self) -> bool {
        true
    }

    fn joined(&self) -> Option<Joined> {
        Some(Joined::Loopback)
    }

    fn written(&self) -> String {
        HOST.word.to_owned()
    }
}

impl MachineKind for Namespace {
    fn is_here(&self) -> bool {
        true
    }

    fn joined(&self) -> Option<Joined> {
        Some(Joined::Namespaces)
    }

    fn written(&self) -> String {
        NETNS.word.to_owned()
    }
}
