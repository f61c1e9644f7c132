//! What a run's record says of its line of commits.

use super::{concluded, next};
use crate::gather::about;
use crate::progress::{Standing, standings};
use crate::repeat::Repeat;
use faultline_model::drill::{Build, Drill, Evidence, Measured, Next, Trial, TrialResult, Unusable};
use faultline_model::outcome::{GuestFailure, Outcome};
use faultline_model::plan::{LineSearch, PlanItem};
use faultline_model::record::{Attempt, RunRecord};
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::BTreeMap;

/// What is concluded of a record so far; `None` of a run that searches no line.
pub fn conclude_record(record: &RunRecord) -> Option<Drill> {
    let search = record.settings.drill()?;
    Some(concluded(&evidence(record, search), &search.search))
}

/// What to do next in a run, once all that was planned has ended; `None` of a run that searches no line.
pub fn next_of_record(record: &RunRecord) -> Option<Next> {
    let search = record.settings.drill()?;
    Some(next(&evidence(record, search), &search.search))
}

/// What was tried and measured. A commit is usable if it was built and an execution of it succeeded.
fn evidence(record: &RunRecord, search: &LineSearch) -> Evidence {
    let mut evidence = Evidence::new(search.line.last(), Vec::new());
    let standings = standings(record);
    let mut first_by_directory: BTreeMap<&str, u32> = BTreeMap::new();
    for (number, subject) in record.subjects.iter().enumerate() {
        let index = SubjectIndex(number as u32);
        let Some(position) = position(search, subject) else { continue };
        let own = standings.iter().filter(|(item, _)| item.subject == index);
        let same = subject.setup.directory.as_deref().and_then(|directory| {
            let first = *first_by_directory.entry(directory).or_insert(position);
            (first != position).then_some(first)
        });
        let result = match (same, result(subject, own.clone().map(|(_, standing)| standing))) {
            (Some(position), TrialResult::Usable) => TrialResult::SameAs { position },
            (_, result) => result,
        };
        evidence.trials.push(Trial { position, surroundings: 0, result });
        evidence.measured.extend(own.filter_map(|(item, standing)| measured(record, position, item, standing)));
    }
    evidence
}

fn position(search: &LineSearch, subject: &Subject) -> Option<u32> {
    search.line.position(&subject.commit.as_ref()?.id)
}

/// How the trial of a commit ended, given the states of its executions.
fn result<'a>(subject: &Subject, mut own: impl Iterator<Item = &'a Standing<'a>> + Clone) -> TrialResult {
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

fn why(attempt: &Attempt) -> Unusable {
    match attempt.outcome {
        Some(Outcome::TimedOut { .. } | Outcome::GuestFailed { how: GuestFailure::Hung, .. }) => Unusable::Hang,
        Some(Outcome::GuestFailed { how: GuestFailure::NotBooted, .. }) => Unusable::Boot,
        _ => Unusable::Run,
    }
}

/// An execution that has ended.
fn measured(record: &RunRecord, position: u32, item: &PlanItem, standing: &Standing<'_>) -> Option<Measured> {
    let value = match standing {
        Standing::Done(attempt) => {
            Repeat::of(about(&record.workloads, item).style, item.block, attempt).map(|repeat| repeat.value)
        }
        Standing::Failed(_) => None,
        Standing::Skipped | Standing::Left => return None,
    };
    Some(Measured { build: Build::plain(position, 0), block: item.block, value })
}
