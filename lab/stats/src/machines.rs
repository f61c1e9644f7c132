//! Groups sessions by machine, and lists the changes of each machine's facts between sessions.

use crate::history::{ChangedFact, makes_quirk};
use crate::machine_facts::{FactChange, KnownGuest, KnownMachine, MachineChange};
use faultline_record::facts::{FactValue, Facts, Persistence, SessionFacts};
use std::collections::BTreeMap;

/// The fact with a machine's name.
const NAME: &str = "host.name";
/// The fact that only guests have.
const ACCELERATOR: &str = "emulator.accelerator";
/// The accelerator of emulated guests, on which no time is measured.
const EMULATES: &str = "tcg";
/// The fact for the CPUs that a run may use: a choice of the run, so not compared.
const USABLE: &str = "cpu.usable";
/// Key prefixes of facts that a run chooses for a guest. A different choice is not a change of the
/// machine.
const CHOSEN: [&str; 4] = ["kernel.", "emulator.arguments", "memory.total_bytes", "mitigation."];
/// Key prefix of facts in lens runs that do not describe the machine.
const OF_THE_LENS: &str = "emulator.";

/// The machines of `sessions` and the guests on them, the last measured first. `sessions`: the
/// newest first.
pub fn machines(sessions: &[SessionFacts]) -> Vec<KnownMachine> {
    let mut told_apart: BTreeMap<(String, Option<KnownGuest>), Vec<&SessionFacts>> = BTreeMap::new();
    for session in sessions {
        let name = session.facts.0.get(NAME).map(FactValue::to_string).unwrap_or_default();
        told_apart.entry((name, guest(&session.facts))).or_default().push(session);
    }
    let mut machines: Vec<KnownMachine> =
        told_apart.into_iter().filter_map(|((name, guest), sessions)| machine(name, guest, &sessions)).collect();
    machines.sort_by_key(|machine| std::cmp::Reverse((machine.newest.started, machine.newest.run)));
    machines
}

fn guest(facts: &Facts) -> Option<KnownGuest> {
    let accelerator = facts.get_text(ACCELERATOR)?.to_owned();
    Some(KnownGuest { accelerator, cpus: facts.get_count("cpu.logical") })
}

fn machine(name: String, guest: Option<KnownGuest>, sessions: &[&SessionFacts]) -> Option<KnownMachine> {
    let (newest, oldest) = (*sessions.first()?, *sessions.last()?);
    let changes = changes(sessions, guest.as_ref());
    Some(KnownMachine {
        name,
        guest,
        newest: newest.clone(),
        since: oldest.started,
        sessions: sessions.len() as u32,
        changes,
    })
}

/// Lasting facts that differ from their last recorded value, the newest first. A fact without an
/// earlier value is not a change, because the recorded facts depend on the workloads and on the
/// version.
fn changes(sessions: &[&SessionFacts], guest: Option<&KnownGuest>) -> Vec<MachineChange> {
    let mut recorded: BTreeMap<&str, &FactValue> = BTreeMap::new();
    let mut changes = Vec::new();
    let is_timed = guest.is_none_or(|guest| guest.accelerator != EMULATES);
    for session in sessions.iter().rev() {
        let lasting = session.facts.0.iter().filter(|(key, _)| is_of_machine(key, guest.is_some()));
        let changed = lasting.filter_map(|(key, now)| {
            let before = recorded.insert(key, now).filter(|before| *before != now)?;
            let (before, now) = (Some(before.to_string()), Some(now.to_string()));
            let is_quirk = is_timed && makes_quirk(key);
            Some(FactChange { fact: ChangedFact { key: key.clone(), before, now }, is_quirk })
        });
        let facts: Vec<FactChange> = changed.collect();
        if !facts.is_empty() {
            changes.push(MachineChange { run: session.run, started: session.started, facts });
        }
    }
    changes.reverse();
    changes
}

/// True for a lasting fact about the machine or the guest.
fn is_of_machine(key: &str, is_guest: bool) -> bool {
    let is_foreign = match is_guest {
        true => CHOSEN.iter().any(|chosen| key.starts_with(chosen)),
        false => key.starts_with(OF_THE_LENS),
    };
    Persistence::of(key) == Persistence::Lasting && !is_foreign && key != USABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::record::RunId;
    use faultline_record::time::UnixMillis;

    fn session(run: i64, facts: &[(&str, &str)]) -> SessionFacts {
        let facts = facts.iter().map(|(key, value)| ((*key).to_owned(), FactValue::Text((*value).to_owned())));
        SessionFacts { run: RunId(run), started: UnixMillis(run * 10), facts: Facts(facts.collect()) }
    }

    #[test]
    fn machines_are_distinguished_by_name_and_changes_by_what_lasts() {
        let sessions = [
            session(
                5,
                &[
                    ("host.name", "a"),
                    ("kernel.release", "6.12"),
                    ("boot.id", "3"),
                    ("cpu.boost", "on"),
                    ("cpu.usable", "1"),
                ],
            ),
            session(4, &[("host.name", "b"), ("kernel.release", "5.10")]),
            session(3, &[("host.name", "a"), ("kernel.release", "6.1"), ("boot.id", "2"), ("cpu.usable", "2")]),
            session(2, &[("host.name", "a"), ("kernel.release", "6.1"), ("boot.id", "1")]),
            session(1, &[("kernel.release", "1")]),
        ];
        let found = machines(&sessions);
        let about: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.sessions, one.since.0)).collect();
        assert_eq!(about, [("a", 3, 20), ("b", 1, 40), ("", 1, 10)]);
        let [change] = found[0].changes.as_slice() else { panic!("{:?}", found[0].changes) };
        assert_eq!((change.run, change.started), (RunId(5), UnixMillis(50)));
        assert_eq!(
            keys(change),
            [("kernel.release", Some("6.1"), Some("6.12"), true)],
            "`cpu.boost` was not recorded before"
        );
    }

    fn keys(change: &MachineChange) -> Vec<(&str, Option<&str>, Option<&str>, bool)> {
        let facts = change.facts.iter();
        facts
            .map(|one| (one.fact.key.as_str(), one.fact.before.as_deref(), one.fact.now.as_deref(), one.is_quirk))
            .collect()
    }

    #[test]
    fn guests_are_machines_of_their_own_and_what_a_run_chooses_of_them_is_no_change() {
        let host = |run, emulator: &[(&str, &str)]| {
            session(run, &[&[("host.name", "a"), ("cpu.model", "real"), ("kernel.release", "6.12")], emulator].concat())
        };
        let guest = |run, cpus: i64, kernel: &str, emulator: &str| {
            let texts = [
                ("host.name", "a"),
                ("cpu.model", "emulated"),
                ("emulator.accelerator", "tcg"),
                ("emulator.version", emulator),
                ("kernel.release", kernel),
            ];
            let mut session = session(run, &texts);
            session.facts.count("cpu.logical", cpus);
            session
        };
        let sessions = [
            host(6, &[]),
            guest(5, 8, "6.1", "10.0"),
            guest(4, 16, "6.1", "10.0"),
            host(3, &[("emulator.version", "10.0")]),
            guest(2, 8, "5.10", "9.2"),
            host(1, &[("emulator.version", "9.2")]),
        ];
        let found = machines(&sessions);
        let about: Vec<_> = found
            .iter()
            .map(|one| (one.guest.as_ref().and_then(|guest| guest.cpus), one.sessions, one.changes.len()))
            .collect();
        assert_eq!(about, [(None, 3, 0), (Some(8), 2, 1), (Some(16), 1, 0)]);
        assert_eq!(keys(&found[1].changes[0]), [("emulator.version", Some("9.2"), Some("10.0"), false)]);
    }

    #[test]
    fn a_fact_that_a_run_does_not_record_is_compared_with_what_was_recorded_last() {
        let with = |run, compiler| session(run, &[("host.name", "a"), ("software.compiler", compiler)]);
        let without = |run| session(run, &[("host.name", "a")]);
        let found = machines(&[without(5), with(4, "gcc 14"), without(3), with(2, "gcc 12"), without(1)]);
        let changed: Vec<_> = found[0].changes.iter().map(|change| (change.run.0, keys(change).len())).collect();
        assert_eq!(changed, [(4, 1)]);
    }

    #[test]
    fn without_sessions_there_is_no_machine() {
        assert_eq!(machines(&[]), []);
    }
}
