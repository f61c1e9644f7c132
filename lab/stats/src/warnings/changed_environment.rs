//! Sessions of a run on different machines, or on a machine whose state changed.

use super::{Findings, Warning, WarningKind};
use faultline_record::facts::{FactValue, Facts, Persistence};
use std::collections::BTreeSet;

/// The machine, its kernel, its boot or its workloads changed between sessions.
pub(super) fn changed_environment(findings: &Findings<'_>) -> Option<Warning> {
    let (first, later) = findings.record.sessions.split_first()?;
    let keys: BTreeSet<&str> = later
        .iter()
        .flat_map(|session| first.facts.iter().zip(&session.facts).flat_map(|(first, later)| differing(first, later)))
        .collect();
    if keys.is_empty() {
        return None;
    }
    let sessions = findings.record.sessions.len() as u32;
    let keys = keys.into_iter().map(str::to_owned).collect();
    Some(Warning { kind: WarningKind::ChangedEnvironment { sessions, keys }, cells: Vec::new() })
}

/// Keys of facts that do not change by themselves, but differ.
fn differing<'a>(first: &'a Facts, later: &'a Facts) -> impl Iterator<Item = &'a str> {
    let keys: BTreeSet<&str> = first.0.keys().chain(later.0.keys()).map(String::as_str).collect();
    let steady = |key: &&str| Persistence::of(key) != Persistence::Moment;
    keys.into_iter().filter(steady).filter(|key| !same(first.0.get(*key), later.0.get(*key)))
}

/// True if two values are equal; NaN equals NaN.
fn same(first: Option<&FactValue>, later: Option<&FactValue>) -> bool {
    match (first, later) {
        (Some(FactValue::Real(first)), Some(FactValue::Real(later))) => first.to_bits() == later.to_bits(),
        _ => first == later,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use crate::warnings::WarningCode::ChangedEnvironment;
    use crate::warnings::WarningKind;
    use faultline_record::record::{RunRecord, Session};
    use faultline_record::time::UnixMillis;

    fn resumed() -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        record.head.sessions.push(Session { started: UnixMillis(5_000), facts: vec![example::quiet_facts()] });
        record
    }

    #[test]
    fn another_boot_or_kernel_is_named() {
        let mut record = resumed();
        record.head.sessions[1].facts[0].text("boot.id", "second");
        record.head.sessions[1].facts[0].0.remove("kernel.release");
        let warnings = of(&record, ChangedEnvironment);
        let keys = ["boot.id", "kernel.release"].map(str::to_owned).into();
        assert_eq!(warnings[0].kind, WarningKind::ChangedEnvironment { sessions: 2, keys });
    }

    #[test]
    fn another_load_is_no_change_of_the_machine() {
        let mut record = resumed();
        record.head.sessions[1].facts[0].real("load.one_minute", 0.4);
        record.head.sessions[1].facts[0].count("memory.available_bytes", 1 << 30);
        assert!(of(&record, ChangedEnvironment).is_empty());
    }
}
