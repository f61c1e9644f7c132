//! Invariants of a saved run at any time, and between an earlier and a later time.

use faultline_model::outcome::Outcome;
use faultline_model::record::{Attempt, RunRecord, RunState};
use std::collections::BTreeSet;

/// Whether an attempt has ended its item. An attempt that was interrupted, or left the system changed, is repeated.
pub(crate) fn has_ended(attempt: &Attempt) -> bool {
    !matches!(attempt.outcome, None | Some(Outcome::Interrupted | Outcome::LeftChanged { .. }))
}

/// Checks a run by itself, of which at most `most_open` attempts run at the same time. Fails with the invariant that does not hold.
pub(crate) fn check(record: &RunRecord, most_open: usize) -> Result<(), String> {
    let mut ended = BTreeSet::new();
    for attempt in &record.attempts {
        if has_ended(attempt) && !ended.insert(attempt.ordinal) {
            return Err(format!("item {} ended twice", attempt.ordinal));
        }
        if !record.plan.iter().any(|item| item.ordinal == attempt.ordinal) {
            return Err(format!("attempt {} is of no item", attempt.id.0));
        }
    }
    let open = record.attempts.iter().filter(|attempt| attempt.outcome.is_none()).count();
    if open > most_open || (open > 0 && record.state == RunState::Finished) {
        return Err(format!("{open} attempts are open, in a run that is {:?}", record.state));
    }
    Ok(())
}

/// Checks that saved data were not altered or removed later. Fails with what was.
pub(crate) fn check_kept(before: &RunRecord, after: &RunRecord) -> Result<(), String> {
    // A search, or a history, adds commits and items while it goes on.
    let may_grow = before.settings.measured_line().is_some();
    let has_grown = after.subjects.len() > before.subjects.len() || after.plan.len() > before.plan.len();
    let is_same = before.settings == after.settings
        && after.subjects.starts_with(&before.subjects)
        && before.workloads == after.workloads
        && after.plan.starts_with(&before.plan)
        && before.label == after.label
        && (may_grow || !has_grown);
    if !is_same {
        return Err("the plan was altered".to_owned());
    }
    if !after.sessions.starts_with(&before.sessions) {
        return Err("a session was altered or dropped".to_owned());
    }
    if !before.skipped.iter().all(|ordinal| after.skipped.contains(ordinal)) {
        return Err("an item that was left out is back".to_owned());
    }
    before.attempts.iter().try_for_each(|attempt| {
        let kept = after.attempts.iter().find(|kept| kept.id == attempt.id);
        let kept = kept.ok_or_else(|| format!("attempt {} was dropped", attempt.id.0))?;
        if is_kept(attempt, kept) {
            return Ok(());
        }
        Err(format!("attempt {} was altered: {attempt:?}, and later {kept:?}", attempt.id.0))
    })
}

/// An open attempt may have become interrupted. Nothing else may change.
fn is_kept(before: &Attempt, after: &Attempt) -> bool {
    match (&before.outcome, &after.outcome) {
        (None, Some(Outcome::Interrupted)) => *before == Attempt { outcome: None, ..after.clone() },
        _ => before == after,
    }
}
