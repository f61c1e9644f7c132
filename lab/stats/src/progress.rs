//! Progress of a run: the state of each item of the plan.

use crate::figures::Progress;
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::record::{Attempt, RunRecord};
use std::collections::{BTreeMap, BTreeSet};

/// The state of an item of the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Standing<'a> {
    /// The item succeeded.
    Done(&'a Attempt),
    /// The item failed, or is unsupported here.
    Failed(&'a Attempt),
    /// The item was left out because the time budget was used up.
    Skipped,
    /// The item has not ended yet.
    Left,
}

/// Every item of the plan, in its order, with its state. An item that was skipped and has ended
/// since counts as ended.
pub(crate) fn standings(record: &RunRecord) -> Vec<(&PlanItem, Standing<'_>)> {
    let mut ended: BTreeMap<u32, &Attempt> = BTreeMap::new();
    for attempt in &record.attempts {
        if attempt.outcome.as_ref().is_some_and(Outcome::is_final) {
            ended.entry(attempt.ordinal).or_insert(attempt);
        }
    }
    let skipped: BTreeSet<u32> = record.skipped.iter().copied().collect();
    let standing = |item: &PlanItem| match ended.get(&item.ordinal) {
        Some(attempt) if attempt.outcome == Some(Outcome::Done) => Standing::Done(attempt),
        Some(attempt) => Standing::Failed(attempt),
        None if skipped.contains(&item.ordinal) => Standing::Skipped,
        None => Standing::Left,
    };
    record.plan.iter().map(|item| (item, standing(item))).collect()
}

/// True if it ended without figures because this machine does not support the item.
pub(crate) fn is_unsupported(attempt: &Attempt) -> bool {
    matches!(attempt.outcome, Some(Outcome::Unsupported { .. }))
}

/// Counts the states.
pub(crate) fn progress(standings: &[(&PlanItem, Standing<'_>)]) -> Progress {
    let mut progress = Progress { planned: standings.len() as u32, ..Progress::default() };
    for (_, standing) in standings {
        match standing {
            Standing::Done(_) => progress.done += 1,
            Standing::Failed(attempt) if is_unsupported(attempt) => progress.unsupported += 1,
            Standing::Failed(_) => progress.failed += 1,
            Standing::Skipped => progress.skipped += 1,
            Standing::Left => {}
        }
    }
    progress
}
