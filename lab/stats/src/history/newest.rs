//! The newest result of each commit that several runs measured.

use super::run::HistoryRun;
use faultline_model::history::CommitOutcome;
use faultline_model::record::RunId;
use std::collections::BTreeMap;

/// The results by the names of the commits, each with the run that has it.
pub(super) type Newest<'a> = BTreeMap<&'a str, (RunId, &'a CommitOutcome)>;

/// The newest result of each commit. `runs`: the newest first.
pub(super) fn newest_of<'a>(runs: &[HistoryRun<'a>]) -> Newest<'a> {
    let mut newest = Newest::new();
    for run in runs {
        for result in &run.results.commits {
            newest.entry(&result.commit).or_insert((run.head.id, &result.outcome));
        }
    }
    newest
}
