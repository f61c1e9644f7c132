//! The results of a history, compared with the truth about its commits.

use crate::history::History;
use faultline_model::history::{CommitOutcome, HistoryResults};

/// Checks the results of a finished history, of which each commit is executed `repeats` times, and returns how many commits have values. `is_calm`: no execution
/// has a fault that does not come from its commit.
pub(crate) fn measured(
    results: &HistoryResults,
    history: &History,
    repeats: u32,
    is_calm: bool,
) -> Result<u32, String> {
    let commits = history.line().commits;
    if results.commits.len() != commits.len() {
        return Err(format!("{} of {} commits have a result", results.commits.len(), commits.len()));
    }
    let mut measured = 0;
    for (position, (result, commit)) in results.commits.iter().zip(&commits).enumerate() {
        if result.commit != commit.id {
            return Err(format!("the result at {position} is of {}", result.commit));
        }
        match (&result.outcome, history.unusable(position)) {
            (CommitOutcome::Measured { values, .. }, None) => {
                measured += 1;
                if values.len() > repeats as usize || (is_calm && values.len() < repeats as usize) {
                    return Err(format!("{} of {repeats} values of commit {position}", values.len()));
                }
            }
            (CommitOutcome::Unusable(not_measured), Some(expected)) if not_measured.why == expected => {}
            (CommitOutcome::Unusable(_), None) if !is_calm => {}
            (outcome, expected) => {
                return Err(format!("commit {position} is {expected:?}, and its result is {outcome:?}"));
            }
        }
    }
    Ok(measured)
}
