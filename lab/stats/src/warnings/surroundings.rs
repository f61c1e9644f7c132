//! Sessions of one run on machines that are not the same, or not in the same state.

use super::Findings;
use faultline_model::facts::{FactValue, Facts};
use faultline_model::warning::{Warning, WarningCode};
use std::collections::BTreeSet;

/// Facts that change by themselves, by the beginning of their keys. All others have to stay as they are.
const MOMENTARY: [&str; 2] = ["load.", "memory.available_bytes"];

/// Keys that are named before the rest is counted.
const NAMED_KEYS: usize = 6;

/// The machine, its kernel, its boot or what it runs changed between sessions.
pub(super) fn changed(findings: &Findings<'_>) -> Option<Warning> {
    let (first, later) = findings.record.sessions.split_first()?;
    let keys: BTreeSet<&str> = later
        .iter()
        .flat_map(|session| first.facts.iter().zip(&session.facts).flat_map(|(first, later)| differing(first, later)))
        .collect();
    if keys.is_empty() {
        return None;
    }
    let mut named: Vec<String> = keys.iter().take(NAMED_KEYS).map(|key| (*key).to_owned()).collect();
    if keys.len() > NAMED_KEYS {
        named.push(format!("{} more", keys.len() - NAMED_KEYS));
    }
    Some(Warning {
        code: WarningCode::ChangedSurroundings,
        text: format!(
            "The run's {} sessions differ in {}: its figures mix them. Run it anew in one session, without a \
             restart between.",
            findings.record.sessions.len(),
            named.join(", ")
        ),
        cells: Vec::new(),
    })
}

/// Keys of what has to stay as it is whose values are not the same.
fn differing<'a>(first: &'a Facts, later: &'a Facts) -> impl Iterator<Item = &'a str> {
    let keys: BTreeSet<&str> = first.0.keys().chain(later.0.keys()).map(String::as_str).collect();
    let steady = |key: &&str| !MOMENTARY.iter().any(|momentary| key.starts_with(momentary));
    keys.into_iter().filter(steady).filter(|key| !same(first.0.get(*key), later.0.get(*key)))
}

/// Whether two values are the same; a number that is none is the same as itself.
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
    use faultline_model::record::{RunRecord, Session};
    use faultline_model::time::UnixMillis;
    use faultline_model::warning::WarningCode::ChangedSurroundings;

    fn resumed() -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        record.sessions.push(Session { started: UnixMillis(5_000), facts: vec![example::quiet_facts()] });
        record
    }

    #[test]
    fn another_boot_or_kernel_is_named() {
        let mut record = resumed();
        record.sessions[1].facts[0].text("boot.id", "second");
        record.sessions[1].facts[0].0.remove("kernel.release");
        let warnings = of(&record, ChangedSurroundings);
        assert!(warnings[0].text.contains("2 sessions differ in boot.id, kernel.release:"), "{}", warnings[0].text);
    }

    #[test]
    fn another_load_is_no_change_of_the_machine() {
        let mut record = resumed();
        record.sessions[1].facts[0].real("load.one_minute", 0.4);
        record.sessions[1].facts[0].count("memory.available_bytes", 1 << 30);
        assert!(of(&record, ChangedSurroundings).is_empty());
    }

    #[test]
    fn many_keys_are_counted() {
        let mut record = resumed();
        for index in 0..9 {
            record.sessions[1].facts[0].count(&format!("cpu.made_up_{index}"), 1);
        }
        assert!(of(&record, ChangedSurroundings)[0].text.contains("cpu.made_up_5, 3 more"));
    }
}
