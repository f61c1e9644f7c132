//! What undoing the commit of a step on top of the newest one told.

use super::{change_words, short};
use crate::one_line::{cut, one_line};
use faultline_model::commit::short_name;
use faultline_model::drill::reverted::{RevertOutcome, Share};
use faultline_model::drill::{DrillStep, Unusable};
use faultline_model::plan::LineSearch;

/// Files that are named.
const NAMED: usize = 3;

/// Letters of a text of others that are shown.
const LETTERS: usize = 100;

/// What it told; `None` if no revert was asked for.
pub(super) fn sentence(step: &DrillStep, search: &LineSearch) -> Option<String> {
    search.revert.as_ref()?;
    let commit = short(&search.line, step.after);
    if step.candidates.len() > 1 {
        return Some(format!("{commit} was not reverted: one of {} commits made the step.", step.candidates.len()));
    }
    let reverted = step.reverted.as_ref()?;
    let on = short_name(&reverted.on);
    Some(match &reverted.outcome {
        RevertOutcome::Measured { change, values, taken_back } => {
            let change = match (values, change) {
                (Some([without, with]), _) => format!("{without} → {with}"),
                (None, Some(change)) => change_words(change),
                (None, None) => "too few values for an interval".to_owned(),
            };
            let part = taken_back.as_ref().map_or_else(String::new, |share| {
                format!(" The revert takes back {} of the step.", share_words(share, search))
            });
            format!("{on} with {commit} reverted, measured beside {on}: {change}.{part}")
        }
        RevertOutcome::Conflict { files } => {
            format!("The revert of {commit} does not apply to {on}: {}.", conflict(files))
        }
        RevertOutcome::Empty => format!("The revert of {commit} changes nothing in {on}: it is undone there already."),
        RevertOutcome::NotBuilt { how } => {
            format!("{on} with {commit} reverted does not build: {}.", cut(&one_line(how), LETTERS))
        }
        RevertOutcome::NotRun { why } => {
            format!("{on} with {commit} reverted was built, but {}.", why_not(*why))
        }
        RevertOutcome::NothingToCompare => {
            format!("{commit} was not reverted: {on} cannot be measured.")
        }
    })
}

/// Why a revert does not apply.
fn conflict(files: &[String]) -> String {
    if files.is_empty() {
        return "later commits added, removed or renamed the same files".to_owned();
    }
    let named: Vec<String> = files.iter().take(NAMED).map(|file| cut(&one_line(file), LETTERS)).collect();
    let more = files.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("later commits changed the same lines of {}{more}", named.join(", "))
}

fn why_not(why: Unusable) -> &'static str {
    match why {
        Unusable::Build => "does not build",
        Unusable::Boot => "does not boot",
        Unusable::Run => "fails",
        Unusable::Hang => "does not end",
    }
}

fn share_words(share: &Share, search: &LineSearch) -> String {
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    if share.low == share.high {
        return format!("{} %", percent(share.share));
    }
    format!(
        "{} % ({} % interval: {} … {})",
        percent(share.share),
        percent(search.search.level),
        percent(share.low),
        percent(share.high)
    )
}
