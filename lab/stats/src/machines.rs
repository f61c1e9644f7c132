//! Machines by the facts of the runs that were measured on them, and what changed on each between two runs.

use crate::history::makes_quirk;
use faultline_model::facts::{FactValue, Facts, Persistence};
use faultline_model::history::quirk::ChangedFact;
use faultline_model::machine_facts::{FactChange, KnownMachine, MachineChange, SessionFacts};
use std::collections::{BTreeMap, BTreeSet};

/// The fact that names a machine.
const NAME: &str = "host.name";

/// The machines of sessions, the one that was measured last first. `sessions`: the newest first.
pub fn machines(sessions: &[SessionFacts]) -> Vec<KnownMachine> {
    let mut by_name: BTreeMap<String, Vec<&SessionFacts>> = BTreeMap::new();
    for session in sessions {
        let name = session.facts.0.get(NAME).map(FactValue::to_string).unwrap_or_default();
        by_name.entry(name).or_default().push(session);
    }
    let mut machines: Vec<KnownMachine> =
        by_name.into_iter().filter_map(|(name, sessions)| machine(name, &sessions)).collect();
    machines.sort_by_key(|machine| std::cmp::Reverse((machine.newest.started, machine.newest.run)));
    machines
}

fn machine(name: String, sessions: &[&SessionFacts]) -> Option<KnownMachine> {
    let (newest, oldest) = (*sessions.first()?, *sessions.last()?);
    let change = |pair: &[&SessionFacts]| {
        let [now, before] = [pair[0], pair[1]];
        let facts = changed(&before.facts, &now.facts);
        (!facts.is_empty()).then_some(MachineChange { run: now.run, started: now.started, facts })
    };
    Some(KnownMachine {
        name,
        newest: newest.clone(),
        since: oldest.started,
        sessions: sessions.len() as u32,
        changes: sessions.windows(2).filter_map(change).collect(),
    })
}

/// Lasting facts that differ.
fn changed(before: &Facts, now: &Facts) -> Vec<FactChange> {
    let keys: BTreeSet<&String> = before.0.keys().chain(now.0.keys()).collect();
    let text = |facts: &Facts, key: &str| facts.0.get(key).map(FactValue::to_string);
    let differs = |key: &&String| Persistence::of(key) == Persistence::Lasting && before.0.get(*key) != now.0.get(*key);
    let change = |key: &String| {
        let (was, is) = (text(before, key), text(now, key));
        // One that only one run has makes no quirk: an older version may not have recorded it.
        let is_quirk = was.is_some() && is.is_some() && makes_quirk(key);
        FactChange { fact: ChangedFact { key: key.clone(), before: was, now: is }, is_quirk }
    };
    keys.into_iter().filter(differs).map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::record::RunId;
    use faultline_model::time::UnixMillis;

    fn session(run: i64, facts: &[(&str, &str)]) -> SessionFacts {
        let facts = facts.iter().map(|(key, value)| ((*key).to_owned(), FactValue::Text((*value).to_owned())));
        SessionFacts { run: RunId(run), started: UnixMillis(run * 10), facts: Facts(facts.collect()) }
    }

    #[test]
    fn machines_are_told_apart_by_name_and_changes_by_what_lasts() {
        let sessions = [
            session(5, &[("host.name", "a"), ("kernel.release", "6.12"), ("boot.id", "3"), ("cpu.boost", "on")]),
            session(4, &[("host.name", "b"), ("kernel.release", "5.10")]),
            session(3, &[("host.name", "a"), ("kernel.release", "6.1"), ("boot.id", "2")]),
            session(2, &[("host.name", "a"), ("kernel.release", "6.1"), ("boot.id", "1")]),
            session(1, &[("kernel.release", "1")]),
        ];
        let found = machines(&sessions);
        let about: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.sessions, one.since.0)).collect();
        assert_eq!(about, [("a", 3, 20), ("b", 1, 40), ("", 1, 10)]);
        let [change] = found[0].changes.as_slice() else { panic!("{:?}", found[0].changes) };
        assert_eq!((change.run, change.started), (RunId(5), UnixMillis(50)));
        let facts: Vec<_> = change
            .facts
            .iter()
            .map(|one| (one.fact.key.as_str(), one.fact.before.as_deref(), one.fact.now.as_deref(), one.is_quirk))
            .collect();
        assert_eq!(
            facts,
            [("cpu.boost", None, Some("on"), false), ("kernel.release", Some("6.1"), Some("6.12"), true)]
        );
    }

    #[test]
    fn without_sessions_there_is_no_machine() {
        assert_eq!(machines(&[]), []);
    }
}
