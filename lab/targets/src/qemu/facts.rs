//! Facts about a machine in the emulator that do not come from the machine itself: those of the host, and of the emulator.

use super::Emulator;
use super::command_line::CommandLine;
use crate::Target;
use crate::host::{Host, HostPaths};
use faultline_model::facts::Facts;

/// The fact that has the emulator's version.
pub const EMULATOR_VERSION: &str = "emulator.version";

/// Facts that are taken from the host, because they say more than those of a guest that has just booted; beginnings of their keys.
const IN_PLACE: [&str; 4] = ["load.", "host.", "boot.id", "faultline.version"];

/// Further facts of the host that influence an emulator's speed; their keys get the prefix `host.`.
const BESIDE: [&str; 6] =
    ["cpu.", "cgroup.", "clock.source", "kernel.release", "memory.total_bytes", "virtualisation."];

/// What a guest's facts have of the host.
pub(crate) fn of_host(host: &HostPaths) -> Facts {
    let mut facts = Facts::default();
    for (key, value) in Host::new(host.clone()).facts().0 {
        let begins_with_one_of = |beginnings: &[&str]| beginnings.iter().any(|beginning| key.starts_with(beginning));
        if begins_with_one_of(&IN_PLACE) {
            facts.0.insert(key, value);
        } else if begins_with_one_of(&BESIDE) {
            facts.0.insert(format!("host.{key}"), value);
        }
    }
    facts
}

/// Adds the emulator's version and its arguments.
pub(super) fn put_emulator(facts: &mut Facts, emulator: &Emulator, command_line: &CommandLine<'_>) {
    let words = command_line.arguments();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    facts.text(EMULATOR_VERSION, &emulator.version);
    facts.text("emulator.arguments", words.join(" "));
}
