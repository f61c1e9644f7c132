//! Runs that build and measure commits (searches and histories): the result of each commit, and the
//! next piece of work.

use crate::bisect::TrialResult;
use crate::gather::about;
use crate::history::{FailedBuild, NotMeasured};
use crate::progress::Standing;
use crate::repeat::Repeat;
use crate::side_figures::cost;
use faultline_record::bisect::Unusable;
use faultline_record::commit::CommitInfo;
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_record::plan::{LineMeasure, PlanItem};
use faultline_record::record::{Attempt, RunRecord};
use faultline_record::subject::{BuildResult, Subject, SubjectIndex};

/// The next piece of work of a run that builds commits, after all that was planned has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineNext {
    /// Build a commit of the line.
    Build {
        /// Its position.
        position: u32,
        /// True to execute it once before anything else is decided.
        execute: bool,
    },
    /// Build the commit on top of which others are undone.
    BuildBase {
        /// The commit.
        commit: Box<CommitInfo>,
    },
    /// Undo a commit on top of another one and build the result.
    Revert(Box<RevertNext>),
    /// Link builds again in random layouts.
    Relink {
        /// The builds with their layouts.
        layouts: Vec<RelinkNext>,
    },
    /// Execute further blocks.
    Execute {
        /// The subjects of each block, with the number that is added to the seed of guests.
        blocks: Vec<(u32, Vec<SubjectIndex>)>,
    },
    /// The run is complete.
    Nothing,
}

impl LineNext {
    /// Executes blocks with the seed of the run.
    pub(crate) fn execute(blocks: impl IntoIterator<Item = Vec<SubjectIndex>>) -> Self {
        LineNext::Execute { blocks: blocks.into_iter().map(|subjects| (0, subjects)).collect() }
    }
}

/// A revert to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevertNext {
    /// The commit to undo.
    pub commit: CommitInfo,
    /// The commit before it on the line.
    pub before: CommitInfo,
    /// The commit on top of which it is undone.
    pub on: CommitInfo,
}

/// A random layout to link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelinkNext {
    /// Position of the commit on the line.
    pub position: u32,
    /// Directory of the commit's own build.
    pub own: String,
    /// Seed of the layout.
    pub layout: u32,
    /// Maximum number of layouts of the commit.
    pub most: u32,
}

/// Result of a commit's trial, given the states of its executions. The commit is usable if it was
/// built, and if an execution succeeded or none failed.
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

/// The reason why a commit has no value: its failed build, or its first failed execution. `None` if
/// there is neither.
pub(crate) fn not_measured<'a>(
    subject: &Subject,
    mut own: impl Iterator<Item = &'a Standing<'a>>,
) -> Option<NotMeasured> {
    if let Some(BuildResult::Failed { how, output }) = &subject.build {
        let build = Some(FailedBuild { how: how.clone(), output: output.clone() });
        return Some(NotMeasured { why: Unusable::Build, build, execution: None });
    }
    own.find_map(|standing| match standing {
        Standing::Failed(attempt) => {
            Some(NotMeasured { why: why(attempt), build: None, execution: attempt.outcome.clone() })
        }
        Standing::Done(_) | Standing::Skipped | Standing::Left => None,
    })
}

/// The reason why a commit has no value, taken from a failed execution.
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
        LineMeasure::Timed { quantity, .. } => {
            let style = about(&record.workloads, item).style;
            cost(*quantity, style, &Repeat::of(style, item.block, attempt)?).filter(|value| value.is_finite())
        }
        LineMeasure::Counted(counted) => {
            let reading = attempt.reading.as_ref()?;
            Some(reading.per_operation(counted.what.count(&reading.totals)?))
        }
    }
}
