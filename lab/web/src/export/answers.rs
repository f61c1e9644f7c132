//! What the page of a history asks, answered in files: the commits of a long one, other histories on its line, and its steps by other thresholds. Each is what the
//! API would answer.

use super::directory::Directory;
use crate::asked_range::Asked;
use crate::histories::{History, Snapshot};
use crate::related::beside;
use crate::thresholds::{Threshold, search, told};
use crate::timeline::timeline;
use faultline_experiment::Error;
use faultline_model::timeline::Timeline;
use faultline_report::site::{OFFERED_THRESHOLDS, answer_script};
use std::slice::from_ref;
use std::sync::Arc;

/// Commits in a file of commits: small enough that each comes with the values of its executions, if there are up to eight.
const CHUNK: u32 = 2500;

/// Commits in each file of commits; 0 if the page itself has all that there is.
pub(super) fn chunk(whole: &Timeline) -> u32 {
    let lacks_values = || whole.marks.iter().any(|mark| mark.value.is_some() && mark.values.is_empty());
    if !whole.buckets.is_empty() || lacks_values() { CHUNK } else { 0 }
}

/// Writes the answers about a history. `whole`: what its page has. Fails if they cannot be written.
pub(super) fn write(
    history: &Arc<History>,
    whole: &Timeline,
    asked: &Asked,
    now: &Snapshot,
    directory: &mut Directory<'_>,
) -> Result<(), Error> {
    let below = |name: &str| format!("histories/{}/{name}.js", history.id);
    for related in &whole.related {
        if let Some(other) = now.histories.iter().find(|one| one.id == related.id) {
            let answer = beside(history, from_ref(other), asked);
            directory.write(&below(&format!("beside/{}", other.id)), &answer_script(&answer))?;
        }
    }
    let usual = history.series.steps.least_change * 100.0;
    for percent in OFFERED_THRESHOLDS.into_iter().chain([usual]) {
        let answer = told(history, &search(history, Threshold::of_percent(percent))?);
        directory.write(&below(&format!("steps/{percent}")), &answer_script(&answer))?;
    }
    let chunk = chunk(whole);
    for number in 0..if chunk == 0 { 0 } else { whole.commits.div_ceil(chunk) } {
        let part = Asked { from: Some(number * chunk), to: Some((number + 1) * chunk - 1), width: asked.width };
        let answer = timeline(history, &part, now);
        directory.write(&below(&format!("commits/{number}")), &answer_script(&answer))?;
    }
    Ok(())
}
