//! What came of building and executing a commit, in runs that measure commits.

use crate::gather::about;
use crate::progress::Standing;
use crate::repeat::Repeat;
use faultline_model::describe::Style;
use faultline_model::drill::{TrialResult, Unusable};
use faultline_model::outcome::{GuestFailure, Outcome};
use faultline_model::plan::{LineMeasure, PlanItem};
use faultline_model::record::{Attempt, RunRecord};
use faultline_model::subject::{BuildResult, Subject};

/// How the trial of a commit ended, given the states of its executions. It is usable if it was built, and an execution of it succeeded or none failed.
pub(crate) fn result<'a>(subject: &Subject, mut own: impl Iterator<Item = &'a Standing<'a>> + Clone) -> TrialResult {
    if matches!(subject.build, Some(BuildResult::Failed { .. })) {
        return TrialResult::Unusable { why: Unusable::Build };
    }
    let succeeded = own.clone().any(|standing| matches!(standing, Standing::Done(_)));
    let failed = own.find_map(|standing| match standing {
        Standing::Failed(attempt) => Some(why(attempt)),
        Standing::Done(_) | Standing::Skipped | Standing::Left => None,
    });
    match failed {
        Some(why) if !succeeded => TrialResult::Unusable { why },
        _ => TrialResult::Usable,
    }
}

/// Why a commit has no value, given an execution that failed.
pub(crate) fn why(attempt: &Attempt) -> Unusable {
    match attempt.outcome {
        Some(Outcome::TimedOut { .. } | Outcome::GuestFailed { how: GuestFailure::Hung, .. }) => Unusable::Hang,
        Some(Outcome::GuestFailed { how: GuestFailure::NotBooted, .. }) => Unusable::Boot,
        _ => Unusable::Run,
    }
}

/// The value of an execution that succeeded; `None` if it has none.
pub(crate) fn value(record: &RunRecord, measure: &LineMeasure, item: &PlanItem, attempt: &Attempt) -> Option<f64> {
    match measure {
        LineMeasure::Timed(_) => {
            let style = about(&record.workloads, item).style;
            let value = Repeat::of(style, item.block, attempt)?.value;
            // Seconds, of a workload that loops per operation, so that less is better whatever runs.
            Some(if style == Style::Loop { 1.0 / value } else { value }).filter(|value| value.is_finite())
        }
        LineMeasure::Counted(counted) => {
            attempt.reading.as_ref().map(|reading| reading.per_operation(counted.what.of(&reading.totals)))
        }
    }
}
